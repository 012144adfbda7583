"""publish: the newest scores of one scorer, written when the rule says so, whatever the hub does in between.

Runs beside the worker, so that a hub that is slow or away never delays the next cycle. Only the newest value
is kept.
"""

import asyncio
import logging
import random
from collections.abc import Mapping
from typing import Final

from dsf_agent.errors import PublishError
from dsf_agent.metrics import ScorerMetrics
from dsf_agent.publish_rule import Published, Rule, decide
from dsf_agent.reasons import Reason
from dsf_agent.store import ScoreStore, Stored
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within
from dsf_wire import scorename
from dsf_wire.summary import Summary

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first=2.0, ceiling=120.0, jitter=0.3)
"""Between attempts to reach the store; a whole fleet meets a returning hub, hence the wide jitter."""
RETRY_FRACTION: Final = 0.25
"""Part of the TTL after which a failed write is tried again at the latest, whatever the hub asks for:
unchanged scores are written again at half of the TTL, and must not expire meanwhile.
"""
CLOCK_SLACK_SECONDS: Final = 60.0
"""By how much an expiry may seem too late before it counts as somebody else's, or as one of a clock that was
set back since.
"""


class Publication:
    """Owns one object in the store. ``offer`` and ``withdraw`` never wait."""

    def __init__(
        self, *, scorer: Summary, store: ScoreStore, rule: Rule, metrics: ScorerMetrics, chance: random.Random
    ) -> None:
        self._scorer = scorer.name
        self._name = scorename.sanitise(scorer.score_name)
        self._store = store
        self._rule = rule
        self._metrics = metrics
        self._chance = chance
        self._wanted: Mapping[str, int] | None = None
        self._published: Published | None = None
        self._seeded = False
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failures = 0
        self.fault: PublishError | None = None
        """Why the last attempt failed; None after one that did not."""

    def offer(self, values: Mapping[str, int]) -> None:
        """The scores of a cycle that succeeded."""
        self._wanted = values
        if not self._failures:
            self._idle.clear()
        self._news.set()

    def withdraw(self) -> None:
        """A cycle failed: nothing old is written or refreshed; what is published expires at its
        validUntil.
        """
        self._wanted = None
        self._idle.set()

    async def settled(self) -> None:
        """Returns once what was offered is written, or not due yet, or its write failed."""
        await self._idle.wait()

    async def run(self) -> None:
        """For ever: waits for scores and for the time to write them."""
        while True:
            self._news.clear()
            delay = await self._step()
            if self._wanted is None or delay is None:
                await self._news.wait()
                continue
            # After a failure the back-off is served to its end, and the newest value goes then.
            await happens_within(self._news if self._failures == 0 else asyncio.Event(), seconds=delay)

    async def _step(self) -> float | None:
        """Writes if due. Seconds until the next look, or None when there is nothing to do."""
        wanted = self._wanted
        if wanted is None:
            return None
        try:
            await self._look()
            # The hub may have taken its time: newer scores came meanwhile, or these were withdrawn.
            wanted = self._wanted
            if wanted is None:
                return None
            now = self._store.wall()
            if self._published is not None and _too_late(
                self._published.valid_until, rule=self._rule, now=now
            ):
                # The readers' clock was set back: what stands there lives too long, and would put off every
                # change until it caught up.
                self._published = None
            decision = decide(wanted, self._published, rule=self._rule)
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
                "publishing failed inside the agent",
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

    async def _look(self) -> None:
        """What is published already: after a restart the fleet must not write everything again. Also tells
        the hub's time.
        """
        if self._seeded:
            if self._published is None or not await self._store.gone(
                self._name, written=self._published.written
            ):
                return
            log.warning(
                "%s was deleted by somebody else, looking again",
                self._name,
                extra={"scorer": self._scorer, "object": self._name},
            )
            self._seeded = False
        stored = await self._store.read(self._name)
        self._published = _published(stored, rule=self._rule, now=self._store.wall())
        self._seeded = True

    async def _write(self, wanted: Mapping[str, int]) -> None:
        with self._metrics.stage("publish"):
            now = self._store.wall()
            valid_until = now + self._rule.ttl
            await self._store.write(self._name, scorer=self._scorer, values=wanted, valid_until=valid_until)
        self._published = Published(values=wanted, written=now, valid_until=valid_until)
        self._metrics.published("written")
        log.info("published %d scores", len(wanted), extra={"scorer": self._scorer, "object": self._name})

    def _failed(self, error: PublishError) -> float:
        self._failures, self.fault = self._failures + 1, error
        # Whatever was read or written before may not be what stands there now.
        self._seeded = False
        self._metrics.published("failed")
        self._metrics.failed("publish", error.reason)
        delay = max(BACKOFF.delay(self._failures, chance=self._chance), error.retry_after or 0.0)
        delay = min(delay, self._rule.ttl * RETRY_FRACTION)
        log.warning(
            "not published, next attempt in %.0f s: %s",
            delay,
            error,
            extra={"scorer": self._scorer, "reason": error.reason.value},
        )
        return delay


def _too_late(valid_until: float, *, rule: Rule, now: float) -> bool:
    """Whether this rule could not have given this expiry by now."""
    return valid_until > now + rule.ttl + CLOCK_SLACK_SECONDS


def _published(stored: Stored | None, *, rule: Rule, now: float) -> Published | None:
    """What counts as published: an object that we alone write, and whose expiry is one that this rule could
    have given it.
    """
    if stored is None or not stored.ours or stored.shared or stored.valid_until is None:
        return None
    if _too_late(stored.valid_until, rule=rule, now=now):
        return None
    return Published(
        values=stored.values, written=stored.valid_until - rule.ttl, valid_until=stored.valid_until
    )
