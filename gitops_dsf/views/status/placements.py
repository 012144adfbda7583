"""Placements: their decisions, what OCM would decide now, and the scores that flip decisions.

The simulator decides as OCM does. Guaranteed: where it cannot, a view has a note, and no guess. Not
guaranteed: that OCM will make the decision that is shown as next. It looks only after a change, and
scores may be others then.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType, field, structs

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.hub.points import mean_weight, points_needed, points_of
from gitops_dsf.simulator import HubState, Outcome, SimulatorInputError, Verdict, explain, simulate
from gitops_dsf.simulator.explain import Lead, lead
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.status.inputs import HubPart, StatusInputs
from gitops_dsf.views.status.joborders import JobOrderView, job_order
from gitops_dsf.views.worded import Worded
from gitops_dsf.wording import prioritizer_text

NEEDED: Final = (
    HubPart.CLUSTERS,
    HubPart.SETS,
    HubPart.BINDINGS,
    HubPart.SCORES,
    HubPart.DECISIONS,
)
"""Parts of a hub without which the next decision of OCM is unknown."""


class NeededScore(Struct, frozen=True):
    """A score that would flip a decision."""

    name: str
    value: int
    needed: int


class DecisionFlip(Struct, frozen=True):
    """The nearest change of one score that would flip a decision."""

    cluster: str
    change: Literal["in", "out"]
    rival: str
    """The cluster that it would change places with."""
    margin: int
    """The amount by which OCM's weighted sum must change."""
    mean: float
    """The same in points of the weighted mean, the scale of `stickiness`."""
    score: NeededScore | None
    """None if no score that can be published does it."""


class ClusterPoints(Struct, frozen=True):
    """The points of a decided cluster: the weighted mean of the scores, with the stickiness."""

    cluster: str
    points: float


@dataclass(frozen=True)
class NextUnknown:
    """The reason why the next decision of OCM is unknown."""

    cause: str


@dataclass(frozen=True)
class NothingDecided:
    """OCM decides nothing."""

    outcome: Outcome
    reason: str
    """In OCM's words; empty if it gives none."""


@dataclass(frozen=True)
class TooFewClusters:
    """OCM selects fewer clusters than the Placement asks for."""

    message: str
    """The message of the condition PlacementSatisfied."""


PlacementNote = NextUnknown | NothingDecided | TooFewClusters


class PlacementView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One Placement: its decision, its clusters, and how they rank."""

    placement: str
    """namespace/name."""
    number_of_clusters: int | None
    eligible: int | None
    """The number of clusters that pass its filters; None if it is unknown."""
    decided: tuple[str, ...] | None
    """Clusters of its PlacementDecisions; None if they could not be read."""
    next: tuple[str, ...] | None
    """The clusters that OCM would decide for now; None if they are unknown."""
    reconciled: bool = field(name="settled")
    """Whether OCM would not change its decision."""
    note: Worded[PlacementNote] | None
    """The reason why nothing is selected, or why the next decision is unknown."""
    counted_as_zero: tuple[str, ...]
    """Eligible clusters with a score that is missing or expired, so that it counts as 0."""
    points: tuple[ClusterPoints, ...]
    """The points of the decided clusters, by the written weights; without those that are not
    eligible.
    """
    flips: tuple[DecisionFlip, ...]
    """The cluster that would leave first, and the one that would come in first, by the written
    weights. Empty while a paced Placement wishes to move.
    """
    paced: bool
    """Whether it holds its clusters until the reconciler admits a move."""
    wish: tuple[str, ...] | None
    """The clusters that the written weights ask for; None unless a paced Placement holds others."""
    lead: Lead | None
    """A cluster that is better by its scores, and stays out because of the stickiness."""
    jobs: JobOrderView | UnsetType = UNSET
    """The list of clusters for Kueue's jobs; absent without multiKueue."""
    endless: tuple[str, ...] | UnsetType = UNSET
    """Scores that rank it and never expire on an eligible cluster; absent if there are none.

    OCM counts them even if they are no longer published.
    """


class ShownPlacement(NamedTuple):
    """A Placement, and the clusters that pass its filters; none if these are not known."""

    view: PlacementView
    eligible: tuple[str, ...]


def state_of(placements: Iterable[Placement], inputs: StatusInputs) -> HubState | str:
    """The state by which OCM decides these Placements; a text with the reason if it is unknown."""
    for part in NEEDED:
        # The first is enough: people need the right to read all of them.
        if part in inputs.unread:
            return str(inputs.unread[part])
    snapshot = inputs.snapshot
    try:
        return HubState.of(
            clusters=snapshot.clusters.values(),
            sets=snapshot.sets.values(),
            bindings=snapshot.bindings or (),
            placements=placements,
            decisions=snapshot.decisions,
            scores=snapshot.scores,
        )
    except SimulatorInputError as error:
        return str(error)


def placement_views(
    placements: Iterable[Placement],
    inputs: StatusInputs,
    state: HubState | str,
    *,
    cluster: str | None,
) -> Iterator[ShownPlacement]:
    """Yields each view, and the clusters that pass the filters.

    With a cluster, only Placements for which it is eligible or decided, and what flips it.
    """
    clusters = decided(inputs.snapshot.decisions) if inputs.knows(HubPart.DECISIONS) else None
    spans = {scorer.resource: scorer.span for scorer in inputs.scorers}
    for placement in placements:
        current = None
        if clusters is not None:
            current = tuple(sorted(clusters.get(placement.key, ())))
        view = _undecided(placement, current)
        configs = None
        if inputs.knows(HubPart.MULTIKUEUE_CONFIGS):
            configs = inputs.multi_kueue_configs
        jobs = job_order(placement, configs)
        if jobs is not None:
            view = structs.replace(view, jobs=jobs)
        if isinstance(state, str):
            note = NextUnknown(cause=state)
            yield ShownPlacement(structs.replace(view, note=Worded(note)), ())
            continue
        # The time is that of the hub's clock, because OCM compares validUntil with it.
        verdict = simulate(state, placement.key, inputs.now)
        eligible = _eligible(verdict)
        if cluster is None or cluster in eligible or cluster in (current or ()):
            yield ShownPlacement(_with_verdict(view, verdict, spans, cluster=cluster), eligible)


