"""Placements and applications: decisions, the scores that flip them, and Argo CD's copies."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct, structs

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import Application
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.moves.waiting import WaitingCopy
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.hub.points import mean_weight, points_needed
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.simulator import HubState, Outcome, SimulatorInputError, Verdict, explain, simulate
from gitops_dsf.simulator.explain import Lead, lead
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.status.inputs import HubPart, StatusInputs

NEEDED: Final = (
    HubPart.CLUSTERS,
    HubPart.SETS,
    HubPart.BINDINGS,
    HubPart.SCORES,
    HubPart.DECISIONS,
)


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
    """By how much OCM's weighted sum must change."""
    mean: float
    """The same in points of the weighted mean, the scale of `stickiness`."""
    score: NeededScore | None
    """None if no score that can be published does it."""


class PlacementView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One Placement."""

    placement: str
    """namespace/name."""
    number_of_clusters: int | None
    eligible: int | None
    """How many clusters pass its filters; None if they are not known."""
    decided: tuple[str, ...] | None
    """Clusters of its PlacementDecisions; None if they could not be read."""
    next: tuple[str, ...] | None
    """What OCM would decide now; None if it is not known."""
    settled: bool
    """Whether OCM would not change its decision."""
    note: str | None
    """Why nothing is selected, or why the next decision is not known."""
    counted_as_zero: tuple[str, ...]
    """Eligible clusters with a score that is missing or expired, so that it counts as 0."""
    flips: tuple[DecisionFlip, ...]
    """Which cluster would leave first, and which would come in first, by the weights that people
    wrote. None while a paced Placement wishes to move.
    """
    paced: bool
    """Whether its moves are paced: then it holds its clusters until the reconciler admits a move.
    """
    wish: tuple[str, ...] | None
    """The clusters that the written weights ask for, where a paced Placement holds others; else
    None.
    """
    lead: Lead | None
    """A cluster that is better by its scores, and stays out because of the stickiness."""


class CopyState(StrEnum):
    """The state of one copy of an application."""

    RUNNING = "running"
    """Decided, existing and Healthy."""
    STARTING = "starting"
    """Decided and existing, but not Healthy yet."""
    PENDING = "pending"
    """Decided, but Argo CD has not created the Application yet."""
    WAITING = "waiting"
    """No longer decided. It stays until the new copies are Healthy, or forever, depending on the
    strategy.
    """
    LEAVING = "leaving"


class CopyWait(Struct, frozen=True, kw_only=True):
    """Why an old copy is still there, as the reconciler tells it."""

    reason: str
    message: str
    since: str


class Copy(Struct, frozen=True):
    """An application on one cluster."""

    cluster: str
    standing: CopyState
    application: str | None
    """Name of the Application; None if there is none yet."""
    health: str | None
    sync: str | None
    wait: CopyWait | None = None
    """Of a copy that is no longer decided; None if the reconciler has told nothing."""


class ApplicationView(Struct, frozen=True, kw_only=True):
    """One of our ApplicationSets: the clusters of its decision, and those of its Applications."""

    name: str
    strategy: str
    placements: tuple[str, ...]
    settled: bool | None
    """Whether its Applications are exactly on the decided clusters; None if that is not known."""
    message: str | None
    copies: tuple[Copy, ...]
    cause: MoveCause | None
    """Why it moves, while old copies wait; None if that is not known."""


def state_of(placements: Iterable[Placement], inputs: StatusInputs) -> HubState | str:
    """Returns what OCM decides these Placements by; if it is not known, why."""
    missing = [inputs.unread[part] for part in NEEDED if part in inputs.unread]
    if missing:
        return str(missing[0])
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
) -> Iterator[tuple[PlacementView, tuple[str, ...]]]:
    """Yields each view and the clusters that pass the filters.

    With a cluster: only Placements for which it is eligible or decided, and what flips it.
    """
    clusters = decided(inputs.snapshot.decisions) if inputs.knows(HubPart.DECISIONS) else None
    spans = {scorer.resource: scorer.span for scorer in inputs.scorers}
    for placement in placements:
        current = None
        if clusters is not None:
            current = tuple(sorted(clusters.get(placement.key, ())))
        view = _undecided(placement, current)
        if isinstance(state, str):
            note = f"what OCM would decide is not known: {state}"
            yield structs.replace(view, note=note), ()
            continue
        verdict = simulate(state, placement.key, inputs.now)
        eligible = _eligible(verdict)
        if cluster is None or cluster in eligible or cluster in (current or ()):
            yield _with_verdict(view, verdict, spans, cluster=cluster), eligible


def _undecided(placement: Placement, current: tuple[str, ...] | None) -> PlacementView:
    """What is known without the simulator."""
    return PlacementView(
        placement=placement.key,
        number_of_clusters=placement.spec.number_of_clusters,
        eligible=None,
        decided=current,
        next=None,
        settled=True,
        note=None,
        counted_as_zero=(),
        flips=(),
        paced=bool(placement.metadata.annotation(PACE_ANNOTATION)),
        wish=None,
        lead=None,
    )


def _eligible(verdict: Verdict) -> tuple[str, ...]:
    if verdict.ranking is None or verdict.outcome is not Outcome.SCHEDULED:
        return ()
    return tuple(verdict.state.names[position] for position in verdict.ranking.clusters)


def _with_verdict(
    view: PlacementView,
    verdict: Verdict,
    spans: Mapping[str, tuple[int, int]],
    *,
    cluster: str | None,
) -> PlacementView:
    if verdict.ranking is None or verdict.outcome is not Outcome.SCHEDULED:
        reason = next(iter(verdict.notes), "") or verdict.status.message
        note = f"{verdict.outcome}: {reason}" if reason else str(verdict.outcome)
        return structs.replace(view, note=note)
    chosen = tuple(sorted(verdict.chosen))
    satisfied = verdict.satisfied
    has_too_few = satisfied is not None and not satisfied.status
    by_people = as_people_wrote(verdict)
    view = structs.replace(
        view,
        eligible=len(verdict.ranking.clusters),
        next=chosen,
        settled=view.decided in (None, chosen),
        note=satisfied.message or None if satisfied is not None and has_too_few else None,
        counted_as_zero=_counted_as_zero(by_people, verdict.now),
    )
    if by_people.chosen != verdict.chosen:
        return structs.replace(view, wish=tuple(sorted(by_people.chosen)))
    flips = tuple(_flips(by_people, cluster, spans))
    return structs.replace(view, flips=flips, lead=lead(by_people))


def _counted_as_zero(verdict: Verdict, now: datetime) -> tuple[str, ...]:
    """Eligible clusters with an add-on score that is missing or expired. OCM counts it as 0."""
    positions = set[int]()
    for result in verdict.prioritizers:
        prioritizer = result.prioritizer
        if prioritizer.built_in is None:
            table = verdict.state.score_table
            column = table.column(prioritizer.resource, prioritizer.score, now)
            positions |= column.expired | column.absent
    eligible = verdict.ranking.clusters if verdict.ranking is not None else ()
    names = (verdict.state.names[position] for position in positions.intersection(eligible))
    return tuple(sorted(names))


def _flips(
    verdict: Verdict, cluster: str | None, spans: Mapping[str, tuple[int, int]]
) -> Iterator[DecisionFlip]:
    """The last selected cluster and the first that is not; or only the requested cluster."""
    ranking = verdict.ranking
    if ranking is None:
        return
    names = [verdict.state.names[ranking.clusters[index]] for index in ranking.order]
    if cluster is not None:
        asked = [name for name in names if name == cluster]
    elif ranking.selected:
        asked = names[ranking.selected - 1 : ranking.selected + 1]
    else:
        asked = []
    for name in asked:
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


def application_views(
    sets: Iterable[ApplicationSet], inputs: StatusInputs
) -> tuple[ApplicationView, ...]:
    """Returns one view for each ApplicationSet, in order of name."""
    clusters = decided(inputs.snapshot.decisions)
    applications = defaultdict[tuple[str, str], list[Application]](list)
    for application in inputs.applications:
        applications[application.namespace, application.application].append(application)
    is_known = inputs.knows(HubPart.DECISIONS, HubPart.APPLICATIONS)
    waits = defaultdict[str, list[WaitingCopy]](list)
    for wait in inputs.waits:
        waits[wait.application_set].append(wait)
    views = []
    for item in sorted(sets, key=lambda item: item.name):
        present = applications[item.namespace, item.name] if is_known else None
        views.append(_application(item, clusters, present, waits.get(item.name, ())))
    return tuple(views)


def _decided_for(item: ApplicationSet, clusters: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The clusters of all Placements that an ApplicationSet follows."""
    decided_clusters = frozenset[str]()
    for name in item.placements:
        decided_clusters |= clusters.get(f"{item.namespace}/{name}", frozenset())
    return decided_clusters


