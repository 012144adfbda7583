"""Deletes our AddOnPlacementScores whose scorer was removed, and no other object: only for a complete and
valid file that is unchanged for a while. The file ``[]`` is complete: a cluster gets it when its last scorer
is removed or suspended in git. A mistake can look the same, so it must be unchanged for longer, and deletes
at once only objects that an earlier file of this process named; others go after they expire, when no
Placement counts them.

A score that is being written is left alone until the write has ended. Even so a request may take effect
after its sender gave up: the API server does not stop working when a connection closes. So each file is
compared with the hub a second time, and again after each deletion.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from dsf_agent.configuration.snapshot import Snapshot, key_of
from dsf_agent.errors import AgentError, Reason
from dsf_agent.metrics import Metrics
from dsf_agent.publish.store import ScoreStore
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first=5.0, ceiling=300.0, jitter=0.3)
EMPTY_FACTOR: Final = 6
"""The file ``[]`` must be unchanged this many times longer than other files: a minute by default."""
EXPIRED_SLACK_SECONDS: Final = 1.0
"""validUntil and the Date header of an API server are in whole seconds."""
RECHECK_SECONDS: Final = 300.0
"""Pause before the next look at objects that have not expired, whose deletion the hub refused, or that a
request that was lost may have brought back.
"""
WRITING_SECONDS: Final = 5.0
"""Pause before the next look while a score that must go is still being written."""
_NOT_ALLOWED: Final = frozenset({Reason.FORBIDDEN, Reason.NOT_FOUND})
"""Answers for one namespace alone: its rights are not applied yet, or the cluster is gone."""


class Left(Enum):
    """What one look at the hub left to do."""

    NOTHING = auto()
    WRITING = auto()
    """A score that must go is still being written."""
    MORE = auto()
    """Something was deleted, or may be deleted later."""


@dataclass(kw_only=True, eq=False)
class Pruner:
    """Deletes objects by the last file. ``wall`` is the hub's time, ``own`` the one cluster of an agent."""

    store_of: Callable[[str], ScoreStore]
    under_way: Callable[[], Collection[tuple[str, str]]]
    """The cluster and the name of each object that this process is writing now."""
    wall: Callable[[], float]
    own: str
    metrics: Metrics
    delay_seconds: float
    _current: Snapshot | None = field(init=False, default=None)
    _named: set[str] = field(init=False, default_factory=set)
    """Objects that an earlier file of this process named and that may still exist."""
    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def set(self, current: Snapshot | None) -> None:
        """Takes a new state of the file; None if it cannot be used."""
        self._current = current
        if current is not None:
            self._named |= current.object_names
            if current.empty and self._named:
                log.warning(
                    "the configuration has no scorers any more: if it stays so for %.0f s, their scores are"
                    " deleted",
                    self._quiet_seconds,
                )
        self._news.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        failures = 0
        again = True  # whether this file must be compared with the hub once more
        delay: float | None = None
        while True:
            if delay is None:
                await self._news.wait()
            self._news.clear()
            if await happens_within(
                self._news, seconds=self._quiet_seconds if delay is None else delay
            ):
                failures, delay, again = 0, None, True
                continue
            try:
                left = await self._prune()
                if left is Left.NOTHING and not again:
                    delay = None
                    self._forget()
                elif left is Left.WRITING:
                    delay = WRITING_SECONDS
                else:
                    delay, again = RECHECK_SECONDS, False
                failures = 0
            except AgentError as error:
                failures += 1
                log.warning(
                    "could not delete the scores of removed scorers: %s",
                    error,
                    extra={"reason": error.reason.value},
                )
            except Exception:
                failures += 1
                log.exception(
                    "deleting the scores of removed scorers failed because of a bug in the agent",
                    extra={"reason": Reason.INTERNAL.value},
                )
            if failures:
                delay = BACKOFF.delay(failures)

    def _forget(self) -> None:
        """Forgets the names of objects that are gone for sure: the last look found nothing to delete."""
        current = self._current
        if current is not None and current.complete and not self._news.is_set():
            self._named &= current.object_names

    @property
    def _quiet_seconds(self) -> float:
        """How long the current file must be unchanged."""
        empty = self._current is not None and self._current.empty
        return self.delay_seconds * EMPTY_FACTOR if empty else self.delay_seconds

    async def _prune(self) -> Left:
        """Deletes what may be deleted now. Returns what is left to do."""
        current, more, writing = self._current, False, False
        if current is None or not current.complete:
            return Left.NOTHING
        for cluster in (None,) if current.clusters is None else current.clusters:
            home = cluster.name if cluster is not None else self.own
            store = self.store_of(home)
            try:
                listed = await store.list_owned(values=False)
            except AgentError as error:
                if cluster is None or error.reason not in _NOT_ALLOWED:
                    raise
                log.debug("the scores of %s cannot be listed: %s", cluster.name, error)
                continue
            for stored in listed:
                name = stored.name if cluster is None else key_of(cluster.name, stored.name)
                if name in current.object_names:
                    continue
                if current.empty and name not in self._named:
                    expiry = math.inf if stored.valid_until is None else stored.valid_until
                    if expiry + EXPIRED_SLACK_SECONDS > self.wall():
                        more = more or expiry < math.inf
                        continue
                if self._current is not current:
                    return Left.NOTHING
                if (home, stored.name) in self.under_way():
                    writing = True
                    continue
                try:
                    await store.delete(stored)
                except AgentError as error:
                    if error.reason is not Reason.FORBIDDEN:
                        raise
                    # The scorer moved between spokes and hub, and its new writer has not taken over yet.
                    log.info(
                        "the hub refuses the deletion of %s, next attempt in %.0f s: %s",
                        *(name, RECHECK_SECONDS, error),
                        extra={"object": name, "reason": error.reason.value},
                    )
                    more = True
                    continue
                more = True
                self._named.discard(name)
                self.metrics.deletions.inc()
                log.info(
                    "deleted AddOnPlacementScore %s: its scorer is not in the configuration",
                    name,
                    extra={"object": name},
                )
        # One that is being created is not listed yet.
        writing = writing or any(
            (name if current.clusters is None else key_of(cluster, name))
            not in current.object_names
            for cluster, name in self.under_way()
        )
        return Left.WRITING if writing else Left.MORE if more else Left.NOTHING
