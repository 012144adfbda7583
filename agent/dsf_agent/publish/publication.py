"""The publication of one scorer: the wanted scores of each cluster, and the errors of their writes.

A worker offers scores here after each cycle. The `Publisher` decides when they are written. Only
the newest scores are kept.

Not guaranteed: that each result is written. Scores that are replaced before their write is due are
never seen on the hub.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from dsf_agent.errors import AgentError
from dsf_agent.metrics import ScorerMetrics
from dsf_agent.publish.store import ScoredCondition, StoredScores
from dsf_runtime.clock import monotonic
from dsf_wire import scorename
from dsf_wire.publishrule import PublishedItems, PublishSettings, stable_fraction
from dsf_wire.scored import Reason, ScoredReason, condition_message
from dsf_wire.summary import ScorerSummary

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreFault:
    """The reason why a scorer has no scores of a cluster now, for people on the hub."""

    reason: ScoredReason
    message: str

    @classmethod
    def of(cls, error: AgentError) -> "ScoreFault":
        """The fault of a failed cycle or write.

        Messages of failures have no secrets in them; their endpoints hide them. The text of a bug
        may quote anything, so it stays in the agent's log.
        """
        message = str(error)
        if error.reason is Reason.INTERNAL:
            message = "a bug in the agent, whose log on the cluster has the traceback"
        return cls(reason=error.scored, message=condition_message(message))


@dataclass(kw_only=True, eq=False, slots=True)
class ClusterScore:
    """One score of one cluster: what is wanted, and what the hub has."""

    publication: "ScorePublication"
    cluster: str
    rule: PublishSettings
    wanted: Mapping[str, int] | None = None
    """The values to publish; None while nothing may be written or renewed."""
    published: PublishedItems | None = None
    known: bool = False
    """Whether ``published`` is the state of the hub."""
    failures: int = 0
    """Failed writes in a row."""
    cycle_fault: ScoreFault | None = None
    """The reason why there are no scores to publish; None while there are, or if it is unknown yet.
    """
    write_fault: ScoreFault | None = None
    """The reason why the hub can never take the wanted scores; None after a write."""
    changed: float = 0.0
    """Monotonic time at which the scorer lost its scores here, or had them again."""
    stored: StoredScores | None = None
    """The whole object as it was read or written last; None if there is none."""
    stored_at: float = 0.0
    """The time when it was written (Unix seconds of the hub)."""
    outdated: bool = False
    """Whether ``stored`` may differ from the hub. Scores may be written anyway."""
    condition_written: ScoredCondition | None = None
    """The condition that the hub took last, also if it kept none."""
    condition_at: float = -math.inf
    """The time when it was written (Unix seconds of the hub)."""
    condition_failures: int = 0
    """Failed writes of the condition in a row."""
    removed: bool = False
    """Whether its scorer no longer scores the cluster in this process."""

    @property
    def fault(self) -> ScoreFault | None:
        """The reason why there are no scores on the hub, or no newer ones."""
        return self.cycle_fault or self.write_fault

    @property
    def stored_condition(self) -> ScoredCondition | None:
        """The condition of the object as it was read or written last."""
        return None if self.stored is None else self.stored.condition

    def condition(self, *, now: float) -> ScoredCondition | None:
        """The condition that should be there; None while it is unknown.

        ``now`` is the hub's time in Unix seconds.
        """
        fault = self.fault
        if fault is None and self.wanted is None:
            return None
        condition = ScoredCondition(
            holds=fault is None,
            reason=ScoredReason.SCORED if fault is None else fault.reason,
            message="" if fault is None else fault.message,
            # The hub's clock may not have been known when it changed.
            since=now - (monotonic() - self.changed),
        )
        return condition.following(self.stored_condition)

    def turn(self, *, cycle: ScoreFault | None, write: ScoreFault | None) -> bool:
        """Takes new faults. Returns whether status or reason of the condition may change."""
        before = None if self.fault is None else self.fault.reason
        was_known = self.wanted is not None or self.fault is not None
        self.cycle_fault = cycle
        self.write_fault = write
        after = None if self.fault is None else self.fault.reason
        if was_known and before is after:
            return False
        # Another reason with the same status keeps the time, as Kubernetes defines the
        # lastTransitionTime of a condition.
        if not was_known or (before is None) is not (after is None):
            self.changed = monotonic()
        return True

    def wanted_now(self) -> Mapping[str, int] | None:
        """The scores that are wanted at this moment.

        They can change at each await, which type checkers do not see.
        """
        return self.wanted


class WritesScores(Protocol):
    """The part of the publisher that a publication needs."""

    def explained(self, score: ClusterScore) -> None:
        """Plans the write of the reason why there are no scores, or have been none."""
        ...

    def add(self, score: ClusterScore) -> None:
        """Takes a score into its care."""
        ...

    def remove(self, score: ClusterScore) -> None:
        """Forgets a score. It stays on the hub."""
        ...

    def offered(self, score: ClusterScore) -> str:
        """Plans the write of what is wanted now. Returns the outcome for the metric of writes."""
        ...

    async def wait_until_handled(self, scores: list[ClusterScore]) -> None:
        """Waits until these scores are written, or are not due yet, or their write failed."""
        ...


@dataclass(kw_only=True, eq=False, repr=False)
class ScorePublication:
    """The scores of one scorer on all its clusters."""

    publisher: WritesScores
    scorer: ScorerSummary
    rule: PublishSettings
    metrics: ScorerMetrics
    clusters: Callable[[], Iterable[str]]
    """The clusters that the scorer scores now."""
    rank: int
    """The rank of the scorer.

    Among writes that are due at the same time, those with the lowest rank come first.
    """
    edited: bool = False
    """Whether the scorer was edited just before, and the process did not just start."""
    began: float = field(init=False, default_factory=monotonic)
    name: str = field(init=False)
    """The name of the AddOnPlacementScores."""
    _scores: dict[str, ClusterScore] = field(init=False, default_factory=dict)
    _faults: dict[str, AgentError] = field(init=False, default_factory=dict)
    """The reasons why the last write of each cluster failed."""

    def __post_init__(self) -> None:
        self.name = scorename.sanitise(self.scorer.score_name)

    @property
    def fault(self) -> AgentError | None:
        """The reason why the last write of a cluster failed; None if all succeeded."""
        if not self._faults:
            return None
        cluster, first = next(iter(self._faults.items()))
        others = len(self._faults) - 1
        if not others:
            return first.without_traceback(f"cluster {cluster}: {first}")
        return first.without_traceback(f"cluster {cluster} and {others} more: {first}")

    def offer(self, cluster: str, values: Mapping[str, int]) -> None:
        """Takes the scores of one cluster."""
        score = self._score(cluster)
        turned = score.turn(cycle=None, write=score.write_fault)
        if score.published is not None and score.published.values == values:
            # Equal values are kept once: there may be thousands of clusters.
            values = score.published.values
        score.wanted = values
        self.count(self.publisher.offered(score))
        if turned:
            self.publisher.explained(score)

    def pause_cluster(self, cluster: str, fault: ScoreFault) -> None:
        """A cluster has no scores now, and the hub learns why.

        What is published is not renewed, and expires at its validUntil.
        """
        score = self._score(cluster)
        turned = score.turn(cycle=fault, write=score.write_fault)
        score.wanted = None
        if turned:
            self.publisher.explained(score)

    def pause(self, fault: ScoreFault) -> None:
        """A cycle failed: no score is renewed until one succeeds.

        Metrics show it at once.
        """
        for cluster in self.clusters():
            self.pause_cluster(cluster, fault)
        self.report()

    def report(self) -> None:
        """Shows in metrics on how many clusters there are no scores, by reason."""
        faults = (score.fault for score in self._scores.values())
        reasons = Counter(fault.reason.value for fault in faults if fault is not None)
        self.metrics.has_no_scores(reasons)

    def _score(self, cluster: str) -> ClusterScore:
        score = self._scores.get(cluster)
        if score is None:
            # The jitter never changes for a cluster and a score.
            jitter = stable_fraction(cluster, self.scorer.score_name, "refresh")
            rule = replace(self.rule, jitter=jitter)
            score = ClusterScore(publication=self, cluster=cluster, rule=rule)
            self._scores[cluster] = score
            self.publisher.add(score)
        return score

    def keep_only(self, clusters: frozenset[str]) -> None:
        """Forgets the clusters that the scorer no longer scores. Their scores stay on the hub."""
        for cluster in self._scores.keys() - clusters:
            self.publisher.remove(self._scores.pop(cluster))
            self._faults.pop(cluster, None)

    async def wait_until_handled(self) -> None:
        """Waits until the offered scores are written, or are not due yet, or their write failed."""
        await self.publisher.wait_until_handled(list(self._scores.values()))

    def count(self, outcome: str) -> None:
        """Counts what became of an offer."""
        self.metrics.all.publishes.labels(self.metrics.name, outcome).inc()

    def failed(self, cluster: str, error: AgentError) -> None:
        """Notes that a write failed."""
        before = self._faults.get(cluster)
        # Once for each reason: while a hub is away, every retry would be in the log.
        if before is None or before.reason is not error.reason:
            extra = {"scorer": self.scorer.name, "reason": error.reason.value}
            log.warning("the scores of %s are not published: %s", cluster, error, extra=extra)
        # The traceback would keep the body of the request in memory.
        self._faults[cluster] = error.without_traceback()
        self.count("failed")
        self.metrics.failed("publish", error.reason)

    def recovered(self, cluster: str) -> None:
        """Notes that a write succeeded after failures."""
        self._faults.pop(cluster, None)
        extra = {"scorer": self.scorer.name}
        log.info("the scores of %s are published again", cluster, extra=extra)
