"""Writes the scores of clusters when the rule says that a write is due, at a limited rate.

It runs beside the workers, so a slow hub never delays a cycle. A task for each score would need too
much memory on the hub. Instead one queue holds the times at which writes are due, and a few writers
take them in that order. Scores that were never written come first, one scorer after another: the
first one has scores on all clusters before the second one begins.

While the hub is away nothing is sent until a common pause is over, because every cluster would have
the same failure. A failure that only one cluster has, such as a missing right, delays no other
cluster.

An audit lists the objects of each cluster now and then, and writes objects again that another
program deleted.

Not guaranteed: the time of a write. It may be late by the rate or by a pause, and scores then
expire at their validUntil.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_agent.errors import AgentError
from dsf_agent.metrics import ScorerMetrics
from dsf_agent.publish.conditions import WRITES_PER_SECOND as CONDITIONS_PER_SECOND
from dsf_agent.publish.conditions import ConditionWriter
from dsf_agent.publish.duequeue import NOW, DueQueue
from dsf_agent.publish.publication import ClusterScore, ScoreFault, ScorePublication
from dsf_agent.publish.store import ScoredCondition, ScoreStore, StoredScores
from dsf_agent.publish.writerate import WriteRate
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic
from dsf_wire.constants import HUB_SCORER_WRITES_PER_SECOND
from dsf_wire.publishrule import PublishedItems, PublishSettings, WriteDecision, decide
from dsf_wire.scored import Reason, ScoredReason
from dsf_wire.summary import ScorerSummary

WRITERS: Final = 4
"""Requests at one time."""
BACKOFF: Final = Backoff(first=2.0, ceiling=120.0, jitter=0.3)
"""Delays between failed attempts.

The jitter is wide because a whole fleet retries when a hub returns.
"""
RETRY_FRACTION: Final = 0.25
"""A failed write is tried again after this part of the TTL at the latest.

This holds even if the hub asks for a longer pause. Unchanged scores are written again at half of
the TTL and must not expire before the retry.
"""
CLOCK_SLACK_SECONDS: Final = 60.0
"""Tolerance for a validUntil that is later than this rule would set it.

A later one was written by another program, or the clock was set back since.
"""
AUDIT_SECONDS: Final = 300.0
"""The time between two lists of the objects of each cluster, to find those that another program
deleted.
"""
AUDITS_PER_SECOND: Final = 6
"""The largest number of audits in a second. A large fleet is audited more rarely."""
AUDIT_LAG_SECONDS: Final = 10.0
"""An object written less than this before a list may be missing in it."""
POLL_SECONDS: Final = 0.05
"""The time between two attempts to write a score whose last write has not ended.

