"""Writes to the hub why old copies are still there.

So `status` shows the reason of the reconciler and does not have to guess it.
"""

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.moves.waiting import MAX_WAITS, WaitingCopy, encode_waits, read_waits
from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.configmaps import OwnConfigMap
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict

LASTING_SECONDS: Final = 10.0
"""A reason is written after this time: most new copies are Healthy by then."""
WRITE_SECONDS: Final = 10.0
"""The time between two writes.

The ledger of paced moves is in the same object, and each write is a conflict for a controller that
has read the object before.
"""

LOG = logging.getLogger(__name__)

CopyKey = tuple[str, str]
"""ApplicationSet and Application."""


class _SeenWait(NamedTuple):
    since: float
    """The time since when this is the reason, by the clock of this process."""
    wait: WaitingCopy


class WaitRecorder:
    """Writes one key of the ConfigMap. What goes wrong there stops no move."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._stored = OwnConfigMap(
            api=context.api, namespace=context.view.hub_namespace, name=MOVES_CONFIGMAP
        )
        self._seen: dict[CopyKey, _SeenWait] = {}
        self._written: tuple[WaitingCopy, ...] | None = None
        """The waits that the ConfigMap has; None if they are unknown."""
        self._next = context.clock() + LASTING_SECONDS
        """The time at which the ConfigMap may be written again.

        A new leader waits at first, so that it does not remove a wait that it will find again in a
        moment.
        """

    def note(self, item: ApplicationSet, verdicts: Iterable[CopyVerdict]) -> None:
        """The verdicts on the copies of one ApplicationSet; none when no copy waits."""
        now = self._context.clock()
        waits: dict[CopyKey, _SeenWait] = {}
        for verdict in verdicts:
            if verdict.action is Action.DELETE:
                continue
            key = item.name, verdict.copy.name
            # Two clocks: that of this process for pauses, and the hub's for people.
            since = now
            hub_since = self._context.api.now()
            before = self._seen.get(key)
            if before is not None and before.wait.reason == verdict.reason:
                since = before.since
                hub_since = before.wait.since
            wait = WaitingCopy(
                application_set=item.name,
                cluster=verdict.copy.cluster,
                application=verdict.copy.name,
                reason=str(verdict.reason),
                message=verdict.message,
                since=round(hub_since),
                cause=self._cause(item),
            )
            waits[key] = _SeenWait(since, wait)
        for key in tuple(self._seen):
            if key[0] == item.name:
                del self._seen[key]
        self._seen |= waits

    def _cause(self, item: ApplicationSet) -> MoveCause | None:
        namespace = self._context.view.argocd_namespace
        for name in sorted(item.placements):
            cause = self._context.cause_of(f"{namespace}/{name}")
            if cause is not None:
                return cause
        return None

    def keep_only(self, names: Iterable[str]) -> None:
        """Forgets all other ApplicationSets."""
        kept = set(names)
        for key in tuple(self._seen):
            if key[0] not in kept:
                del self._seen[key]

    async def write(self) -> None:
        """Writes what changed, if it is time: the caller looks every few seconds."""
        now = self._context.clock()
        if now < self._next:
            return
        try:
            if self._written is None:
                self._written = read_waits(((await self._stored.read()) or {}).get("data"))
            goal = self._goal(self._written, now)
            if goal == self._written:
                return
            self._next = now + WRITE_SECONDS
            # Read right before the write, because the controller of paced moves writes this object,
            # too.
            await self._stored.write(await self._stored.read(), encode_waits(goal))
        except ApiError as error:
            # It is only shown, so no move waits for it.
            self._next = now + WRITE_SECONDS
            LOG.warning(
                "why copies wait is not written to ConfigMap %s now: %s", MOVES_CONFIGMAP, error
            )
            return
        self._written = goal

    def _goal(self, written: Iterable[WaitingCopy], now: float) -> tuple[WaitingCopy, ...]:
        """The waits that should be written.

        When the reason of a copy is new, the earlier one stays for a while, even if an earlier
        leader wrote it.
        """
        before = {(wait.application_set, wait.application): wait for wait in written}
        goal: list[WaitingCopy] = []
        for key, seen in sorted(self._seen.items(), key=lambda entry: entry[0]):
            written_before = before.get(key)
            if now >= seen.since + LASTING_SECONDS:
                goal.append(
                    seen.wait if written_before is None else _continued(seen.wait, written_before)
                )
            elif written_before is not None:
                goal.append(written_before)
        return tuple(goal[:MAX_WAITS])


def _continued(wait: WaitingCopy, before: WaitingCopy) -> WaitingCopy:
    """The wait, with what an earlier leader saw of it.

    That is when it began, and why the decision moved.
    """
    since = min(wait.since, before.since) if before.reason == wait.reason else wait.since
    return msgspec.structs.replace(wait, since=since, cause=wait.cause or before.cause)
