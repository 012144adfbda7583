"""One pass over one Placement, and passes over several.

Source: syncPlacement in pkg/placement/controllers/scheduling/scheduling_controller.go and Schedule
in schedule.go, beside it. Guaranteed: pure; the verdict is that of OCM v1.2.1, or Unsupported. Not
guaranteed: the time at which OCM makes the pass, and the order in which it visits several
Placements.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.names import DISABLE_ANNOTATION
from gitops_dsf.hub.objects import Placement, PlacementDecision
from gitops_dsf.hub.pace import written
from gitops_dsf.simulator import prioritizers
from gitops_dsf.simulator.conditions import misconfigured_condition, satisfied_condition
from gitops_dsf.simulator.documents import SimulatorInputError
from gitops_dsf.simulator.groups import decide_groups
from gitops_dsf.simulator.membership import MembershipError
from gitops_dsf.simulator.outcome import Outcome
from gitops_dsf.simulator.predicates import PREDICATE_FILTER, filter_clusters
from gitops_dsf.simulator.ranking import SchedulerPanic, rank
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status
from gitops_dsf.simulator.taints import TAINT_FILTER, filter_tainted, requeue_time
from gitops_dsf.simulator.verdict import FilterStage, Verdict


def simulate(
    objects: HubState | Iterable[Mapping[str, Any]],
    placement: str,
    now: datetime | str | None = None,
) -> Verdict:
    """Computes what OCM would decide for a Placement.

    `objects` is a HubState, which can be used for any number of Placements, or the objects of a hub
    as plain dicts, as the API server returns them: Placement, ManagedCluster, ManagedClusterSet,
    ManagedClusterSetBinding, AddOnPlacementScore, PlacementDecision. Complete manifests that were
    never applied with `with_defaults` first. `placement` is `namespace/name`. `now` is the time of
    the pass, as a datetime with a time zone or RFC 3339 text; by default it is the system's clock.

    Raises SimulatorInputError if the input cannot be the objects of a hub, or has no such
    Placement.
    """
    state = objects if isinstance(objects, HubState) else HubState.build(objects)
    return simulate_placement(state.placement(placement), state=state, now=read_now(now))


def read_now(now: object) -> datetime:
    """Reads the time of the pass.

    Raises SimulatorInputError if it is not a time, or has no time zone.
    """
    if now is None:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(now) if isinstance(now, str) else now
    except ValueError as error:
        raise SimulatorInputError(
            f"now is {now!r}; write it as RFC 3339, such as 2026-06-01T00:00:00Z"
        ) from error
    # Tolerations and scores end at instants. A time without a zone would be another instant on each
    # machine.
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise SimulatorInputError(
            f"now is {now!r}; it needs a time zone, such as 2026-06-01T00:00:00Z"
        )
    return moment


def simulate_placement(placement: Placement, *, state: HubState, now: datetime) -> Verdict:
    """Like `simulate`, for a Placement that need not be among the hub's objects."""
    own = prioritizers.own_decisions(placement, state)
    try:
        membership = state.membership_of(placement)
    except MembershipError as error:
        return Verdict(
            source=placement,
            state=state,
            now=now,
            outcome=Outcome.FAILED,
            current=own,
            sync_error=str(error),
        )
    start = Verdict(
        source=placement,
        state=state,
        now=now,
        outcome=_outcome(placement),
        current=own,
        membership=membership,
    )
    # OCM ends the pass of a Placement that is deleted or disabled before all of this. Here it goes
    # on, so that people see what would be decided without that.
    try:
        scheduled = _schedule(start)
    except SchedulerPanic as panic:
        if start.outcome is not Outcome.SCHEDULED:
            # OCM does not schedule this Placement, so it never gets as far as the panic.
            return start
        return replace(start, outcome=Outcome.PANIC, panic=str(panic))
    if scheduled.unsupported:
        return scheduled
    return _conclude(scheduled)


def as_people_wrote(verdict: Verdict) -> Verdict:
    """The verdict by the weights and the stickiness that people wrote, on the same hub.

    It differs only for a paced Placement, which holds its clusters. There the verdict says what OCM
    decides, and this one says how the scores rank the clusters.
    """
    placement = written(verdict.source)
    if placement is verdict.source:
        return verdict
    return simulate_placement(placement, state=verdict.state, now=verdict.now)


def _outcome(placement: Placement) -> Outcome:
    if placement.metadata.deletion_timestamp is not None:
        return Outcome.DELETING
    if (placement.metadata.annotations or {}).get(DISABLE_ANNOTATION) == "true":
        return Outcome.DISABLED
    return Outcome.SCHEDULED


