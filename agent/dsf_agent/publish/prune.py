"""Deletes our AddOnPlacementScores whose scorer was removed, and no other object.

Only a complete and valid file leads to a deletion, and only if it is unchanged for a while. A
missing, empty, broken or partly invalid file deletes nothing; scores then expire at their
validUntil.

The file ``[]`` is complete and valid: a cluster gets it when its last scorer is removed or
suspended in git. A mistake can look the same, so there are two more guards. The file must be
unchanged for longer. And it deletes at once only objects that an earlier file of this process
named; others are deleted after they expire, when no Placement counts them any more.

A score that is being written is left alone until the write has ended. Even so a request may take
effect after its sender gave up: the API server does not stop working when a connection closes. So
each file is compared with the hub a second time, and again after each deletion.

Not guaranteed: an object that a lost request creates after the last comparison stays until it
expires, and until the next file.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from dsf_agent.configuration.snapshot import ConfigurationSnapshot, key_of
from dsf_agent.errors import AgentError
from dsf_agent.metrics import AgentMetrics
from dsf_agent.publish.store import ScoreStore, StoredScores
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within
from dsf_wire.scored import Reason

BACKOFF: Final = Backoff(first=5.0, ceiling=300.0, jitter=0.3)
EMPTY_FACTOR: Final = 6
"""The file ``[]`` must be unchanged this many times longer than other files: a minute by default.
"""
EXPIRED_SLACK_SECONDS: Final = 1.0
"""validUntil and the Date header of an API server are in whole seconds."""
RECHECK_SECONDS: Final = 300.0
"""Pause before the hub is compared again.

