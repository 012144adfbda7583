"""Duty: health, /config and freshness of every DynamicScorer, in its status."""

import asyncio
import logging
import time
from typing import Final

from dsf_wire.scorename import sanitise
from gitops_dsf.reconciler.api import ApiError, HubApi
from gitops_dsf.reconciler.configsync import ConfigSync, compare
from gitops_dsf.reconciler.freshness import judge
from gitops_dsf.reconciler.health import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.mirror import Mirror
from gitops_dsf.reconciler.objects import SCORERS_PATH, SCORES_PATH, Freshness, Scorer, freshness, scorer
from gitops_dsf.reconciler.probe import Probe, probe
from gitops_dsf.reconciler.status import desired, patch
from gitops_dsf.sync.fetch import Fault, Fetcher

LOG = logging.getLogger(__name__)
STATUS_SECONDS: Final = 10.0
"""Between two looks at what expired."""
NEW_SCORER_SECONDS: Final = 1.0
"""After a scorer appeared or changed until it is probed: a sync brings many at once."""
_HEALTH_VALUE: Final = {HealthStatus.ACTIVE: 1, HealthStatus.INACTIVE: 0, HealthStatus.UNKNOWN: -1}


class ScorerDuty:
    """Writes DynamicScorer.status and nothing else."""

    name = "scorers"

    def __init__(self, *, api: HubApi, fetcher: Fetcher, namespace: str, metrics: Metrics, interval: float) -> None:
        self._api, self._fetcher, self._metrics, self._interval = api, fetcher, metrics, interval
        self._path = SCORERS_PATH.format(namespace)
        self._scorers = Mirror(api=api, path=self._path, project=scorer, changed=self._on_scorer)
        self._scores = Mirror(api=api, path=SCORES_PATH, project=freshness, changed=self._on_score)
        self._by_resource: dict[str, dict[str, Freshness]] = {}
        self._seen: dict[str, tuple[str, int]] = {}
        self._health: dict[str, Health] = {}
        self._config: dict[str, tuple[ConfigSync, int]] = {}
        """With the number of unreachable probes in a row."""
        self._probe_now, self._status_now = asyncio.Event(), asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether both lists were read."""
        return self._scorers.synced.is_set() and self._scores.synced.is_set()

    async def run(self) -> None:
        """Works until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self._scorers.run(), self._scores.run(), self._probe_loop(), self._status_loop()):
                group.create_task(work)

    async def once(self) -> int:
        """One complete pass; how many statuses were written. A verdict that needs several probes gets them. Raises ApiError."""
        await self._scorers.refresh()
        await self._scores.refresh()
        for last in range(FAILURES):
            await self._probe_round()
            if not any(item.row for item in self._health.values()) or last == FAILURES - 1:
                break
            await asyncio.sleep(1)
        return await self._write_statuses()

    async def _probe_loop(self) -> None:
        await self._scorers.synced.wait()
        while True:
            self._probe_now.clear()
            await self._probe_round()
            self._status_now.set()
            try:
                async with asyncio.timeout(self._interval):
                    await self._probe_now.wait()
                    await asyncio.sleep(NEW_SCORER_SECONDS)
            except TimeoutError:
                continue

    async def _status_loop(self) -> None:
        await self._scorers.synced.wait()
        await self._scores.synced.wait()
        while True:
            self._status_now.clear()
            try:
                await self._write_statuses()
            except ApiError as error:
                LOG.warning("status not written: %s", error)
            try:
                async with asyncio.timeout(STATUS_SECONDS):
                    await self._status_now.wait()
            except TimeoutError:
                continue

    async def _probe_round(self) -> None:
        clock = time.monotonic()
        scorers = dict(self._scorers.items)
        for name, answer in (await probe(scorers.values(), fetcher=self._fetcher)).items():
            self._take(scorers[name], answer)
        self._metrics.round_seconds.set(time.monotonic() - clock)
        for gone in self._health.keys() - self._scorers.items.keys():
            del self._health[gone]
            self._config.pop(gone, None)
            self._metrics.forget(gone)

    def _take(self, item: Scorer, answer: Probe) -> None:
        name = item.metadata.name
        before = self._health.get(name) or _remembered(item)
        after = before.after(answer.health)
        self._health[name] = after
        if after.status is not before.status:
            LOG.info("scorer %s is %s: %s", name, after.status, after.message)
        if answer.config is None:
            self._config.pop(name, None)
            return
        found = compare(item, answer.config)
        known, misses = self._config.get(name, (None, 0))
        misses = misses + 1 if isinstance(answer.config, Fault) else 0
        if known is not None and 0 < misses < FAILURES:
            found = known
        elif known is None or known.reason != found.reason:
            LOG.info("scorer %s: /config is %s: %s", name, found.reason, found.message)
        self._config[name] = (found, misses)

    async def _write_statuses(self) -> int:
        """Patches what differs. Raises ApiError when the hub does not take one; the others wait for the next look."""
        written = 0
        now = self._api.now()
        self._metrics.clock_offset.set(self._api.clock_offset)
        for name, item in list(self._scorers.items.items()):
            health = self._health.get(name)
            if health is None:
                continue
            scored = judge(item, self._by_resource.get(sanitise(item.spec.scoring.params.name), {}).items(), now=now)
            config = self._config.get(name, (None, 0))[0]
            self._metrics.healthy.labels(scorer=name).set(_HEALTH_VALUE[health.status])
            self._metrics.set_config(name, config.reason if config is not None else None)
            for state in ("fresh", "expiring", "expired"):
                self._metrics.clusters.labels(scorer=name, state=state).set(getattr(scored, state))
            change = patch(item.status, desired(item, health=health, config=config, scored=scored, now=now))
            if change:
                # With the UID: a scorer that was made anew in the meantime is another one.
                await self._api.merge(f"{self._path}/{name}/status", {"metadata": {"uid": item.metadata.uid}, "status": change})
                self._metrics.patches.inc()
                written += 1
            await asyncio.sleep(0)
        return written

    def _on_scorer(self, key: str, item: Scorer | None) -> None:
        identity = None if item is None else (item.metadata.uid, item.metadata.generation)
        if self._seen.get(key) == identity:
            return  # our own status
        if identity is None:
            del self._seen[key]
        else:
            self._seen[key] = identity
        self._probe_now.set()

    def _on_score(self, key: str, item: Freshness | None) -> None:
        cluster, _, resource = key.partition("/")
        if item is None:
            self._by_resource.get(resource, {}).pop(cluster, None)
        else:
            self._by_resource.setdefault(resource, {})[cluster] = item


def _remembered(item: Scorer) -> Health:
    """The verdict of whoever led before: a change of leader is no news about a scorer."""
    status = item.status.get("healthStatus")
    if status not in {HealthStatus.ACTIVE, HealthStatus.INACTIVE}:
        return Health()
    known: dict[str, str] = next((each for each in item.status.get("conditions") or [] if each.get("type") == "Healthy"), {})
    return Health(status=HealthStatus(status), reason=known.get("reason", "Unknown"), message=known.get("message", ""))
