"""Placements: decision, OCM's next one, the nearest score that would flip it, and Argo CD's copies."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct, structs

from gitops_dsf.hub.applications import Application, ApplicationSet
from gitops_dsf.hub.causes import MoveCause
from gitops_dsf.hub.metadata import timestamp_of
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.hub.placements import decided
from gitops_dsf.hub.points import mean_weight, points_needed
from gitops_dsf.hub.waits import WaitingCopy
from gitops_dsf.simulator import HubState, Outcome, SimulatorInputError, Verdict, explain, simulate
from gitops_dsf.simulator.explain import Lead, lead
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.status.inputs import Inputs, Part

NEEDED: Final = (Part.CLUSTERS, Part.SETS, Part.BINDINGS, Part.SCORES, Part.DECISIONS)


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


class Standing(StrEnum):
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
    standing: Standing
    application: str | None
    """Name of the Application; None if there is none yet."""
    health: str | None
    sync: str | None
    wait: CopyWait | None = None
    """Of a copy that is no longer decided; None if the reconciler has told nothing."""


class ApplicationView(Struct, frozen=True, kw_only=True):
    """One of our ApplicationSets: the clusters of its decision, and the clusters of its Applications."""

    name: str
    strategy: str
    placements: tuple[str, ...]
    settled: bool | None
    """Whether its Applications are exactly on the decided clusters; None if that is not known."""
    message: str | None
    copies: tuple[Copy, ...]
    cause: MoveCause | None
    """Why it moves, while old copies wait; None if that is not known."""


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
            bindings=snapshot.bindings or (),
            placements=placements,
            decisions=snapshot.decisions,
            scores=snapshot.scores,
        )
    except SimulatorInputError as error:
        return str(error)


def placement_views(
    placements: Iterable[Placement], inputs: Inputs, state: HubState | str, *, cluster: str | None
) -> Iterator[tuple[PlacementView, tuple[str, ...]]]:
    """Each view and the clusters that pass. With a cluster: what flips it, where it is eligible."""
    clusters = decided(inputs.snapshot.decisions) if inputs.knows(Part.DECISIONS) else None
    spans = {item.resource: item.span for item in inputs.scorers}
    for item in placements:
        current = None if clusters is None else tuple(sorted(clusters.get(item.key, ())))
        view = PlacementView(
            placement=item.key,
            number_of_clusters=item.spec.number_of_clusters,
            eligible=None,
            decided=current,
            next=None,
            settled=True,
            note=f"what OCM would decide is not known: {state}" if isinstance(state, str) else None,
            counted_as_zero=(),
            flips=(),
            paced=bool(item.metadata.annotation(PACE_ANNOTATION)),
            wish=None,
            lead=None,
        )
        if isinstance(state, str):
            yield view, ()
            continue
        verdict = simulate(state, item.key, inputs.now)
        ranking = verdict.ranking if verdict.outcome is Outcome.SCHEDULED else None
        eligible = (
            () if ranking is None else tuple(state.names[position] for position in ranking.clusters)
        )
        if cluster is not None and cluster not in eligible and cluster not in (current or ()):
            continue
        if ranking is None:
            first = next(iter(verdict.notes), "") or verdict.status.message
            note = f"{verdict.outcome}: {first}" if first else str(verdict.outcome)
            yield structs.replace(view, note=note), ()
            continue
        satisfied, chosen = verdict.satisfied, tuple(sorted(verdict.chosen))
        by_scores = as_people_wrote(verdict)
        wishes = by_scores.chosen != verdict.chosen
        view = structs.replace(
            view,
            eligible=len(eligible),
            next=chosen,
            settled=current in (None, chosen),
            note=satisfied.message or None
            if satisfied is not None and not satisfied.status
            else None,
            counted_as_zero=_counted_as_zero(by_scores, inputs.now),
            flips=() if wishes else tuple(_flips(by_scores, cluster, spans)),
            wish=tuple(sorted(by_scores.chosen)) if wishes else None,
            lead=None if wishes else lead(by_scores),
        )
        yield view, eligible


def _counted_as_zero(verdict: Verdict, now: datetime) -> tuple[str, ...]:
    """Eligible clusters with an add-on score that is missing or expired.

    Simulator and OCM count it as 0.
    """
    found, table = set[int](), verdict.state.score_table
    for read in (result.prioritizer for result in verdict.prioritizers):
        if read.built_in is None:
            column = table.column(read.resource, read.score, now)
            found |= column.expired | column.absent
    eligible = verdict.ranking.clusters if verdict.ranking is not None else ()
    return tuple(sorted(verdict.state.names[position] for position in found.intersection(eligible)))


def _flips(
    verdict: Verdict, cluster: str | None, spans: Mapping[str, tuple[int, int]]
) -> Iterator[DecisionFlip]:
    """The last selected cluster and the first that is not; or only the requested cluster."""
    ranking = verdict.ranking
    if ranking is None:
        return
    names = [verdict.state.names[ranking.clusters[index]] for index in ranking.order]
    asked = names[ranking.selected - 1 : ranking.selected + 1] if ranking.selected else []
    for name in asked if cluster is None else {cluster}.intersection(names):
        found = explain(verdict, name, spans=spans)
        if found.rival is not None and found.margin is not None:
            near = found.nearest
            yield DecisionFlip(
                cluster=name,
                change="out" if found.selected else "in",
                rival=found.rival,
                margin=found.margin,
                mean=points_needed(found.margin, mean_weight(verdict.prioritizers)),
                score=None if near is None else NeededScore(near.name, near.score, near.needed),
            )


def application_views(
    sets: Iterable[ApplicationSet], inputs: Inputs
) -> tuple[ApplicationView, ...]:
    clusters = decided(inputs.snapshot.decisions)
    there = defaultdict[tuple[str, str], list[Application]](list)
    for item in inputs.applications:
        there[item.namespace, item.application].append(item)
    known = inputs.knows(Part.DECISIONS, Part.APPLICATIONS)
    waits = defaultdict[str, list[WaitingCopy]](list)
    for wait in inputs.waits:
        waits[wait.application_set].append(wait)
    return tuple(
        _application(
            each,
            clusters,
            there[each.namespace, each.name] if known else None,
            waits.get(each.name, ()),
        )
        for each in sorted(sets, key=lambda each: each.name)
    )


def _decided_for(item: ApplicationSet, clusters: Mapping[str, frozenset[str]]) -> frozenset[str]:
    followed = (
        clusters.get(f"{item.namespace}/{name}", frozenset[str]()) for name in item.placements
    )
    return frozenset[str]().union(*followed)


def any_waits(
    sets: Iterable[ApplicationSet],
    applications: Iterable[Application],
    clusters: Mapping[str, frozenset[str]],
) -> bool:
    """Whether a copy of one of our ApplicationSets is on a cluster that is no longer decided."""
    expected = {
        (item.namespace, item.name): _decided_for(item, clusters) for item in sets if item.rendered
    }
    return any(
        item.cluster not in expected.get((item.namespace, item.application), {item.cluster})
        for item in applications
    )


def _application(
    item: ApplicationSet,
    clusters: Mapping[str, frozenset[str]],
    there: list[Application] | None,
    waits: Sequence[WaitingCopy],
) -> ApplicationView:
    """`there` is None if decisions or Applications are not known."""
    copies = () if there is None else tuple(_copies(_decided_for(item, clusters), there, waits))
    old = {copy.application for copy in copies if copy.wait is not None}
    settled = all(copy.standing is Standing.RUNNING for copy in copies) and not item.error
    return ApplicationView(
        name=item.name,
        strategy=item.strategy or "",
        placements=tuple(sorted(item.placements)),
        settled=None if there is None else settled,
        message=item.error or None,
        copies=copies,
        cause=next((wait.cause for wait in waits if wait.application in old), None),
    )


def _copies(
    expected: frozenset[str], there: Iterable[Application], waits: Iterable[WaitingCopy]
) -> Iterator[Copy]:
    found = {item.cluster: item for item in there}
    why = {
        wait.application: CopyWait(
            reason=wait.reason, message=wait.message, since=timestamp_of(wait.since)
        )
        for wait in waits
    }
    for cluster in sorted(expected | found.keys()):
        item = found.get(cluster)
        if item is None:
            yield Copy(cluster, Standing.PENDING, None, None, None)
        else:
            standing = _standing(item, decided=cluster in expected)
            wait = why.get(item.name) if standing is Standing.WAITING else None
            yield Copy(
                cluster, standing, item.name or None, item.health or None, item.sync or None, wait
            )


def _standing(item: Application, *, decided: bool) -> Standing:
    if item.deleting:
        return Standing.LEAVING
    if not decided:
        return Standing.WAITING
    return Standing.RUNNING if item.health == "Healthy" else Standing.STARTING
