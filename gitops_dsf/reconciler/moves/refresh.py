"""Duty: Argo CD looks at a decision when it changed, not at its next poll.

Also for an ApplicationSet that is newer than its decision's first page: it saw no decision, failed, and would
wait three minutes.

Argo CD looks after every change of annotations, whatever the value, and takes this one away only after a look
that succeeded (`shouldRequeueForApplicationSet` and `RefreshRequired` in its source). The same value once
more is no change: so each value is new.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Final

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import SETS_PATH
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.moves.settling import Due, Settling
from gitops_dsf.reconciler.moves.watch import DecisionWatch

LOG = logging.getLogger(__name__)
PER_SECOND: Final = 10.0
"""Refreshes of all ApplicationSets together; after a restart every one is refreshed once."""
RETRY_SECONDS: Final = 2.0


class RefreshDuty:
    """Watches decisions and ApplicationSets in the Argo CD namespace; writes one annotation and
    nothing else.
    """

    name = "refresh"

    def __init__(self, *, api: HubApi, view: HubView, metrics: Metrics, watch: DecisionWatch) -> None:
        self._api, self._view, self._watch, self._clock = api, view, watch, watch.clock
        self._metrics = metrics.refresh
        self._wake = asyncio.Event()
        self._settling = Settling(unions=watch.unions)
        self._path = SETS_PATH.format(view.argocd_namespace)
        view.sets.listen(lambda _key, _item: self._wake.set())
        watch.listen(self._wake.set)

    @property
    def ready(self) -> bool:
        """Whether ApplicationSets and decisions were read."""
        return self._view.sets.synced.is_set() and self._view.decisions.synced.is_set()

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._view.sets.synced.wait()
        await self._view.decisions.synced.wait()
        try:
            await self._work()
        finally:
            self._watch.forget()

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            found, wait = self._settling.due(self._view.sets.items, self._clock())
            for due in found:
                await self._refresh(due)
                await asyncio.sleep(1 / PER_SECOND)
            if found:
                # What was asked now waits for Argo CD to look; what is due still could not be asked.
                left, wait = self._settling.due(self._view.sets.items, self._clock())
                wait = RETRY_SECONDS if left else wait
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _refresh(self, due: Due) -> None:
        # With the UID, an ApplicationSet that was deleted and made anew is refused: it is another one.
        value = datetime.fromtimestamp(self._api.now(), tz=UTC).isoformat(timespec="microseconds")
        change = {"metadata": {"uid": due.uid, "annotations": {REFRESH_ANNOTATION: value}}}
        try:
            await self._api.merge(f"{self._path}/{due.name}", change)
        except ApiError as error:
            LOG.warning("ApplicationSet %s not refreshed: %s", due.name, error)
            return
        now = self._clock()
        self._settling.told(due, now)
        self._metrics.refreshes.inc()
        clusters = ", ".join(sorted({cluster for _, union in due.wanted for cluster in union})[:10])
        if due.again:
            LOG.warning(
                "ApplicationSet %s did not look at the decision for %s; asked once more", due.name, clusters
            )
        else:
            self._metrics.refresh_delay.observe(now - due.since)
            LOG.info(
                "ApplicationSet %s refreshed %.1f s after the decision for %s",
                due.name,
                now - due.since,
                clusters,
            )
