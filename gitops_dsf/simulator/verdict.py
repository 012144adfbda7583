"""The verdict: the decision of OCM for one Placement, and the reasons.

Guaranteed: a verdict keeps everything that the pass computed before it ended, also after an error.
Reasons, notes and names are computed when they are read, because most callers want only the
decision of many Placements.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import starmap

from msgspec import UNSET

from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.conditions import Condition
from gitops_dsf.simulator.groups import DecisionObject, Group
from gitops_dsf.simulator.membership import NO_MEMBERSHIP, Membership
from gitops_dsf.simulator.notes import decision_notes, outcome_notes, score_notes
from gitops_dsf.simulator.outcome import Outcome
from gitops_dsf.simulator.predicates import PREDICATE_FILTER, mismatch
from gitops_dsf.simulator.prioritizers import PrioritizerResult, selector_error
from gitops_dsf.simulator.ranking import RankedClusters
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status
from gitops_dsf.simulator.taints import taint_reason
from gitops_dsf.simulator.verdict_data import (
    Decision,
    DecisionGroup,
    Drop,
    FilterResult,
    PrioritizerScores,
    VerdictData,
)


@dataclass(frozen=True, slots=True)
class FilterStage:
    """One filter: its name and the clusters left after it."""

    name: str
    clusters: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True)
class Verdict:
    """The result of simulating one Placement. Expensive parts are computed on demand."""

    source: Placement = field(repr=False)
    state: HubState = field(repr=False)
    now: datetime
    outcome: Outcome
    status: Status = SUCCESS
    membership: Membership = NO_MEMBERSHIP
    stages: tuple[FilterStage, ...] = ()
    """The filters that completed, in order."""
    prioritizers: tuple[PrioritizerResult, ...] = ()
    ranking: RankedClusters | None = None
    """None if scheduling ended with an error."""
    unscheduled: int = 0
    groups: tuple[Group, ...] = ()
    satisfied: Condition | None = None
    misconfigured: Condition | None = None
    requeue_at: datetime | None = None
    """The time when OCM reconciles again because a toleration runs out."""
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
        """The sets that the Placement may use.

        They are bound to its namespace, and in spec.clusterSets if that is set.
        """
        return self.membership.sets

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Clusters of the eligible sets, before filtering."""
        return self._names_of(self.membership.clusters)

    def _names_of(self, clusters: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(self.state.names.__getitem__, clusters))

    @cached_property
    def filters(self) -> Mapping[str, tuple[str, ...]]:
        """Clusters left after each filter.

        A key is the pipeline so far, as in OCM's debug output.
        """
        passed: dict[str, tuple[str, ...]] = {}
        pipeline: list[str] = []
        for stage in self.stages:
            pipeline.append(stage.name)
            passed[",".join(pipeline)] = self._names_of(stage.clusters)
        return passed

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
        """The filter that dropped a candidate and the reason; None if none did."""
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
        """The filter that dropped each dropped candidate, and the reason."""
        dropped: dict[str, Drop] = {}
        for cluster, stage in sorted(self._dropped_by.items()):
            dropped[self.state.names[cluster]] = self._drop(cluster, stage)
        return dropped

    @cached_property
    def scores(self) -> Mapping[str, int] | None:
        """The weighted sum of each cluster that passed the filters; None after an error."""
        if self.ranking is None:
            return None
        return dict(zip(self._names_of(self.ranking.clusters), self.ranking.sums, strict=True))

    @cached_property
    def prioritizer_scores(self) -> tuple[tuple[str, int, Mapping[str, int]], ...]:
        """(name, weight, score per cluster) of each prioritizer.

        Clusters without an entry add 0.
        """
        names = self._names_of(self._ranked_clusters)
        scored: list[tuple[str, int, Mapping[str, int]]] = []
        for result in self.prioritizers:
            scores: dict[str, int] = {}
            for name, value in zip(names, result.values, strict=True):
                if value is not None:
                    scores[name] = value
            scored.append((result.name, result.weight, scores))
        return tuple(scored)

    @property
    def _ranked_clusters(self) -> tuple[int, ...]:
        """The clusters (by position) that passed the filters that ran."""
        if not self.stages:
            return ()
        return self.stages[-1].clusters

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The selected clusters, best first."""
        if self.ranking is None:
            return ()
        return self._names_of(self.ranking.selected_clusters)

    @cached_property
    def decisions(self) -> tuple[DecisionObject, ...]:
        """The PlacementDecisions that this pass writes."""
        decisions: list[DecisionObject] = []
        for group in self.groups:
            decisions.extend(group.decisions)
        return tuple(decisions)

    @cached_property
    def after(self) -> Mapping[str, tuple[str, ...]]:
        """The PlacementDecisions of the Placement's namespace after the pass, with their clusters.

        They are those of another Placement, too, where this one writes over them.
        """
        # OCM v1.2.1 (scheduling_controller.go: bind) creates or updates decisions by name, and does
        # not look whose they are. Then it deletes those with this Placement's label that it did not
        # write.
        namespace = self.source.metadata.namespace or ""
        name = self.source.metadata.name
        before = self.state.decisions_in.get(namespace, {})
        if self.outcome is not Outcome.SCHEDULED:
            return before
        pages = {decision.name: decision.clusters for decision in self.decisions}
        after = {**before, **pages}
        # A name that is not a label value makes bind return an error before it deletes anything.
        if selector_error(self.source) is None:
            for page in self.state.decisions_of.get((namespace, name), ()):
                if page.metadata.name not in pages:
                    after.pop(page.metadata.name, None)
        return after

    @cached_property
    def chosen(self) -> frozenset[str]:
        """Clusters in the Placement's PlacementDecisions after the pass."""
        if self.outcome is not Outcome.SCHEDULED:
            return self.current
        clusters = set[str]()
        for decision in self.decisions:
            clusters.update(decision.clusters)
        return frozenset(clusters)

    @cached_property
    def evicted(self) -> tuple[str, ...]:
        """Clusters that lose their decision in this pass, sorted."""
        return tuple(sorted(self.current - self.chosen))

    @property
    def evicts_everything(self) -> bool:
        """Whether a mistake takes the decision from every cluster that has one."""
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
            # The expiries of a column are sorted, so the first one of a ranked cluster is its
            # soonest.
            for until, cluster in column.expiries:
                if cluster in ranked:
                    if soonest is None or until < soonest:
                        soonest = until
                    break
        return soonest

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes for people, in sentences, the most severe first."""
        notes = list(
            outcome_notes(
                self.source,
                self.outcome,
                panic=self.panic,
                sync_error=self.sync_error,
                unsupported=self.unsupported,
            )
        )
        if self.outcome is Outcome.SCHEDULED:
            notes += decision_notes(
                self.source,
                status=self.status,
                satisfied=self.satisfied,
                evicted=self.evicted,
                evicts_everything=self.evicts_everything,
            )
        notes += score_notes(self.status, self.next_expiry)
        return tuple(notes)

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
        # OCM's debug output has null, not an empty list, where nothing was recorded.
        printed.filters = list(starmap(FilterResult, self.filters.items())) or None
        printed.dropped = self.dropped
        printed.prioritizers = list(starmap(PrioritizerScores, self.prioritizer_scores))
        printed.scores = self.scores
        printed.ranked = self.ranked
        printed.unscheduled = self.unscheduled
        printed.placement_decisions = list(map(_printed_decision, self.decisions))
        printed.groups = list(map(_printed_group, self.groups)) or None
        printed.status_code = int(self.status.code)
        printed.status_message = self.status.message
        printed.satisfied = self.satisfied.to_list() if self.satisfied else None
        printed.misconfigured = self.misconfigured.to_list() if self.misconfigured else None
        # A warning is enough: OCM's Status.AsError returns nil for Success alone.
        printed.will_retry = self.status.code is not Code.SUCCESS
        if self.requeue_at is not None:
            printed.requeue = True
            printed.requeue_at = self.requeue_at.isoformat()
        return printed


def outcome_text(verdict: Verdict) -> str:
    """The reason why OCM does not schedule a Placement: the first note, or else the outcome."""
    return verdict.notes[0] if verdict.notes else str(verdict.outcome)


def _printed_decision(page: DecisionObject) -> Decision:
    return Decision(page.name, page.labels, page.clusters)


def _printed_group(group: Group) -> DecisionGroup:
    return DecisionGroup(
        group.index,
        group.name,
        [page.name for page in group.decisions],
        len(group.clusters),
    )
