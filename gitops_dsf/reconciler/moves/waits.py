"""Tells on the hub why old copies are still there, so that `status` prints the reason of the reconciler."""

import logging
from collections.abc import Iterable
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.applications import ApplicationSet
from gitops_dsf.hub.causes import MoveCause
from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.hub.waits import MAX_WAITS, WaitingCopy, encode_waits, read_waits
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.api import OwnConfigMap
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict

LOG = logging.getLogger(__name__)
LASTING_SECONDS: Final = 10.0
"""A reason is told after this time: most new copies are Healthy by then."""
WRITE_SECONDS: Final = 10.0
"""Between two writes. The ledger of paced moves is in the same object, and each write there is a conflict for
whoever has read it before.
"""


class WaitRecorder:
    """Writes one key of the ConfigMap. What goes wrong there stops no move."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._stored = OwnConfigMap(
            api=context.api, namespace=context.view.hub_namespace, name=MOVES_CONFIGMAP
        )
        self._seen: dict[tuple[str, str], tuple[str, float, WaitingCopy]] = {}
        """By ApplicationSet and Application: the reason, since when by the clock of this process, and what is
        told.
        """
        self._told: tuple[WaitingCopy, ...] | None = None
        """What the ConfigMap has; None: not known."""
        self._next = context.clock() + LASTING_SECONDS
        """When the ConfigMap may be written again. A new leader takes its time, so that it does not take away
        what it will find out again in a moment.
        """

    def note(self, item: ApplicationSet, verdicts: Iterable[CopyVerdict]) -> None:
        """The verdicts on the copies of one ApplicationSet; none when no copy waits."""
        now, kept = self._context.clock(), dict[tuple[str, str], tuple[str, float, WaitingCopy]]()
        for verdict in verdicts:
            if verdict.action is Action.DELETE:
                continue
            key = item.name, verdict.copy.name
            reason, since, wait = self._seen.get(key, ("", now, None))
            if reason != verdict.reason or wait is None:
                since, at = now, self._context.api.now()
            else:
                at = wait.since
            kept[key] = (
                verdict.reason,
                since,
                WaitingCopy(
                    application_set=item.name,
                    cluster=verdict.copy.cluster,
                    application=verdict.copy.name,
                    reason=verdict.reason,
                    message=verdict.message,
                    since=round(at),
                    cause=self._cause(item),
                ),
            )
        self._seen = {key: known for key, known in self._seen.items() if key[0] != item.name} | kept

    def _cause(self, item: ApplicationSet) -> MoveCause | None:
        keys = [f"{self._context.view.argocd_namespace}/{name}" for name in sorted(item.placements)]
        return next(
            (cause for key in keys if (cause := self._context.cause_of(key)) is not None), None
        )

    def keep_only(self, names: Iterable[str]) -> None:
        """Forgets all other ApplicationSets."""
        known = set(names)
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] in known}

    async def write(self) -> None:
        """Writes what changed, if it is time: the caller looks every few seconds."""
        now = self._context.clock()
        if now < self._next:
            return
        try:
            if self._told is None:
                self._told = read_waits(((await self._stored.read()) or {}).get("data"))
            goal = self._goal(self._told, now)
            if goal == self._told:
                return
            self._next = now + WRITE_SECONDS
            await self._stored.write(await self._stored.read(), encode_waits(goal))
        except ApiError as error:
            self._next = now + WRITE_SECONDS
            LOG.warning(
                "why copies wait is not written to ConfigMap %s now: %s", MOVES_CONFIGMAP, error
            )
            return
        self._told = goal

    def _goal(self, told: Iterable[WaitingCopy], now: float) -> tuple[WaitingCopy, ...]:
        """What should be told. Of a copy with a new reason, what was told before stays for a while: also what
        an earlier leader told of it.
        """
        before = {(wait.application_set, wait.application): wait for wait in told}
        found: list[WaitingCopy] = []
        for key, (_, since, wait) in sorted(self._seen.items()):
            known = before.get(key)
            if now >= since + LASTING_SECONDS:
                found.append(wait if known is None else _continued(wait, known))
            elif known is not None:
                found.append(known)
        return tuple(found[:MAX_WAITS])


def _continued(wait: WaitingCopy, before: WaitingCopy) -> WaitingCopy:
    """With what an earlier leader saw of the same wait: when it began, and why the decision moved."""
    since = min(wait.since, before.since) if before.reason == wait.reason else wait.since
    return msgspec.structs.replace(wait, since=since, cause=wait.cause or before.cause)