def any_waits(
    sets: Iterable[ApplicationSet],
    applications: Iterable[Application],
    clusters: Mapping[str, frozenset[str]],
) -> bool:
    """Returns whether a copy of a rendered ApplicationSet is on a cluster that is no longer
    decided.
    """
    expected = {}
    for item in sets:
        if item.rendered:
            expected[item.namespace, item.name] = _decided_for(item, clusters)
    for application in applications:
        wanted = expected.get((application.namespace, application.application))
        if wanted is not None and application.cluster not in wanted:
            return True
    return False


def _application(
    item: ApplicationSet,
    clusters: Mapping[str, frozenset[str]],
    present: list[Application] | None,
    waits: Sequence[WaitingCopy],
) -> ApplicationView:
    """`present`: its Applications; None if decisions or Applications are not known."""
    copies: tuple[Copy, ...] = ()
    settled = None
    if present is not None:
        copies = tuple(_copies(_decided_for(item, clusters), present, waits))
        are_running = all(copy.standing is CopyState.RUNNING for copy in copies)
        settled = are_running and not item.error
    waiting = {copy.application for copy in copies if copy.wait is not None}
    causes = (wait.cause for wait in waits if wait.application in waiting)
    return ApplicationView(
        name=item.name,
        strategy=item.strategy or "",
        placements=tuple(sorted(item.placements)),
        settled=settled,
        message=item.error or None,
        copies=copies,
        cause=next(causes, None),
    )


def _copies(
    expected: frozenset[str], present: Iterable[Application], waits: Iterable[WaitingCopy]
) -> Iterator[Copy]:
    """One copy for each cluster that is decided or has an Application, in order of cluster."""
    applications = {application.cluster: application for application in present}
    reasons = {wait.application: wait for wait in waits}
    for cluster in sorted(expected | applications.keys()):
        application = applications.get(cluster)
        if application is None:
            yield Copy(cluster, CopyState.PENDING, None, None, None)
            continue
        standing = _standing(application, decided=cluster in expected)
        wait = reasons.get(application.name) if standing is CopyState.WAITING else None
        yield Copy(
            cluster=cluster,
            standing=standing,
            application=application.name or None,
            health=application.health or None,
            sync=application.sync or None,
            wait=None if wait is None else _copy_wait(wait),
        )


def _copy_wait(wait: WaitingCopy) -> CopyWait:
    return CopyWait(reason=wait.reason, message=wait.message, since=timestamp_of(wait.since))


def _standing(item: Application, *, decided: bool) -> CopyState:
    if item.deleting:
        return CopyState.LEAVING
    if not decided:
        return CopyState.WAITING
    return CopyState.RUNNING if item.health == "Healthy" else CopyState.STARTING
