"""The verdict: what OCM would decide for one Placement, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.filters import (
    NO_MEMBERSHIP,
    PREDICATE_FILTER,
    Membership,
    mismatch,
    taint_reason,
)
from gitops_dsf.simulator.groups import Condition, DecisionObject, Group, notes_on
from gitops_dsf.simulator.prioritizers import PrioritizerResult, Ranking, selector_error
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status


class Outcome(StrEnum):
    SCHEDULED = "Scheduled"
    """The controller completed its pass, successfully or not; see status and conditions."""
    DISABLED = "Disabled"
    """It has the annotation experimental-scheduling-disable: decisions stay. The rest is what would be."""
    DELETING = "Deleting"
    """The Placement is being deleted: decisions stay until they go with it. Else as for DISABLED."""
    FAILED = "Failed"
    """The pass ends before it schedules (an invalid ManagedClusterSet). Decisions stay as they are."""
    PANIC = "Panic"
    """The controller panics on each reconciliation, and recovers. The old decision stays until a fix."""
    UNSUPPORTED = "Unsupported"
    """The simulator has no answer: the decision depends on a CEL feature that it does not reproduce."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One filter: its name and the clusters left after it."""

    name: str
    clusters: tuple[int, ...] = field(repr=False)


class Drop(Struct, frozen=True):
    filter: str
    """Predicate or TaintToleration."""
    reason: str


class FilterResult(Struct, rename="camel"):
    name: str
    filtered_clusters: Sequence[str]


class PrioritizerScores(Struct):
    name: str
    weight: int
    scores: Mapping[str, int]


class Decision(Struct):
    name: str
    labels: Mapping[str, str]
    clusters: Sequence[str]


class DecisionGroup(Struct, rename="camel"):
    decision_group_index: int
    decision_group_name: str
    decisions: Sequence[str]
    cluster_count: int


class VerdictData(Struct, rename="camel", kw_only=True):
    """The decision of one Placement. What OCM did not reach is left out.

    The names of keys are those of the reference verdicts; `filters`, `scores` and `groups` are null where
    Go's are nil.
    """

    placement: str
    outcome: str
    evicted: Sequence[str]
    notes: Sequence[str]
    panic: str | UnsetType = UNSET
    cluster_sets: Sequence[str] | UnsetType = UNSET
    filters: Sequence[FilterResult] | UnsetType | None = UNSET
    dropped: Mapping[str, Drop] | UnsetType = UNSET
    prioritizers: Sequence[PrioritizerScores] | UnsetType = UNSET
    scores: Mapping[str, int] | UnsetType | None = UNSET
    ranked: Sequence[str] | UnsetType = UNSET
    unscheduled: int | UnsetType = UNSET
    placement_decisions: Sequence[Decision] | UnsetType = UNSET
    groups: Sequence[DecisionGroup] | UnsetType | None = UNSET
    status_code: int | UnsetType = UNSET
    status_message: str | UnsetType = UNSET
    satisfied: Sequence[str] | UnsetType | None = UNSET
    misconfigured: Sequence[str] | UnsetType | None = UNSET
    after_sync: Mapping[str, int] | UnsetType = UNSET
    will_retry: bool | UnsetType = UNSET
    sync_error: str | UnsetType = UNSET
    requeue: bool | UnsetType = UNSET
    requeue_at: str | UnsetType = UNSET
    unsupported: Sequence[str] | UnsetType = UNSET


