"""Placements: what OCM decided, what it would decide now, and the nearest score that would flip it."""

from collections.abc import Iterable, Iterator, Mapping

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator import (
    HubState,
    Outcome,
    SimulatorInputError,
    Verdict,
    explain,
    simulate,
)
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import DecisionFlip, NeededScore, PlacementView

NEEDED = (Part.CLUSTERS, Part.SETS, Part.BINDINGS, Part.SCORES, Part.DECISIONS)
"""The parts that are needed to compute what OCM would decide."""
_NONE: frozenset[str] = frozenset()


def state_of(placements: Iterable[Placement], inputs: Inputs) -> HubState | str:
    """Returns what OCM decides these Placements by; if it is not known, why."""
    missing = [inputs.unread[part] for part in NEEDED if part in inputs.unread]
    if missing:
        return str(missing[0])
    snapshot = inputs.snapshot
    try:
        return HubState.of(
            clusters=snapshot.clusters.values(),
            sets=snapshot.sets.values(),
            bindings=snapshot.bindings,
            placements=placements,
            decisions=snapshot.decisions,
            scores=snapshot.scores,
        )
    except SimulatorInputError as error:
        return str(error)


def placement_views(
    placements: Iterable[Placement], inputs: Inputs, state: HubState | str, *, cluster: str | None
) -> tuple[PlacementView, ...]:
    """Returns one view per Placement, in the given order. `state` is that of `state_of`. With a cluster: what
    would bring it in or out, and only Placements where it is eligible.
    """
    chosen = list(placements)
    clusters = decided(inputs.snapshot.decisions) if inputs.knows(Part.DECISIONS) else None
    if isinstance(state, str):
        return tuple(_unknown(item, clusters, state) for item in chosen)
    simulations = _Simulations(state, clusters, inputs, cluster)
    views = (simulations.view(item) for item in chosen)
    return tuple(view for view in views if view is not None)


def _decision(
    item: Placement, clusters: Mapping[tuple[str, str], frozenset[str]] | None
) -> tuple[str, ...] | None:
    if clusters is None:
        return None
    return tuple(sorted(clusters.get((item.metadata.namespace or "", item.metadata.name), ())))


def _unknown(
    item: Placement, clusters: Mapping[tuple[str, str], frozenset[str]] | None, why: str
) -> PlacementView:
    return PlacementView(
        placement=item.key,
        number_of_clusters=item.spec.number_of_clusters,
        eligible=None,
        decided=_decision(item, clusters),
        next=None,
        note=f"what OCM would decide is not known: {why}",
        counted_as_zero=(),
    )


class _Simulations:
    """Simulates one Placement after the other, and caches what they have in common."""

    def __init__(
        self,
        state: HubState,
        clusters: Mapping[tuple[str, str], frozenset[str]] | None,
        inputs: Inputs,
        cluster: str | None,
    ) -> None:
        self._state, self._decided, self._now, self._cluster = state, clusters, inputs.now, cluster
        self._spans = {item.resource: item.span for item in inputs.scorers}
        self._zeroes: dict[tuple[str, str], frozenset[str]] = {}

    def view(self, item: Placement) -> PlacementView | None:
        verdict = simulate(self._state, item.key, self._now)
        ranking = verdict.ranking if verdict.outcome is Outcome.SCHEDULED else None
        names = self._state.names
        eligible = None if ranking is None else tuple(names[position] for position in ranking.clusters)
        current = _decision(item, self._decided)
        cluster = self._cluster
        if cluster is not None and cluster not in (eligible or ()) and cluster not in (current or ()):
            return None
        return PlacementView(
            placement=item.key,
            number_of_clusters=item.spec.number_of_clusters,
            eligible=eligible,
            decided=current,
            next=tuple(sorted(verdict.chosen)) if ranking is not None else None,
            note=_note(verdict, scheduled=ranking is not None),
            counted_as_zero=self._counted_as_zero(verdict, eligible) if eligible is not None else (),
            each_flip=lambda: (
                _flips(simulate(self._state, item.key, self._now), cluster, self._spans)
                if ranking is not None
                else ()
            ),
        )

    def _counted_as_zero(self, verdict: Verdict, eligible: tuple[str, ...]) -> tuple[str, ...]:
        """Eligible clusters with an add-on score that is missing or expired. Simulator and OCM
        count it as 0.
        """
        found: set[str] = set()
        for result in verdict.prioritizers:
            coordinate = result.prioritizer
            if coordinate.built_in is None:
                zeroes = self._zeroes_of(coordinate.resource, coordinate.score)
                found.update(zeroes.intersection(eligible) if zeroes else ())
        return tuple(sorted(found))

    def _zeroes_of(self, resource: str, dimension: str) -> frozenset[str]:
        found = self._zeroes.get((resource, dimension))
        if found is None:
            column, names = self._state.score_table.column(resource, dimension, self._now), self._state.names
            found = self._zeroes[resource, dimension] = frozenset(
                names[position] for position in column.expired | column.absent
            )
        return found


def _note(verdict: Verdict, *, scheduled: bool) -> str:
    if not scheduled:
        first = next(iter(verdict.notes), "") or verdict.status.message
        return f"{verdict.outcome}: {first}" if first else str(verdict.outcome)
    satisfied = verdict.satisfied
    return satisfied.message if satisfied is not None and not satisfied.status else ""


def _flips(
    verdict: Verdict, cluster: str | None, spans: Mapping[str, tuple[int, int]]
) -> Iterator[DecisionFlip]:
    """The last selected cluster and the first that is not; or only the requested cluster."""
    ranking = verdict.ranking
    if ranking is None:
        return
    names = [verdict.state.names[ranking.clusters[index]] for index in ranking.order]
    if cluster is not None:
        asked = [cluster] if cluster in names else []
    else:
        asked = names[max(0, ranking.selected - 1) : ranking.selected + 1] if ranking.selected else []
    for name in asked:
        found = explain(verdict, name, spans=spans)
        if found.rival is not None and found.margin is not None:
            near = found.nearest
            yield DecisionFlip(
                cluster=name,
                change="out" if found.selected else "in",
                rival=found.rival,
                margin=found.margin,
                score=None if near is None else NeededScore(near.name, near.score, near.needed),
            )
