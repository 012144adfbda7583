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
from gitops_dsf.simulator.conditions import Condition
from gitops_dsf.simulator.groups import DecisionObject, Group
from gitops_dsf.simulator.membership import NO_MEMBERSHIP, Membership
from gitops_dsf.simulator.notes import notes_on
from gitops_dsf.simulator.predicates import PREDICATE_FILTER, mismatch
from gitops_dsf.simulator.prioritizers import PrioritizerResult, selector_error
from gitops_dsf.simulator.ranking import Ranking
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status
from gitops_dsf.simulator.taints import taint_reason


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
        names = self.state.names
        left: dict[str, tuple[str, ...]] = {}
        pipeline: list[str] = []
        for stage in self.stages:
            pipeline.append(stage.name)
            left[",".join(pipeline)] = tuple(names[cluster] for cluster in stage.clusters)
        return left

    @cached_property
    def _dropped_by(self) -> Mapping[int, str]:
        """The filter that dropped a cluster, by the cluster's position."""
        dropped: dict[int, str] = {}
        before = self.membership.clusters
        for stage in self.stages:
            if len(stage.clusters) != len(before):
                dropped |= dict.fromkeys(set(before).difference(stage.clusters), stage.name)
            before = stage.clusters
        return dropped

    def drop_of(self, cluster: str) -> Drop | None:
        """Which filter dropped a candidate and why; None if none did."""
        position = self.state.positions.get(cluster)
        if position is None or position not in self._dropped_by:
            return None
        return self._drop(position, self._dropped_by[position])

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
        names = [self.state.names[cluster] for cluster in self.ranking.clusters]
        return dict(zip(names, self.ranking.sums, strict=True))

    @cached_property
    def prioritizer_scores(self) -> tuple[tuple[str, int, Mapping[str, int]], ...]:
        """(name, weight, score per cluster) of each prioritizer. Clusters without an entry add 0."""
        names = [self.state.names[cluster] for cluster in self._ranked_clusters]
        scored: list[tuple[str, int, Mapping[str, int]]] = []
        for result in self.prioritizers:
            values = zip(names, result.values, strict=True)
            scores = {name: value for name, value in values if value is not None}
            scored.append((result.name, result.weight, scores))
        return tuple(scored)

    @property
    def _ranked_clusters(self) -> tuple[int, ...]:
        """The clusters (by position) that passed the filters that ran."""
        return self.stages[-1].clusters if self.stages else ()

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
        """The PlacementDecisions of the Placement's namespace after the pass, with their clusters.

        As in scheduling_controller.go (bind), decisions are written by name, even over a decision of
        another Placement. Then decisions with the Placement's label that were not written are
        deleted. If the Placement's name is not a label value, the pass ends before the deletion.
        """
        namespace = self.source.metadata.namespace or ""
        name = self.source.metadata.name
        before = self.state.decisions_in.get(namespace, {})
        if self.outcome is not Outcome.SCHEDULED:
            return before
        written = {decision.name: decision.clusters for decision in self.decisions}
        after = {**before, **written}
        if selector_error(self.source) is None:
            for page in self.state.decisions_of.get((namespace, name), ()):
                if page.metadata.name not in written:
                    after.pop(page.metadata.name, None)
        return after

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
        ranked = frozenset(self._ranked_clusters)
        soonest: datetime | None = None
        for result in self.prioritizers:
            used = result.prioritizer
            if used.built_in is not None:
                continue
            column = self.state.score_table.column(used.resource, used.score, self.now)
            # The expiries of a column are sorted, so its first one in use is its soonest.
            for until, cluster in column.expiries:
                if cluster in ranked:
                    soonest = until if soonest is None else min(soonest, until)
                    break
        return soonest

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes for people, in sentences."""
        return notes_on(self)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON data."""
        decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.data()))
        return decoded

    def data(self) -> VerdictData:
        """The verdict as it is printed."""
        printed = VerdictData(
            placement=self.placement,
            outcome=str(self.outcome),
            evicted=self.evicted,
            notes=self.notes,
        )
        if self.panic is not None:
            printed.panic = self.panic
            return printed
        if self.sync_error is not None:
            printed.sync_error = self.sync_error
        printed.cluster_sets = self.cluster_sets
        printed.after_sync = {name: len(clusters) for name, clusters in self.after.items()}
        if self.outcome in (Outcome.UNSUPPORTED, Outcome.FAILED):
            printed.unsupported = tuple(map(str, self.unsupported)) or UNSET
            return printed
        printed.filters = [FilterResult(name, left) for name, left in self.filters.items()] or None
        printed.dropped = self.dropped
        printed.prioritizers = [PrioritizerScores(*scored) for scored in self.prioritizer_scores]
        printed.scores = self.scores
        printed.ranked = self.ranked
        printed.unscheduled = self.unscheduled
        printed.placement_decisions = [
            Decision(page.name, page.labels, page.clusters) for page in self.decisions
        ]
        printed.groups = [
            DecisionGroup(
                group.index,
                group.name,
                [page.name for page in group.decisions],
                len(group.clusters),
            )
            for group in self.groups
        ] or None
        printed.status_code = int(self.status.code)
        printed.status_message = self.status.message
        printed.satisfied = self.satisfied.to_list() if self.satisfied else None
        printed.misconfigured = self.misconfigured.to_list() if self.misconfigured else None
        printed.will_retry = self.status.code is not Code.SUCCESS
        if self.requeue_at is not None:
            printed.requeue = True
            printed.requeue_at = self.requeue_at.isoformat()
        return printed
