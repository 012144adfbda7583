"""What one scorer wants published: its scores of each cluster, and why a write of them failed.

A worker offers scores here after each cycle. The `Publisher` decides when they are written. Only
the newest scores are kept.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from dsf_agent.errors import AgentError
from dsf_agent.metrics import ScorerMetrics
from dsf_wire import scorename
from dsf_wire.publishrule import PublishedItems, PublishSettings, stable_fraction
from dsf_wire.summary import ScorerSummary

log = logging.getLogger(__name__)


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
    """Whether ``published`` says what the hub has."""
    failures: int = 0
    """Failed writes in a row."""

    def wanted_now(self) -> Mapping[str, int] | None:
        """What is wanted at this moment.

        It can change at each await, which type checkers do not see.
        """
        return self.wanted


class WritesScores(Protocol):
    """What a publication needs of the publisher."""

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
    rank: int
    """Of writes that are due at the same time, those of the scorer with the lowest rank come first.
    """
    name: str = field(init=False)
    """Of the AddOnPlacementScores."""
    _scores: dict[str, ClusterScore] = field(init=False, default_factory=dict)
    _faults: dict[str, AgentError] = field(init=False, default_factory=dict)
    """Why the last write of a cluster failed."""

    def __post_init__(self) -> None:
        self.name = scorename.sanitise(self.scorer.score_name)

    @property
    def fault(self) -> AgentError | None:
        """Why the last write of a cluster failed; None if all succeeded."""
        if not self._faults:
            return None
        cluster, first = next(iter(self._faults.items()))
        others = len(self._faults) - 1
        if not others:
            return first.without_traceback(f"cluster {cluster}: {first}")
        return first.without_traceback(f"cluster {cluster} and {others} more: {first}")

    def offer(self, cluster: str, values: Mapping[str, int]) -> None:
        """Takes the scores of one cluster."""
        score = self._scores.get(cluster)
        if score is None:
            # The jitter never changes for a cluster and a score.
            jitter = stable_fraction(cluster, self.scorer.score_name, "refresh")
            rule = replace(self.rule, jitter=jitter)
            score = ClusterScore(publication=self, cluster=cluster, rule=rule)
            self._scores[cluster] = score
            self.publisher.add(score)
        if score.published is not None and score.published.values == values:
            # Equal values are kept once: there may be thousands of clusters.
            values = score.published.values
        score.wanted = values
        self.count(self.publisher.offered(score))

    def pause_cluster(self, cluster: str) -> None:
        """A cluster has no scores now.

        What is published is not renewed, and expires at its validUntil.
        """
        score = self._scores.get(cluster)
        if score is not None:
            score.wanted = None

    def pause(self) -> None:
        """A cycle failed: no score is renewed until one succeeds."""
        for score in self._scores.values():
            score.wanted = None

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
        if before is None or before.reason is not error.reason:
            extra = {"scorer": self.scorer.name, "reason": error.reason.value}
            log.warning("the scores of %s are not published: %s", cluster, error, extra=extra)
        self._faults[cluster] = error.without_traceback()
        self.count("failed")
        self.metrics.failed("publish", error.reason)

    def recovered(self, cluster: str) -> None:
        """Notes that a write succeeded after failures."""
        self._faults.pop(cluster, None)
        extra = {"scorer": self.scorer.name}
        log.info("the scores of %s are published again", cluster, extra=extra)
