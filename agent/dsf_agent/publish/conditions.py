"""Writes the condition `Scored`, the reason why a scorer has no scores, if no other write has it.

Each write of scores has the condition True, at no cost. This module writes the rest: False when a
scorer loses its scores, and True when it has them again and they are not due.

**Cheap for the hub.** A condition is written when its status or reason changes, never for another
message. A scorer that worked and begins to fail waits for a while that differs by cluster and
score, over twelve minutes or the time between two refreshes of the score, whichever is longer. So
when a central source dies on a whole fleet at once, there are fewer writes in a second than the
refreshes that stop at the same time.

**Quick for authors.** Right after an edit of a scorer, and where it never had a score, the
condition comes within seconds. It stands in for the score that would have been written just then,
so the hub has no more to do than if the scorer worked.

**Never in the way of scores.** Conditions have a queue, a rate and pauses of their own. A write of
scores cancels that of a condition of the same object, and carries the condition itself. A cancelled
request that still arrives is refused, because it names the version of the object that it changes.

Not guaranteed: that a short failure is seen on the hub, or that a message is the newest one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from dsf_agent.errors import AgentError
from dsf_agent.publish.duequeue import NOW, DueQueue
from dsf_agent.publish.publication import ClusterScore
from dsf_agent.publish.store import ScoreStore
from dsf_agent.publish.writerate import WriteRate
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic
from dsf_wire.publishrule import stable_fraction

SPREAD_SECONDS: Final = 720.0
"""The conditions of a fleet are spread over this time or longer. It must be at least ten minutes.
"""
PROMPT_SECONDS: Final = 5.0
"""The same right after an edit, and where there never was a score."""
PROMPT_FOR_SECONDS: Final = 120.0
"""The time for which a worker counts as just edited. Its first failures and retries fit in."""
BRIEF_SECONDS: Final = 20.0
"""A scorer that worked must fail for this time. The first retries come after 5 and 10 seconds."""
MIN_INTERVAL_SECONDS: Final = 600.0
"""The time between two conditions of an object that changes its reason all the time."""
WRITES_PER_SECOND: Final = 10
"""The limit of one process.

