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
) -> Iterator[tuple[PlacementView, tuple[str, ...]]]:
    """Yields the view of each Placement, in the given order, and the clusters that pass its filters. `state`
    is that of `state_of`. With a cluster: what would bring it in or out, and only Placements where it is
    eligible.
    """
    clusters = decided(inputs.snapshot.decisions) if inputs.knows(Part.DECISIONS) else None
    simulations = None if isinstance(state, str) else _Simulations(state, inputs)
    for item in placements:
        current = None if clusters is None else tuple(sorted(clusters.get(_place(item), ())))
        if simulations is not None:
            view, eligible = simulations.view(item, current, cluster)
            if cluster is None or cluster in eligible or cluster in (current or ()):
                yield view, eligible
            continue
        view = PlacementView(
            placement=item.key,
            number_of_clusters=item.spec.number_of_clusters,
            eligible=None,
            decided=current,
            next=None,
            settled=True,
            note=f"what OCM would decide is not known: {state}",
            counted_as_zero=(),
            flips=(),
        )
        yield view, ()


def _place(item: Placement) -> tuple[str, str]:
    return item.metadata.namespace or "", item.metadata.name


class _Simulations:
    """Simulates one Placement after the other, and caches what they have in common."""

    def __init__(self, state: HubState, inputs: Inputs) -> None:
        self._state, self._now = state, inputs.now
        self._spans = {item.resource: item.span for item in inputs.scorers}
        self._zeroes: dict[tuple[str, str], frozenset[str]] = {}

    def view(
        self, item: Placement, current: tuple[str, ...] | None, cluster: str | None
    ) -> tuple[PlacementView, tuple[str, ...]]:
        """The view, and the clusters that pass the filters."""
        verdict = simulate(self._state, item.key, self._now)
        ranking = verdict.ranking if verdict.outcome is Outcome.SCHEDULED else None
        names = self._state.names
        eligible = () if ranking is None else tuple(names[position] for position in ranking.clusters)
        chosen = None if ranking is None else tuple(sorted(verdict.chosen))
        view = PlacementView(
            placement=item.key,
            number_of_clusters=item.spec.number_of_clusters,
            eligible=None if ranking is None else len(eligible),
            decided=current,
            next=chosen,
            settled=current is None or chosen is None or current == chosen,
            note=_note(verdict, scheduled=ranking is not None) or None,
            counted_as_zero=self._counted_as_zero(verdict, eligible),
            flips=tuple(_flips(verdict, cluster, self._spans)) if ranking is not None else (),
        )
        return view, eligible

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
