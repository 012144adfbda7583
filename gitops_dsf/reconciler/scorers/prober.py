"""What rounds of probes found out about every scorer: its health, and whether /config still says what was
accepted.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from dsf_runtime.clock import monotonic
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.urls import origin
from gitops_dsf.reconciler.scorers.configsync import ConfigSync, compare
from gitops_dsf.reconciler.scorers.health import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.scorers.metrics import ScorerMetrics
from gitops_dsf.reconciler.scorers.probe import Probe, probe
from gitops_dsf.sync.fetch import Fault, Fetcher

LOG = logging.getLogger(__name__)
_HEALTH_VALUE: Final = {HealthStatus.ACTIVE: 1, HealthStatus.INACTIVE: 0, HealthStatus.UNKNOWN: -1}


class Prober:
    """Remembers verdicts between rounds; after a change of leader those that the status tells."""

    def __init__(self, *, fetcher: Fetcher, metrics: ScorerMetrics) -> None:
        self._fetcher, self._metrics = fetcher, metrics
        self._health: dict[str, Health] = {}
        self._asked: dict[str, tuple[str, str]] = {}
        """UID and origin that the verdicts are about."""
        self._config: dict[str, tuple[ConfigSync, int]] = {}
        """With the number of unreachable probes in a row."""

    @property
    def undecided(self) -> bool:
        """Whether a verdict waits for more probes."""
        return any(item.row for item in self._health.values())

    @property
    def verdicts(self) -> Mapping[str, Health]:
        """By scorer; none before its first probe."""
        return self._health

    def config(self, name: str) -> ConfigSync | None:
        """None where /config does not count."""
        return self._config.get(name, (None, 0))[0]

    async def round(
        self, scorers: Mapping[str, DynamicScorer], *, only: Collection[str] | None = None
    ) -> None:
        """Probes them all, or those that are named: a verdict takes several rounds, and news of one are none
        of the others.

        What is known of scorers that are not there is forgotten.
        """
        clock = monotonic()
        chosen = [item for name, item in scorers.items() if only is None or name in only]
        for name, answer in (await probe(chosen, fetcher=self._fetcher)).items():
            self._take(scorers[name], answer)
            await asyncio.sleep(0)  # a long query takes its time to be checked
        if only is None:
            self._metrics.round_seconds.set(monotonic() - clock)
        for gone in self._health.keys() - scorers.keys():
            del self._health[gone], self._asked[gone]
            self._config.pop(gone, None)
            self._metrics.forget(gone)

    def _take(self, item: DynamicScorer, answer: Probe) -> None:
        name = item.metadata.name
        before = self._before(item)
        after = before.after(answer.health)
        self._health[name] = after
        self._metrics.healthy.labels(scorer=name).set(_HEALTH_VALUE[after.status])
        if after.status is not before.status:
            LOG.info("scorer %s is %s: %s", name, after.status, after.message)
        if answer.config is None:
            self._config.pop(name, None)
            self._metrics.set_config(name, None)
            return
        found = compare(item, answer.config)
        known, misses = self._config.get(name, (None, 0))
        misses = misses + 1 if isinstance(answer.config, Fault) else 0
        if known is not None and 0 < misses < FAILURES:
            found = known
        elif known is None or known.reason != found.reason:
            LOG.info("scorer %s: /config is %s: %s", name, found.reason, found.message)
        self._config[name] = (found, misses)
        self._metrics.set_config(name, found.reason)

    def _before(self, item: DynamicScorer) -> Health:
        """The verdict so far. One about another API than the scorer names now is none: nobody ever reached
        this one.
        """
        name, now = item.metadata.name, (item.metadata.uid, origin(item.spec.config_url))
        asked, self._asked[name] = self._asked.get(name), now
        if asked is None:
            return _remembered(item)
        if asked == now:
            return self._health.get(name, Health())
        self._config.pop(name, None)
        return Health()


def _remembered(item: DynamicScorer) -> Health:
    """The verdict of whoever led before: a change of leader is no news about a scorer. None about a spec that
    was changed since.
    """
    status = item.status.get("healthStatus")
    seen = item.status.get("observedGeneration") == item.metadata.generation
    if not seen or status not in {HealthStatus.ACTIVE, HealthStatus.INACTIVE}:
        return Health()
    known: dict[str, str] = next(
        (each for each in item.status.get("conditions") or [] if each.get("type") == "Healthy"), {}
    )
    return Health(
        status=HealthStatus(status), reason=known.get("reason", "Unknown"), message=known.get("message", "")
    )
