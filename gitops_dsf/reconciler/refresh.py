"""Duty: Argo CD looks at a decision when it changed, not at its next poll.

Also for an ApplicationSet that is newer than its decision's first page: it saw no decision, failed, and would wait three minutes.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from gitops_dsf.reconciler.api import ApiError, HubApi
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.mirror import Mirror
from gitops_dsf.reconciler.objects import DECISIONS_PATH, REFRESH, SETS_PATH, decision_page, follower
from gitops_dsf.reconciler.settling import Due, Settling

LOG = logging.getLogger(__name__)
PER_SECOND: Final = 10.0
"""Refreshes of all ApplicationSets together; after a restart every one is refreshed once."""
RETRY_SECONDS: Final = 2.0


class RefreshDuty:
    """Watches decisions and ApplicationSets in the Argo CD namespace; writes one annotation and nothing else."""

    name = "refresh"

    def __init__(self, *, api: HubApi, namespace: str, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._clock = clock
        self._metrics = metrics
        self._wake = asyncio.Event()
        self._settling = Settling()
        self._path = SETS_PATH.format(namespace)
        self._sets = Mirror(api=api, path=self._path, project=follower, changed=self._on_change)
        self._decisions = Mirror(api=api, path=DECISIONS_PATH.format(namespace), project=decision_page, changed=self._on_change)

    @property
    def ready(self) -> bool:
        """Whether both lists were read."""
        return self._sets.synced.is_set() and self._decisions.synced.is_set()

    async def run(self) -> None:
        """Works until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sets.run())
            group.create_task(self._decisions.run())
            group.create_task(self._loop())

    async def _loop(self) -> None:
        await self._sets.synced.wait()
        await self._decisions.synced.wait()
        while True:
            self._wake.clear()
            self._settling.observe(self._decisions.items.values(), self._clock())
            found, wait = self._settling.due(self._sets.items, self._clock())
            for due in found:
                if not await self._refresh(due):
                    wait = RETRY_SECONDS if wait is None else min(wait, RETRY_SECONDS)
                await asyncio.sleep(1 / PER_SECOND)
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _refresh(self, due: Due) -> bool:
        # With the UID, an ApplicationSet that was deleted and made anew is refused: it is another one.
        change = {"metadata": {"uid": due.uid, "annotations": {REFRESH: "true"}}}
        try:
            await self._api.merge(f"{self._path}/{due.name}", change)
        except ApiError as error:
            LOG.warning("ApplicationSet %s not refreshed: %s", due.name, error)
            return False
        now = self._clock()
        self._settling.told(due, now)
        self._metrics.refreshes.inc()
        self._metrics.refresh_delay.observe(now - due.since)
        clusters = ", ".join(sorted({cluster for _, union in due.wanted for cluster in union})[:10])
        LOG.info("ApplicationSet %s refreshed %.1f s after the decision for %s", due.name, now - due.since, clusters)
        return True

    def _on_change(self, _key: str, _item: object) -> None:
        # Observed at once: the time of the change is what settling counts from.
        self._settling.observe(self._decisions.items.values(), self._clock())
        self._wake.set()