def _schedule(verdict: Verdict) -> Verdict:
    """Filters, scores and ranks (schedule.go: Schedule).

    After an error, the verdict keeps what was computed before.
    """
    placement = verdict.source
    state = verdict.state
    now = verdict.now
    matched = filter_clusters(verdict.membership.clusters, placement=placement, state=state)
    if matched.unsupported:
        outcome = verdict.outcome
        if outcome is Outcome.SCHEDULED:
            outcome = Outcome.UNSUPPORTED
        # A Placement that is not scheduled keeps its decisions in any case.
        return replace(verdict, outcome=outcome, unsupported=matched.unsupported)
    if matched.status.failed:
        return replace(verdict, status=matched.status)
    predicate_stage = FilterStage(PREDICATE_FILTER, matched.clusters)
    tolerated = filter_tainted(
        matched.clusters, placement=placement, state=state, own=verdict.current, now=now
    )
    if tolerated.status.failed:
        return replace(verdict, status=tolerated.status, stages=(predicate_stage,))
    clusters = tolerated.clusters
    stages = (predicate_stage, FilterStage(TAINT_FILTER, clusters))
    # OCM reads the prioritizers after the filters. So a mistake in them leaves the filters'
    # results.
    try:
        used = prioritizers.prioritizers_of(placement)
    except prioritizers.PrioritizerError as error:
        return replace(verdict, status=Status(Code.MISCONFIGURED, str(error)), stages=stages)
    results: list[prioritizers.PrioritizerResult] = []
    final = SUCCESS
    for prioritizer in used:
        result = prioritizers.score(
            prioritizer, placement=placement, state=state, clusters=clusters, now=now
        )
        if result.status.failed:
            return replace(
                verdict, status=result.status, stages=stages, prioritizers=tuple(results)
            )
        # OCM keeps the last warning. It visits prioritizers in random order, so of several it may
        # name another one than this.
        if result.status.code is Code.WARNING:
            final = result.status
        results.append(result)
    number_of_clusters = placement.spec.number_of_clusters
    ranking = rank(clusters, results, number_of_clusters=number_of_clusters)
    unscheduled = 0
    if number_of_clusters is not None:
        unscheduled = number_of_clusters - ranking.selected
    return replace(
        verdict,
        status=final,
        stages=stages,
        prioritizers=tuple(results),
        ranking=ranking,
        unscheduled=unscheduled,
        requeue_at=requeue_time(placement=placement, state=state, own=verdict.current, now=now),
    )


def _conclude(verdict: Verdict) -> Verdict:
    """Computes groups, conditions and decisions. A mistake in the groups overrides the status."""
    placement = verdict.source
    # After an error OCM does not stop: it goes on with no clusters, and empties the decisions.
    selected: list[int] = []
    if verdict.ranking:
        selected = verdict.ranking.selected_clusters
    decided = decide_groups(placement, state=verdict.state, selected=selected)
    status = verdict.status
    if decided.status.failed:
        status = decided.status
    # syncPlacement returns the error of `bind` before that of the status.
    sync_error = prioritizers.selector_error(placement)
    if not sync_error and status.code is not Code.SUCCESS:
        sync_error = status.message
    return replace(
        verdict,
        status=status,
        groups=decided.groups,
        satisfied=satisfied_condition(
            placement,
            membership=verdict.membership,
            selected=len(selected),
            unscheduled=verdict.unscheduled,
            status=status,
        ),
        misconfigured=misconfigured_condition(status),
        sync_error=sync_error,
    )


@dataclass(frozen=True, kw_only=True)
class ScheduledPlacements:
    """The results of passes over several Placements."""

    verdicts: Mapping[str, Verdict]
    """The last verdict of each, by namespace/name."""
    decisions: tuple[PlacementDecision, ...]
    """All PlacementDecisions that are on the hub afterwards."""


def schedule_all(state: HubState, placements: Iterable[str], now: datetime) -> ScheduledPlacements:
    """Simulates Placements, and those that move a second time from where they go.

    `placements` are written as `namespace/name`. The second pass is needed because Steady and
    Balance depend on the decisions of the first one.
    """
    verdicts = {key: simulate(state, key, now) for key in placements}
    decisions = _written(verdicts, state.decisions.values())
    moved = [key for key, verdict in verdicts.items() if verdict.chosen != verdict.current]
    if moved:
        after = state.deciding(decisions)
        verdicts |= {key: simulate(after, key, now) for key in moved}
        decisions = _written(verdicts, after.decisions.values())
    return ScheduledPlacements(verdicts=verdicts, decisions=decisions)


def _written(
    verdicts: Mapping[str, Verdict], decisions: Iterable[PlacementDecision]
) -> tuple[PlacementDecision, ...]:
    """The PlacementDecisions after passes over several Placements."""
    scheduled = {key for key, verdict in verdicts.items() if verdict.outcome is Outcome.SCHEDULED}
    # They are in order of name, because OCM writes them so, even over a decision of another
    # Placement.
    pages: dict[tuple[str, str], PlacementDecision] = {}
    for decision in decisions:
        if f"{decision.metadata.namespace}/{decision.placement}" not in scheduled:
            pages[decision.metadata.namespace or "", decision.metadata.name] = decision
    for key in sorted(scheduled):
        namespace, _, name = key.partition("/")
        for page in verdicts[key].decisions:
            pages[namespace, page.name] = decision_of(
                namespace=namespace, name=page.name, placement=name, clusters=page.clusters
            )
    return tuple(pages.values())
