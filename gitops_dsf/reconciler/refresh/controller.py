"""The control loop of refreshes: asks Argo CD to look at a decision when it changed.

It also asks for an ApplicationSet that is newer than the first page of its decision: Argo CD found no
decision, and would look again after three minutes.

Argo CD looks after every change of an annotation, and removes this one only after it succeeded
(`shouldRequeueForApplicationSet` and `RefreshRequired` in its source). Setting the same value again is no
change, so each value is new.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import happens_within
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.hub.resources import APPLICATION_SETS
from gitops_dsf.reconciler.refresh.debounce import Due, RefreshDebounce
from gitops_dsf.reconciler.shared import Shared

LOG = logging.getLogger(__name__)
PER_SECOND: Final = 10.0
"""Refreshes of all ApplicationSets together. After a restart each one is refreshed once."""
RETRY_SECONDS: Final = 2.0


class RefreshController:
    """Watches decisions and ApplicationSets in the Argo CD namespace. Writes one annotation and
    nothing else.
    """

    name = "refresh"

    def __init__(self, shared: Shared) -> None:
        self._api, self._view, self._clock = shared.api, shared.view, shared.clock
        self._metrics = shared.metrics
        self._wake = asyncio.Event()
        self._debounce = RefreshDebounce(decisions=shared.tracker.decisions)
        self._path = APPLICATION_SETS.within(shared.view.argocd_namespace).path
        shared.view.sets.listen(lambda _key, _item: self._wake.set())
        shared.tracker.listen(self._wake.set)

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._view.sets.synced.wait()
        await self._view.decisions.synced.wait()
        while True:
            self._wake.clear()
            found, wait = self._debounce.due(self._view.sets.items, self._clock())
            for due in found:
                await self._refresh(due)
                await asyncio.sleep(1 / PER_SECOND)
            if found:
                # What is still due could not be refreshed.
                left, wait = self._debounce.due(self._view.sets.items, self._clock())
                wait = RETRY_SECONDS if left else wait
            await happens_within(self._wake, seconds=wait)

    async def _refresh(self, due: Due) -> None:
        # The UID makes the hub refuse an ApplicationSet that was deleted and created again.
        value = datetime.fromtimestamp(self._api.now(), tz=UTC).isoformat(timespec="microseconds")
        change = {"metadata": {"uid": due.uid, "annotations": {REFRESH_ANNOTATION: value}}}
        try:
            await self._api.merge(f"{self._path}/{due.name}", change)
        except ApiError as error:
            LOG.warning("ApplicationSet %s not refreshed: %s", due.name, error)
            return
        now = self._clock()
        self._debounce.refreshed(due, now)
        self._metrics.refreshes.inc()
        clusters = ", ".join(sorted({cluster for _, decision in due.wanted for cluster in decision})[:10])
        if due.times > 1:
            LOG.warning(
                "ApplicationSet %s has not taken up the decision for %s; refreshed again", due.name, clusters
            )
        else:
            self._metrics.refresh_delay.observe(now - due.since)
            LOG.info(
                "ApplicationSet %s refreshed %.1f s after the decision for %s",
                due.name,
                now - due.since,
                clusters,
            )