@dataclass(frozen=True)
class Verdict:
    """The result of simulating one Placement. Expensive parts are computed on demand."""

    source: Placement = field(repr=False)
    state: HubState = field(repr=False)
    now: datetime
    outcome: Outcome
    status: Status = SUCCESS
    membership: Membership = NO_MEMBERSHIP
    stages: tuple[Stage, ...] = ()
    """The filters that completed, in order."""
    prioritizers: tuple[PrioritizerResult, ...] = ()
    ranking: Ranking | None = None
    """None if scheduling ended with an error."""
    unscheduled: int = 0
    groups: tuple[Group, ...] = ()
    satisfied: Condition | None = None
    misconfigured: Condition | None = None
    requeue_at: datetime | None = None
    """When OCM reconciles again because a toleration runs out."""
    sync_error: str | None = None
    """The error that the pass ends with. OCM retries with growing delay."""
    panic: str | None = None
    unsupported: tuple[Unsupported, ...] = ()
    current: frozenset[str] = field(default=frozenset(), repr=False)
    """Clusters in the Placement's PlacementDecisions before the pass."""

    @property
    def placement(self) -> str:
        """`namespace/name`."""
        return self.source.key

    @property
    def cluster_sets(self) -> tuple[str, ...]:
        """Sets that the Placement may use: bound to its namespace, and in spec.clusterSets if set."""
        return self.membership.sets

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Clusters of the eligible sets, before filtering."""
        return tuple(self.state.names[cluster] for cluster in self.membership.clusters)

    @cached_property
    def filters(self) -> Mapping[str, tuple[str, ...]]:
        """Clusters left after each filter. A key is the pipeline so far, as in OCM's debug output."""
        names, stages = self.state.names, self.stages
        return {
            ",".join(stage.name for stage in stages[: index + 1]): tuple(
                names[c] for c in found.clusters
            )
            for index, found in enumerate(stages)
        }

    @cached_property
    def _dropped_by(self) -> Mapping[int, str]:
        """Dropped clusters (by position), and the filter that dropped them."""
        found: dict[int, str] = {}
        before = self.membership.clusters
        for stage in self.stages:
            if len(stage.clusters) != len(before):
                found |= dict.fromkeys(set(before).difference(stage.clusters), stage.name)
            before = stage.clusters
        return found

    def drop_of(self, cluster: str) -> Drop | None:
        """Which filter dropped a candidate and why; None if none did."""
        position = self.state.positions.get(cluster)
        stage = None if position is None else self._dropped_by.get(position)
        return None if position is None or stage is None else self._drop(position, stage)

    def _drop(self, cluster: int, stage: str) -> Drop:
        if stage == PREDICATE_FILTER:
            return Drop(stage, mismatch(cluster, self.source, self.state))
        in_decision = self.state.names[cluster] in self.current
        return Drop(
            stage, taint_reason(self.state.clusters[cluster], self.source, in_decision, self.now)
        )

    @cached_property
    def dropped(self) -> Mapping[str, Drop]:
        """For every dropped candidate: which filter dropped it, and why."""
        names = self.state.names
        return {
            names[cluster]: self._drop(cluster, stage)
            for cluster, stage in sorted(self._dropped_by.items())
        }

    @cached_property
    def scores(self) -> Mapping[str, int] | None:
        """The weighted sum of each cluster that passed the filters; None after an error."""
        if self.ranking is None:
            return None
        names = self.state.names
        return {
            names[c]: total
            for c, total in zip(self.ranking.clusters, self.ranking.sums, strict=True)
        }

    @cached_property
    def prioritizer_scores(self) -> tuple[tuple[str, int, Mapping[str, int]], ...]:
        """(name, weight, score per cluster) of each prioritizer. Clusters without an entry add 0."""
        clusters = self.stages[-1].clusters if self.stages else ()
        names, found = self.state.names, []
        for result in self.prioritizers:
            values = zip(clusters, result.values, strict=True)
            scores = {names[c]: value for c, value in values if value is not None}
            found.append((result.name, result.weight, scores))
        return tuple(found)

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The selected clusters, best first."""
        if self.ranking is None:
            return ()
        return tuple(self.state.names[cluster] for cluster in self.ranking.selected_clusters)

    @cached_property
    def decisions(self) -> tuple[DecisionObject, ...]:
        """The PlacementDecisions that this pass writes."""
        return tuple(decision for group in self.groups for decision in group.decisions)

    @cached_property
    def after(self) -> Mapping[str, tuple[str, ...]]:
        """The PlacementDecisions of the Placement's namespace after the pass, with their clusters
        (scheduling_controller.go: bind).

        Decisions are written by name, even over a decision of another Placement. Then decisions with the
        Placement's label that were not written are deleted. If the Placement's name is not a label value, the
        pass ends before the deletion.
        """
        namespace, name = self.source.metadata.namespace or "", self.source.metadata.name
        before = self.state.decisions_in.get(namespace, {})
        if self.outcome is not Outcome.SCHEDULED:
            return before
        written = {decision.name: decision.clusters for decision in self.decisions}
        deleted = {
            item.metadata.name for item in self.state.decisions_of.get((namespace, name), ())
        } - written.keys()
        if selector_error(self.source) is not None:
            deleted = set()
        return {
            each: clusters
            for each, clusters in {**before, **written}.items()
            if each not in deleted
        }

    @cached_property
    def chosen(self) -> frozenset[str]:
        """Clusters in the Placement's PlacementDecisions after the pass."""
        if self.outcome is not Outcome.SCHEDULED:
            return self.current
        return frozenset(cluster for decision in self.decisions for cluster in decision.clusters)

    @cached_property
    def evicted(self) -> tuple[str, ...]:
        """Clusters that lose their decision in this pass, sorted."""
        return tuple(sorted(self.current - self.chosen))

    @property
    def evicts_everything(self) -> bool:
        """Whether a mistake, and not a preference, removes the decision from every cluster that has one."""
        return self.status.failed and bool(self.current) and not self.chosen

    @cached_property
    def next_expiry(self) -> datetime | None:
        """The next validUntil of a score in use. OCM does not reconcile because of it."""
        ranked = frozenset(self.stages[-1].clusters if self.stages else ())
        used = (each.prioritizer for each in self.prioritizers if each.prioritizer.built_in is None)
        columns = [
            self.state.score_table.column(each.resource, each.score, self.now) for each in used
        ]
        return min(
            (at for column in columns for at, one in column.expiries if one in ranked), default=None
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes for people, in sentences."""
        return notes_on(self)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON data."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.data()))
        return found

    def data(self) -> VerdictData:
        """The verdict as it is printed."""
        found = VerdictData(
            placement=self.placement,
            outcome=str(self.outcome),
            evicted=self.evicted,
            notes=self.notes,
            panic=UNSET if self.panic is None else self.panic,
            sync_error=UNSET
            if self.sync_error is None or self.panic is not None
            else self.sync_error,
        )
        if self.panic is not None:
            return found
        found.cluster_sets = self.cluster_sets
        found.after_sync = {name: len(clusters) for name, clusters in self.after.items()}
        if self.outcome in (Outcome.UNSUPPORTED, Outcome.FAILED):
            found.unsupported = tuple(map(str, self.unsupported)) or UNSET
            return found
        found.filters = [FilterResult(name, left) for name, left in self.filters.items()] or None
        found.dropped = self.dropped
        found.prioritizers = [PrioritizerScores(*each) for each in self.prioritizer_scores]
        found.scores = self.scores
        found.ranked = self.ranked
        found.unscheduled = self.unscheduled
        found.placement_decisions = [
            Decision(each.name, each.labels, each.clusters) for each in self.decisions
        ]
        found.groups = [
            DecisionGroup(
                each.index, each.name, [page.name for page in each.decisions], len(each.clusters)
            )
            for each in self.groups
        ] or None
        found.status_code = int(self.status.code)
        found.status_message = self.status.message
        found.satisfied = self.satisfied.to_list() if self.satisfied else None
        found.misconfigured = self.misconfigured.to_list() if self.misconfigured else None
        found.will_retry = self.status.code is not Code.SUCCESS
        if self.requeue_at is not None:
            found.requeue, found.requeue_at = True, self.requeue_at.isoformat()
        return found