It is for objects that have not expired, whose deletion the hub refused, or that a request that was
lost may have brought back.
"""
WRITING_SECONDS: Final = 5.0
"""Pause before the next look while a score that must go is still being written."""
_NOT_ALLOWED: Final = frozenset({Reason.FORBIDDEN, Reason.NOT_FOUND})
"""Answers for one namespace alone: its rights are not applied yet, or the cluster is gone."""

log = logging.getLogger(__name__)


class Left(IntEnum):
    """The work that one comparison with the hub left to do. The larger of two counts for both."""

    NOTHING = 0
    LATER = 1
    """Something was deleted, or may be deleted later."""
    WRITING = 2
    """A score that must go is still being written."""


@dataclass(kw_only=True, eq=False)
class Pruner:
    """Deletes objects by the last file.

    ``wall`` is the hub's time, ``own`` the one cluster of an agent.
    """

    store_of: Callable[[str], ScoreStore]
    under_way: Callable[[], Collection[tuple[str, str]]]
    """The cluster and the name of each object that this process is writing now."""
    wall: Callable[[], float]
    own: str
    metrics: AgentMetrics
    delay_seconds: float
    _current: ConfigurationSnapshot | None = field(init=False, default=None)
    """The file as it is now; None if it cannot be used."""
    _named: set[str] = field(init=False, default_factory=set)
    """Objects that an earlier file of this process named and that may still exist."""
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def set(self, current: ConfigurationSnapshot | None) -> None:
        """Takes a new state of the file; None if it cannot be used."""
        self._current = current
        if current is not None:
            # The object of a removed scorer may still be there, or a write that is under way
            # may create it.
            self._named |= current.object_names
            if current.empty and self._named:
                log.warning(
                    "the configuration has no scorers any more: if it stays so for %.0f s,"
                    " their scores are deleted",
                    self._quiet_seconds,
                )
        self._changed.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        failures = 0
        compare_again = True  # whether this file must be compared with the hub once more
        delay: float | None = None
        """None: wait for a new file, and then until it is unchanged for long enough."""
        while True:
            if delay is None:
                await self._changed.wait()
            self._changed.clear()
            seconds = self._quiet_seconds if delay is None else delay
            if await happens_within(self._changed, seconds=seconds):
                failures = 0
                delay = None
                compare_again = True
                continue
            try:
                remaining = await self._prune()
                failures = 0
            except AgentError as error:
                failures += 1
                text = "could not delete the scores of removed scorers: %s"
                log.warning(text, error, extra={"reason": error.reason.value})
            except Exception:
                failures += 1
                text = "deleting the scores of removed scorers failed because of a bug in the agent"
                log.exception(text, extra={"reason": Reason.INTERNAL.value})
            if failures:
                delay = BACKOFF.delay(failures)
            elif remaining is Left.NOTHING and not compare_again:
                delay = None
                self._forget()
            elif remaining is Left.WRITING:
                delay = WRITING_SECONDS
            else:
                delay = RECHECK_SECONDS
                compare_again = False

    def _forget(self) -> None:
        """Forgets the names of objects that are gone for sure.

        The last comparison found nothing to delete.
        """
        current = self._current
        if current is not None and current.complete and not self._changed.is_set():
            self._named &= current.object_names

    @property
    def _quiet_seconds(self) -> float:
        """The time for which the current file must be unchanged."""
        empty = self._current is not None and self._current.empty
        return self.delay_seconds * EMPTY_FACTOR if empty else self.delay_seconds

    async def _prune(self) -> Left:
        """Deletes what may be deleted now. Returns what is remaining to do."""
        current = self._current
        if current is None or not current.complete:
            return Left.NOTHING
        remaining = Left.NOTHING
        if current.clusters is None:
            remaining = await self._prune_cluster(self.own, current)
        else:
            for cluster in current.clusters:
                remaining = max(remaining, await self._prune_cluster(cluster.name, current))
        if self._current is not current:
            return Left.NOTHING
        # An object that is being created is not listed yet.
        for cluster_name, name in self.under_way():
            if _key(cluster_name, name, current) not in current.object_names:
                return Left.WRITING
        return remaining

    async def _prune_cluster(self, cluster: str, current: ConfigurationSnapshot) -> Left:
        try:
            listed = await self.store_of(cluster).list_owned(values=False)
        except AgentError as error:
            # An agent has one namespace, so there it is a failure.
            if current.clusters is None or error.reason not in _NOT_ALLOWED:
                raise
            log.debug("the scores of %s cannot be listed: %s", cluster, error)
            return Left.NOTHING
        remaining = Left.NOTHING
        for stored in listed:
            key = _key(cluster, stored.name, current)
            if key in current.object_names:
                continue
            # A new file may have come meanwhile. It starts its own comparison.
            if self._current is not current:
                return Left.NOTHING
            remaining = max(
                remaining, await self._delete(cluster, stored, key=key, current=current)
            )
        return remaining

    async def _delete(
        self, cluster: str, stored: StoredScores, *, key: str, current: ConfigurationSnapshot
    ) -> Left:
        """Deletes an object that the file does not name, if it may go now."""
        # `[]` can be a mistake, such as a repository that was rendered without its scorers. What no
        # file of this process named may be of a scorer that is still wanted, so it expires first.
        if current.empty and key not in self._named:
            expiry = math.inf if stored.valid_until is None else stored.valid_until
            if stored.condition is not None and not stored.filled:
                # It only says why there are no scores, and no Placement counts it.
                expiry = -math.inf
            if expiry + EXPIRED_SLACK_SECONDS > self.wall():
                return Left.LATER if expiry < math.inf else Left.NOTHING
        if (cluster, stored.name) in self.under_way():
            return Left.WRITING
        try:
            await self.store_of(cluster).delete(stored)
        except AgentError as error:
            if error.reason is not Reason.FORBIDDEN:
                raise
            # The scorer moved between spokes and hub, and its new writer has not taken over yet.
            text = "the hub refuses the deletion of %s, next attempt in %.0f s: %s"
            extra = {"object": key, "reason": error.reason.value}
            log.info(text, key, RECHECK_SECONDS, error, extra=extra)
            return Left.LATER
        self._named.discard(key)
        self.metrics.deletions.inc()
        text = "deleted AddOnPlacementScore %s: its scorer is not in the configuration"
        log.info(text, key, extra={"object": key})
        return Left.LATER


def _key(cluster: str, name: str, current: ConfigurationSnapshot) -> str:
    """The name of an object as the file has it: on the hub with its cluster."""
    return name if current.clusters is None else key_of(cluster, name)
