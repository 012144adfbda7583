"""Writes the newest scores of one scorer when the rule says that a write is due.

It runs beside the worker, so a slow or unreachable hub never delays the next cycle. Only the newest scores
are kept.
"""

import asyncio
import logging
import random
from collections.abc import Mapping
from typing import Final

from dsf_agent.errors import Failure, PublishError, Reason
from dsf_agent.metrics.registry import ScorerMetrics
from dsf_agent.publish.store import ScoreStore, Stored
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within
from dsf_wire import scorename
from dsf_wire.publishrule import Decision, Published, Rule, decide
from dsf_wire.summary import Summary

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first=2.0, ceiling=120.0, jitter=0.3)
"""Delays between failed attempts. The jitter is wide because a whole fleet retries when a hub returns."""
RETRY_FRACTION: Final = 0.25
"""A failed write is tried again after this part of the TTL at the latest, even if the hub asks for a longer
pause. Unchanged scores are written again at half of the TTL and must not expire before the retry.
"""
CLOCK_SLACK_SECONDS: Final = 60.0
"""Tolerance for a validUntil that is later than this rule would set it. A later one was written by another
program, or the clock was set back since.
"""


class Publication:
    """Writes one object in the store. ``offer`` and ``withdraw`` return at once."""

    def __init__(
        self, *, scorer: Summary, store: ScoreStore, rule: Rule, metrics: ScorerMetrics, rng: random.Random
    ) -> None:
        self._scorer = scorer.name
        self._name = scorename.sanitise(scorer.score_name)
        self._store = store
        self._rule = rule
        self._metrics = metrics
        self._rng = rng
        self._wanted: Mapping[str, int] | None = None
        self._published: Published | None = None
        self._seeded = False
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failures = 0
        self.fault: Failure | None = None
        """Why the last attempt failed; None if it succeeded."""

    def offer(self, values: Mapping[str, int]) -> None:
        """Takes the scores of a successful cycle."""
        self._wanted = values
        if not self._failures:
            self._idle.clear()
        self._news.set()

    def withdraw(self) -> None:
        """Call this when a cycle failed. Old scores are not written again; the published ones expire at their
        validUntil.
        """
        self._wanted = None
        self._idle.set()

    async def wait_until_handled(self) -> None:
        """Waits until the offered scores are written, or are not due yet, or their write failed."""
        await self._idle.wait()

    async def run(self) -> None:
        """Waits for scores and writes them when they are due, until it is cancelled."""
        while True:
            self._news.clear()
            delay = await self._step()
            if self._wanted is None or delay is None:
                await self._news.wait()
                continue
            # After a failure, new scores do not shorten the back-off.
            await happens_within(self._news if self._failures == 0 else asyncio.Event(), seconds=delay)

    async def _step(self) -> float | None:
        """Writes if a write is due. Returns the seconds until the next step, or None if there is nothing to
        do.
        """
        wanted = self._wanted
        if wanted is None:
            return None
        try:
            await self._read_published()
            # The scores may have been replaced or withdrawn during the request.
            wanted = self._wanted
            if wanted is None:
                return None
            now = self._store.wall()
            decision = decided(wanted, self._published, rule=self._rule, now=now)
            wait = decision.at - now
            if wait <= 0:
                await self._write(wanted)
                wait = self._rule.refresh
            else:
                self._metrics.published("deferred" if decision.changed else "unchanged")
        except PublishError as error:
            return self._failed(error)
        except Exception as error:
            log.exception(
                "publishing failed because of a bug in the agent",
                extra={"scorer": self._scorer, "reason": Reason.INTERNAL.value},
            )
            return self._failed(PublishError(str(error), reason=Reason.INTERNAL))
        else:
            if self._failures:
                log.info("publishing works again", extra={"scorer": self._scorer})
            self._failures, self.fault = 0, None
            return wait
        finally:
            if self._wanted is wanted:
                self._idle.set()

    async def _read_published(self) -> None:
        """Reads the published scores, so that a restart does not make the whole fleet write again.

        The answer also tells the hub's time.
        """
        if self._seeded:
            if self._published is None or not await self._store.deleted_by_others(
                self._name, written=self._published.written
            ):
                return
            log.warning(
                "%s was deleted by another program, reading it again",
                self._name,
                extra={"scorer": self._scorer, "object": self._name},
            )
        stored = await self._store.read(self._name)
        self._published = published_by(stored, rule=self._rule, hub_scorer=False)
        self._seeded = True

    async def _write(self, wanted: Mapping[str, int]) -> None:
        with self._metrics.stage("publish"):
            now = self._store.wall()
            valid_until = now + self._rule.ttl
            await self._store.write(
                self._name,
                scorer=self._scorer,
                values=wanted,
                valid_until=valid_until,
            )
        self._published = Published(values=wanted, written=now, valid_until=valid_until)
        self._metrics.published("written")
        log.info("published %d scores", len(wanted), extra={"scorer": self._scorer, "object": self._name})

    def _failed(self, error: PublishError) -> float:
        self._failures, self.fault = self._failures + 1, Failure.of(error)
        # The object may differ from what was read or written before.
        self._seeded = False
        self._metrics.published("failed")
        self._metrics.failed("publish", error.reason)
        delay = retry_delay(self._failures, error, rule=self._rule, rng=self._rng)
        log.warning(
            "not published, next attempt in %.0f s: %s",
            delay,
            error,
            extra={"scorer": self._scorer, "reason": error.reason.value},
        )
        return delay


def decided(wanted: Mapping[str, int], published: Published | None, *, rule: Rule, now: float) -> Decision:
    """When to write, by the rule. If the hub's clock was set back, or another program set validUntil, the
    known expiry may be later than this rule sets it. It would delay every write until then, so it does not
    count.
    """
    if published is not None and published.valid_until > now + rule.ttl + CLOCK_SLACK_SECONDS:
        published = None
    return decide(wanted, published, rule=rule)


def retry_delay(failures: int, error: PublishError, *, rule: Rule, rng: random.Random) -> float:
    """Seconds to wait after this number of failed writes in a row."""
    delay = max(BACKOFF.delay(failures, rng=rng), error.retry_after or 0.0)
    return min(delay, rule.ttl * RETRY_FRACTION)


def published_by(stored: Stored | None, *, rule: Rule, hub_scorer: bool) -> Published | None:
    """The scores that this agent, or the hub scorer, published. None if the object must be written anyway: it
    has no expiry, or it is not only ours.
    """
    if stored is None or not stored.owned_by(hub_scorer=hub_scorer) or stored.shared:
        return None
    if stored.valid_until is None:
        return None
    return Published(
        values=stored.values, written=stored.valid_until - rule.ttl, valid_until=stored.valid_until
    )