At the end of a worker also between two checks whether everything is written.
"""
_HUB_IS_AWAY: Final = frozenset(
    {
        Reason.UNREACHABLE,
        Reason.TIMEOUT,
        Reason.TLS,
        Reason.CONNECTION_LOST,
        Reason.THROTTLED,
        Reason.SERVER_ERROR,
        Reason.UNAUTHORIZED,
        Reason.BAD_CREDENTIALS,
    }
)
"""Failures that every cluster would have now."""

_NEVER_TAKEN: Final = frozenset({Reason.TOO_LARGE, Reason.INVALID_OBJECT})
"""The scores are to blame, and an object without them can be written."""

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False, repr=False)
class Publisher:
    """Owns the queue of due writes. ``run`` is a root task of the process."""

    store_of: Callable[[str], ScoreStore]
    wall: Callable[[], float]
    """The time of the stores."""
    writes_per_second: float = HUB_SCORER_WRITES_PER_SECOND
    conditions_per_second: float = CONDITIONS_PER_SECOND
    _rate: WriteRate = field(init=False)
    _queue: DueQueue[ClusterScore] = field(init=False)
    _ranks: "itertools.count[int]" = field(init=False, default_factory=itertools.count)
    _by_cluster: dict[str, dict[str, ClusterScore]] = field(init=False, default_factory=dict)
    _writing: dict[tuple[str, str], ClusterScore] = field(init=False, default_factory=dict)
    """The scores that are being written, by cluster and name.

    A write whose scorer was edited must not end after the next write.
    """
    _reading: dict[str, asyncio.Lock] = field(init=False, default_factory=dict)
    _conditions: ConditionWriter = field(init=False)
    _failures: int = field(init=False, default=0)
    """The number of times in a row that the hub was away."""
    _resume: float = field(init=False, default=0.0)
    """Monotonic time until which nothing is sent, because the hub is away."""

    def __post_init__(self) -> None:
        self._queue = DueQueue(wall=self.wall)
        self._rate = WriteRate(per_second=self.writes_per_second)
        self._conditions = ConditionWriter(
            store_of=self.store_of,
            wall=self.wall,
            read=self._read_again,
            is_busy=self._is_written,
            writes_per_second=self.conditions_per_second,
            hub_is_away=self._hub_is_away,
        )

    def publication(
        self,
        scorer: ScorerSummary,
        *,
        rule: PublishSettings,
        metrics: ScorerMetrics,
        clusters: Callable[[], Iterable[str]],
        edited: bool = False,
    ) -> ScorePublication:
        """A publication for the scores of one scorer.

        The jitter of the rule is replaced for each cluster.
        """
        return ScorePublication(
            publisher=self,
            scorer=scorer,
            rule=rule,
            metrics=metrics,
            clusters=clusters,
            edited=edited,
            rank=next(self._ranks),
        )

    async def run(self) -> None:
        """Writes until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WRITERS):
                tasks.create_task(self._write_what_is_due())
            tasks.create_task(self._conditions.run())
            tasks.create_task(self._audit())

    def add(self, score: ClusterScore) -> None:
        """Takes a score into its care."""
        self._by_cluster.setdefault(score.cluster, {})[score.publication.name] = score

    def remove(self, score: ClusterScore) -> None:
        """Forgets a score. It stays on the hub."""
        score.wanted = None
        score.removed = True
        self._conditions.forget(score)
        scores = self._by_cluster.get(score.cluster, {})
        # After an edit the new worker's score may have its place already.
        if scores.get(score.publication.name) is score:
            del scores[score.publication.name]
            if not scores:
                del self._by_cluster[score.cluster]

    def offered(self, score: ClusterScore) -> str:
        """Plans the write of what is wanted now. Returns the outcome for the metric of writes."""
        if score.wanted is None or self._is_written(score):
            return "deferred"
        if score.failures and self._queue.is_planned(score):
            # New values do not shorten the pause after a failure.
            return "deferred"
        if not score.known:
            self._plan(score, NOW)
            return "deferred"
        decision = decided(score.wanted, score.published, rule=score.rule, now=self.wall())
        self._plan(score, decision.at)
        return "deferred" if decision.changed else "unchanged"

    def explained(self, score: ClusterScore) -> None:
        """Plans the write of the reason why there are no scores, or have been none."""
        self._conditions.changed(score)

    async def wait_until_handled(self, scores: list[ClusterScore]) -> None:
        """Waits until these scores are written, or are not due yet, or their write failed."""
        while any(self._is_at_work(score) for score in scores):  # noqa: ASYNC110 - its end has no event
            await asyncio.sleep(POLL_SECONDS)

    def under_way(self) -> Collection[tuple[str, str]]:
        """The cluster and the name of each object that is being written now.

        The pruner must not delete them: the rest of the write would create the object again, or
        fail.
        """
        return {*self._writing, *self._conditions.under_way()}

    def _plan(self, score: ClusterScore, at: float) -> None:
        """Plans the next step of a score (Unix seconds of the hub)."""
        self._queue.plan(score, at=at, rank=score.publication.rank)

    def _is_at_work(self, score: ClusterScore) -> bool:
        """Whether a write is under way or due now. After a failure it is not."""
        if score.wanted is None:
            return False
        return self._is_written(score) or (self._queue.is_due(score) and not score.failures)

    def _hub_is_away(self) -> bool:
        """Whether the common pause lasts.

        It does not say whether the last write failed: perhaps no score is written any more, so that
        no success would ever end that state.
        """
        return self._resume > monotonic()

    def _is_written(self, score: ClusterScore) -> bool:
        return self._writing.get((score.cluster, score.publication.name)) is score

    async def _write_what_is_due(self) -> None:
        while True:
            score = await self._queue.take()
            pause = self._resume - monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            key = score.cluster, score.publication.name
            # After an edit, the write of the old worker's score may not have ended.
            if key in self._writing:
                self._plan(score, self.wall() + POLL_SECONDS)
                continue
            self._writing[key] = score
            try:
                await self._conditions.give_way(score)
                if await self._step(score):
                    self._failures = 0
            except AgentError as error:
                self._failed(score, error)
            except Exception as error:
                extra = {"scorer": score.publication.scorer.name, "reason": Reason.INTERNAL.value}
                log.exception("publishing failed because of a bug in the agent", extra=extra)
                self._failed(score, AgentError(str(error), reason=Reason.INTERNAL))
            finally:
                del self._writing[key]
            # Scores that a cycle offered during the write were only put off.
            if not self._queue.is_planned(score):
                self.offered(score)
            self._conditions.changed(score)

    async def _step(self, score: ClusterScore) -> bool:
        """Writes a score if its write is due. Returns whether the hub answered.

        A step that sends nothing does not show that a hub that was away is back.
        """
        if score.wanted_now() is None:
            return False
        answered = not score.known and await self._read(score.cluster)
        publication = score.publication
        wanted = score.wanted_now()
        if wanted is None:
            return answered
        now = self.wall()
        if decided(wanted, score.published, rule=score.rule, now=now).at > now:
            # A write that failed before has taken effect without an answer.
            self._recovered(score)
            return answered
        # The values are looked at again after the wait: a newer cycle may have replaced them, or
        # the scorer may be gone.
        await self._rate.wait_for_turn()
        wanted = score.wanted_now()
        if wanted is None:
            return answered
        with publication.metrics.stage("publish"):
            now = self.wall()
            # The hub's clock, by which OCM 1.2.1 decides what is expired.
            valid_until = now + score.rule.ttl
            condition = ScoredCondition(
                holds=True, reason=ScoredReason.SCORED, message="", since=now
            ).following(score.stored_condition)
            stored = await self.store_of(score.cluster).write(
                publication.name,
                scorer=publication.scorer.name,
                values=wanted,
                valid_until=valid_until,
                condition=condition,
                needed=lambda: score.wanted is not None,
            )
        if stored is None:
            # The object went, and its scorer has no scores now. It is read again before the next
            # write.
            score.known = False
            return True
        score.published = PublishedItems(values=wanted, written=now, valid_until=valid_until)
        score.stored = stored
        score.stored_at = now
        score.outdated = False
        score.condition_written = condition
        score.turn(cycle=score.cycle_fault, write=None)
        publication.count("written")
        # The hub scorer writes thousands of clusters.
        level = logging.INFO if len(self._by_cluster) == 1 else logging.DEBUG
        extra = {"scorer": publication.scorer.name, "object": publication.name}
        log.log(level, "published %d scores of %s", len(wanted), score.cluster, extra=extra)
        self._recovered(score)
        return True

    @staticmethod
    def _recovered(score: ClusterScore) -> None:
        if score.failures:
            score.failures = 0
            score.publication.recovered(score.cluster)

    def _failed(self, score: ClusterScore, error: AgentError) -> None:
        score.failures += 1
        # The object may differ from what was read or written before.
        score.known = False
        delay = max(BACKOFF.delay(score.failures), error.retry_after or 0.0)
        delay = min(delay, score.rule.ttl * RETRY_FRACTION)
        # If several writers fail together, only the first lengthens the common pause.
        if error.reason in _HUB_IS_AWAY and self._resume <= monotonic():
            self._failures += 1
            self._resume = monotonic() + BACKOFF.delay(self._failures)
        score.publication.failed(score.cluster, error)
        if error.reason in _NEVER_TAKEN:
            fault = ScoreFault.of(error.without_traceback(stage="publish"))
            score.turn(cycle=score.cycle_fault, write=fault)
        self._plan(score, self.wall() + delay)

    async def _read(self, cluster: str) -> bool:
        """Reads what the hub has of a cluster.

        So a restart does not make the fleet write again. Returns whether it asked: of several
        scorers of a cluster one does.
        """
        async with self._reading.setdefault(cluster, asyncio.Lock()):
            scores = self._by_cluster.get(cluster, {})
            if all(score.known for score in scores.values()):
                return False
            stored = {kept.name: kept for kept in await self.store_of(cluster).list_owned()}
            for name, score in scores.items():
                if not score.known:
                    score.published = published_by(stored.get(name), rule=score.rule)
                    score.known = True
                    score.stored = stored.get(name)
                    score.outdated = False
        # A fleet changes its clusters, and locks of those that left would stay for ever.
        self._reading.pop(cluster, None)
        return True

    async def _read_again(self, score: ClusterScore) -> None:
        """Learns what the hub has of a score, for its condition."""
        if not score.known:
            await self._read(score.cluster)
            return
        stored = await self.store_of(score.cluster).list_owned()
        by_name = {kept.name: kept for kept in stored}
        score.stored = by_name.get(score.publication.name)

    async def _audit(self) -> None:
        """Lists the objects of one cluster after another.

        What another program deleted is written again.
        """
        while True:
            clusters = list(self._by_cluster)
            if not clusters:
                await asyncio.sleep(AUDIT_LAG_SECONDS)
            for cluster in clusters:
                await asyncio.sleep(max(AUDIT_SECONDS / len(clusters), 1 / AUDITS_PER_SECOND))
                # A hub that is away would fail all lists, and each would take its whole time-out.
                if not self._hub_is_away():
                    await self._audit_cluster(cluster)

    async def _audit_cluster(self, cluster: str) -> None:
        began = self.wall()
        try:
            names = await self.store_of(cluster).names()
        except AgentError as error:
            log.debug("the scores of %s cannot be listed: %s", cluster, error)
            return
        for name, score in self._by_cluster.get(cluster, {}).items():
            if name in names or self._is_written(score):
                continue
            if score.stored is not None and score.stored_at + AUDIT_LAG_SECONDS < began:
                # Its condition must come again, too, where there are no scores that carry it.
                score.stored = None
                score.condition_written = None
                self._conditions.changed(score)
            if score.published is None or score.published.written + AUDIT_LAG_SECONDS >= began:
                continue
            extra = {"scorer": score.publication.scorer.name, "object": name}
            log.warning("%s of %s was deleted by another program", name, cluster, extra=extra)
            score.published = None
            self._plan(score, NOW)


def decided(
    wanted: Mapping[str, int],
    published: PublishedItems | None,
    *,
    rule: PublishSettings,
    now: float,
) -> WriteDecision:
    """The time of the write, by the rule.

    An expiry that is too late does not count: it would delay every write.
    """
    if published is not None and published.valid_until > now + rule.ttl + CLOCK_SLACK_SECONDS:
        published = None
    return decide(wanted, published, rule=rule)


def published_by(stored: StoredScores | None, *, rule: PublishSettings) -> PublishedItems | None:
    """The scores that this process published.

    None: write anyway, because it has no expiry, or is not only ours.
    """
    if stored is None or stored.shared or stored.valid_until is None or not stored.filled:
        return None
    return PublishedItems(
        values=stored.values, written=stored.valid_until - rule.ttl, valid_until=stored.valid_until
    )