def _undecided(placement: Placement, current: tuple[str, ...] | None) -> PlacementView:
    """The facts that are known without the simulator."""
    return PlacementView(
        placement=placement.key,
        number_of_clusters=placement.spec.number_of_clusters,
        eligible=None,
        decided=current,
        next=None,
        reconciled=True,
        note=None,
        counted_as_zero=(),
        points=(),
        flips=(),
        paced=bool(placement.metadata.annotation(PACE_ANNOTATION)),
        wish=None,
        lead=None,
    )


def _eligible(verdict: Verdict) -> tuple[str, ...]:
    # After a mistake OCM ranks nothing, and of a disabled Placement it decides nothing.
    if verdict.ranking is None or verdict.outcome is not Outcome.SCHEDULED:
        return ()
    return tuple(verdict.state.names[position] for position in verdict.ranking.clusters)


def _with_verdict(
    view: PlacementView,
    verdict: Verdict,
    spans: Mapping[str, ScoreSpan],
    *,
    cluster: str | None,
) -> PlacementView:
    if verdict.ranking is None or verdict.outcome is not Outcome.SCHEDULED:
        reason = next(iter(verdict.notes), "") or verdict.status.message
        return structs.replace(view, note=Worded(NothingDecided(verdict.outcome, reason)))
    chosen = tuple(sorted(verdict.chosen))
    note = None
    satisfied = verdict.satisfied
    if satisfied is not None and not satisfied.status and satisfied.message:
        # The condition PlacementSatisfied also says why there are too few clusters.
        note = Worded(TooFewClusters(satisfied.message))
    by_people = as_people_wrote(verdict)
    view = structs.replace(
        view,
        eligible=len(verdict.ranking.clusters),
        next=chosen,
        # A decision that could not be read is not said to be another one.
        reconciled=view.decided in (None, chosen),
        note=note,
        counted_as_zero=_counted_as_zero(by_people, verdict.now),
        points=tuple(_points(by_people, view.decided or ())),
        endless=tuple(_endless(by_people)) or UNSET,
    )
    # Flips by the written weights say nothing about a decision that they do not explain.
    if by_people.chosen != verdict.chosen:
        return structs.replace(view, wish=tuple(sorted(by_people.chosen)))
    flips = tuple(_flips(by_people, cluster, spans))
    return structs.replace(view, flips=flips, lead=lead(by_people))


def _points(verdict: Verdict, decided_clusters: Iterable[str]) -> Iterator[ClusterPoints]:
    ranking = verdict.ranking
    if ranking is None:
        return
    weight = mean_weight(verdict.prioritizers)
    points: dict[str, float] = {}
    for position, total in zip(ranking.clusters, ranking.sums, strict=True):
        points[verdict.state.names[position]] = points_of(total, weight)
    for cluster in decided_clusters:
        if cluster in points:
            yield ClusterPoints(cluster, points[cluster])


def _counted_as_zero(verdict: Verdict, now: datetime) -> tuple[str, ...]:
    """Eligible clusters with an add-on score that is missing or expired. OCM counts it as 0."""
    if verdict.ranking is None:
        return ()
    positions = set[int]()
    for result in verdict.prioritizers:
        prioritizer = result.prioritizer
        if prioritizer.built_in is None:
            table = verdict.state.score_table
            column = table.column(prioritizer.resource, prioritizer.score, now)
            positions |= column.expired | column.absent
    eligible = positions.intersection(verdict.ranking.clusters)
    return tuple(sorted(verdict.state.names[position] for position in eligible))


def _endless(verdict: Verdict) -> Iterator[str]:
    """The scores that have no end on an eligible cluster, in order of the prioritizers."""
    eligible = () if verdict.ranking is None else verdict.ranking.clusters
    table = verdict.state.score_table
    for result in verdict.prioritizers:
        prioritizer = result.prioritizer
        if prioritizer.built_in is not None:
            continue
        column = table.column(prioritizer.resource, prioritizer.score, verdict.now)
        if not column.endless.isdisjoint(eligible):
            yield prioritizer_text(prioritizer.name)


def _flips(
    verdict: Verdict, cluster: str | None, spans: Mapping[str, ScoreSpan]
) -> Iterator[DecisionFlip]:
    """The last selected cluster and the first that is not; or only the requested cluster."""
    ranking = verdict.ranking
    if ranking is None:
        return
    names = [verdict.state.names[ranking.clusters[index]] for index in ranking.order]
    if cluster is not None:
        explained = [cluster] if cluster in names else []
    elif ranking.selected:
        # These two would change places first.
        explained = names[ranking.selected - 1 : ranking.selected + 1]
    else:
        explained = []
    for name in explained:
        explanation = explain(verdict, name, spans=spans)
        if explanation.rival is None or explanation.margin is None:
            continue
        nearest = explanation.nearest
        score = None
        if nearest is not None:
            score = NeededScore(nearest.name, nearest.score, nearest.needed)
        yield DecisionFlip(
            cluster=name,
            change="out" if explanation.selected else "in",
            rival=explanation.rival,
            margin=explanation.margin,
            mean=points_needed(explanation.margin, mean_weight(verdict.prioritizers)),
            score=score,
        )