The hub scorer may have thousands of clusters; scores have a rate of their own.
"""
BUSY_SECONDS: Final = 1.0
"""The time until the next look at an object whose scores are being written."""
BACKOFF: Final = Backoff(first=30.0, ceiling=1800.0, jitter=0.3)
"""Pauses after failures. A condition is never urgent."""

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False, repr=False)
class ConditionWriter:
    """Owns the queue of due conditions. ``run`` is a task of the publisher."""

    store_of: Callable[[str], ScoreStore]
    wall: Callable[[], float]
    """The time of the stores."""
    read: Callable[[ClusterScore], Awaitable[object]]
    """Learns what the hub has of a score. Raises AgentError."""
    is_busy: Callable[[ClusterScore], bool]
    """Whether the scores of the object are being written. That write carries the condition."""
    hub_is_away: Callable[[], bool]
    writes_per_second: float = WRITES_PER_SECOND
    _queue: DueQueue[ClusterScore] = field(init=False)
    _under_way: dict[tuple[str, str], "asyncio.Task[None]"] = field(
        init=False, default_factory=dict
    )
    _rate: WriteRate = field(init=False)

    def __post_init__(self) -> None:
        self._queue = DueQueue(wall=self.wall)
        self._rate = WriteRate(per_second=self.writes_per_second)

    def changed(self, score: ClusterScore) -> None:
        """Plans the condition of a score whose scores came or went, or were written or read."""
        if score.removed:
            return
        if not score.known:
            # The state of the hub decides whether a condition must be written, and how soon. If
            # there are scores to write, the publisher reads it for them.
            if score.fault is not None and not self._queue.is_planned(score):
                self._plan(score, NOW)
            return
        if self._is_on_hub(score):
            self._queue.drop(score)
        elif not self._queue.is_planned(score):
            self._plan(score, self._due(score))

    def under_way(self) -> Collection[tuple[str, str]]:
        """The cluster and the name of each object that is being written."""
        return self._under_way.keys()

    def forget(self, score: ClusterScore) -> None:
        """Drops the condition of a score that is no longer published."""
        self._queue.drop(score)
        task = self._under_way.get((score.cluster, score.publication.name))
        if task is not None:
            task.cancel()

    async def give_way(self, score: ClusterScore) -> None:
        """Ends a write of the same object, before its scores are written."""
        task = self._under_way.get((score.cluster, score.publication.name))
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def run(self) -> None:
        """Writes until it is cancelled."""
        while True:
            score = await self._queue.take()
            key = score.cluster, score.publication.name
            task = asyncio.create_task(self._attempt(score), name=f"condition {key}")
            self._under_way[key] = task
            try:
                # Not awaited itself: it may be cancelled for a write of scores.
                await asyncio.wait([task])
            finally:
                task.cancel()
                del self._under_way[key]
            self.changed(score)

    async def _attempt(self, score: ClusterScore) -> None:
        """Writes a condition if it is still due. A failure is tried again later."""
        try:
            if self.hub_is_away():
                self._plan(score, self.wall() + BACKOFF.delay(1))
                return
            if not score.known or score.outdated:
                await self.read(score)
                score.outdated = False
                if not self._is_on_hub(score) and self._due(score) > self.wall():
                    return
            if score.removed or self._is_on_hub(score):
                return
            if self.is_busy(score):
                self._plan(score, self.wall() + BUSY_SECONDS)
                return
            await self._write(score)
            score.condition_failures = 0
        except asyncio.CancelledError:
            # It is unknown whether the request took effect.
            score.outdated = True
            raise
        except Exception as error:
            score.outdated = True
            score.condition_failures += 1
            delay = BACKOFF.delay(score.condition_failures)
            extra = {"scorer": score.publication.scorer.name, "object": score.publication.name}
            if isinstance(error, AgentError):
                text = "the hub did not take the condition of %s, next attempt in %.0f s: %s"
                log.info(text, score.cluster, delay, error, extra=extra)
            else:
                log.exception("writing a condition failed because of a bug", extra=extra)
            self._plan(score, self.wall() + delay)

    async def _write(self, score: ClusterScore) -> None:
        await self._rate.wait_for_turn()
        condition = score.condition(now=self.wall())
        # The wait may have brought scores, or the end of the scorer.
        if score.removed or condition is None or self._is_on_hub(score):
            return
        publication = score.publication
        stored = await self.store_of(score.cluster).explain(
            publication.name,
            scorer=publication.scorer.name,
            stored=score.stored,
            condition=condition,
            needed=lambda: not score.removed,
        )
        score.stored = stored
        score.stored_at = self.wall()
        score.condition_written = condition
        score.condition_at = self.wall()
        publication.count("condition")

    def _is_on_hub(self, score: ClusterScore) -> bool:
        """Whether the hub has the condition, or refused it and got it without effect."""
        condition = score.condition(now=self.wall())
        if condition is None:
            return True
        stored = score.stored_condition
        if condition.holds and stored is None:
            # The next write of scores has the condition. An agent of an older version wrote the
            # object, and after an upgrade of a fleet a million more writes would be useless.
            return True
        return condition.same_as(stored) or condition.same_as(score.condition_written)

    def _due(self, score: ClusterScore) -> float:
        """The time when the condition is due, in Unix seconds of the hub."""
        publication = score.publication
        now = self.wall()
        # Kept as monotonic time, because the hub's clock may not have been known yet.
        changed = now - (monotonic() - score.changed)
        fraction = stable_fraction(score.cluster, publication.scorer.score_name, "condition")
        is_new = score.stored is None
        is_edited = publication.edited and monotonic() - publication.began < PROMPT_FOR_SECONDS
        if is_new or is_edited:
            return changed + fraction * PROMPT_SECONDS
        spread = max(SPREAD_SECONDS, score.rule.refresh)
        due = changed + BRIEF_SECONDS + fraction * spread
        return max(due, score.condition_at + MIN_INTERVAL_SECONDS)

    def _plan(self, score: ClusterScore, at: float) -> None:
        self._queue.plan(score, at=at, rank=score.publication.rank)
