"""Probes scoring APIs, and remembers the results between rounds.

The results are health, and /config compared with the lock that was accepted.

Guaranteed: one failed probe does not change a status; it takes several in a row. A /config that
cannot be read keeps its last result for some probes. Not guaranteed: that an API that answers here
is reachable for the agents, which send their requests from their own clusters.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from dsf_runtime.clock import monotonic
from dsf_wire.query import split
from dsf_wire.text import printable
from gitops_dsf.hub.drift import (
    Config,
    ConfigChange,
    ConfigError,
    accepted_by,
    drift,
    flat,
    last_synced,
)
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.resolve.promql.check import check
from gitops_dsf.sync.fetch import Fetcher
from gitops_dsf.sync.page import FetchedPage, PageFault, read_page
from gitops_dsf.sync.requests import PageRequest, page_request
from gitops_dsf.urls.parts import origin

LOG = logging.getLogger(__name__)
FAILURES: Final = 3
"""Failed probes in a row after which an Active scorer becomes Inactive."""
SUCCESSES: Final = 2
"""Successful probes in a row after which an Inactive scorer becomes Active."""
UNREACHED: Final = frozenset({"DNS", "Connection", "Timeout", "Certificate"})
"""The origin was not reached: a request for another of its pages would fail the same way."""


class HealthStatus(StrEnum):
    """DynamicScorer.status.healthStatus."""

    ACTIVE = "Active"
    INACTIVE = "Inactive"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    status: HealthStatus = HealthStatus.UNKNOWN
    reason: str = "NotProbed"
    message: str = "not probed yet"
    contradictions: int = 0
    """Latest probes in a row that contradict the status."""

    def after(self, answer: FetchedPage | PageFault) -> "Health":
        """The health after one more probe.

        It is Unknown until a probe has reached the API: the network of the hub may not lead to it.
        """
        if isinstance(answer, FetchedPage):
            if self.status is HealthStatus.INACTIVE and self.contradictions + 1 < SUCCESSES:
                return replace(self, contradictions=self.contradictions + 1)
            return Health(status=HealthStatus.ACTIVE, reason="Answers", message="/healthz answers")
        reason = answer.reason
        message = answer.message
        if self.status is HealthStatus.ACTIVE:
            if self.contradictions + 1 < FAILURES:
                return replace(self, contradictions=self.contradictions + 1)
            return Health(status=HealthStatus.INACTIVE, reason=reason, message=message)
        if self.status is HealthStatus.UNKNOWN and answer.reason in UNREACHED:
            return Health(reason=reason, message=f"never reached from the hub: {message}")
        return Health(status=HealthStatus.INACTIVE, reason=reason, message=message)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigSync:
    """The condition ConfigSynced. `config` is None when the page could not be read."""

    status: str
    reason: str
    """InSync, Drifted, Invalid or Unreachable."""
    message: str
    config: Config | None = None


def compare(scorer: DynamicScorer, answer: FetchedPage | PageFault) -> ConfigSync:
    """A field that the page changes, adds or drops has drifted."""
    if isinstance(answer, PageFault):
        return ConfigSync(status="Unknown", reason="Unreachable", message=answer.message)
    try:
        config = read_page(answer)
    except ConfigError as error:
        return ConfigSync(status="False", reason="Invalid", message=str(error))
    query = str(config.get("source", {}).get("params", {}).get("query", ""))
    for part in split(query):
        for mistake in check(part.text).mistakes:
            # A source that is not a Prometheus may have functions that are not known here.
            if mistake.kind != "function":
                message = f"PromQL of /config: {mistake.message}"
                return ConfigSync(status="False", reason="Invalid", message=message, config=config)
    page = flat(config)
    accepted = accepted_by(scorer, page)
    # The page's name and description are not settings of a rendered scorer.
    settings = {field: value for field, value in page.items() if field in accepted}
    differing = drift(accepted, settings)
    if differing:
        words = "; ".join(_difference_text(change) for change in differing)
        message = (
            f"/config differs from the accepted settings: {words}. Run gitops-dsf sync in the fleet"
            " repository"
        )
        dropped = {change.field: change.before for change in differing if change.after is None}
        return ConfigSync(
            status="False", reason="Drifted", message=message, config=last_synced(page, dropped)
        )
    message = "/config says what was accepted"
    return ConfigSync(status="True", reason="InSync", message=message, config=config)


def _difference_text(change: ConfigChange) -> str:
    if change.after is None:
        return f"{change.field} is missing, and was {_short(change.before)}"
    return f"{change.field} is {_short(change.after)} instead of {_short(change.before)}"


def _short(value: Any) -> str:  # noqa: ANN401 - whatever a field holds
    return printable(value, max_characters=80)


_HEALTH_VALUE: Final = {HealthStatus.ACTIVE: 1, HealthStatus.INACTIVE: 0, HealthStatus.UNKNOWN: -1}
_CONFIG_REASONS: Final = ("InSync", "Drifted", "Invalid", "Unreachable")
ConfigPages = Mapping[PageRequest, FetchedPage | PageFault]


async def probe(
    scorers: Iterable[DynamicScorer], *, fetcher: Fetcher, allowed: Sequence[str] = ()
) -> ConfigPages:
    """Asks /healthz and, with configSyncMode Full, /config of all scorers at once, each page once.

    `allowed` is spec.allowedTokenHosts.

    /config is asked only after /healthz was reached, so an API that hangs costs one time limit and
    one place. A round takes one time limit, plus the time to ask all others; two when /healthz is
    slow and /config hangs. A token server that hangs costs one more.
    """
    pages: dict[PageRequest, set[PageRequest]] = {}
    for scorer in scorers:
        configs_of_page = pages.setdefault(health_page(scorer, allowed), set())
        if scorer.spec.mode == "Full":
            configs_of_page.add(config_page(scorer, allowed))
    answers: dict[PageRequest, FetchedPage | PageFault] = {}

    async def ask(page: PageRequest, configs: list[PageRequest]) -> None:
        answers[page] = health = await fetcher.get(page)
        # A server that hangs would cost a second time limit.
        if isinstance(health, PageFault) and health.reason in UNREACHED:
            answers.update(dict.fromkeys(configs, health))
        else:
            config_answers = await asyncio.gather(*(fetcher.get(config) for config in configs))
            answers.update(zip(configs, config_answers, strict=True))

    async with asyncio.TaskGroup() as group:
        for page, configs in sorted(pages.items(), key=lambda entry: entry[0].url):
            group.create_task(ask(page, sorted(configs, key=lambda config: config.url)))
    return answers


class Prober:
    """Remembers results between rounds.

    After a change of leader it starts from the status on the hub.
    """

    def __init__(
        self, *, fetcher: Fetcher, metrics: ReconcilerMetrics, allowed: Sequence[str] = ()
    ) -> None:
        self._fetcher = fetcher
        self._metrics = metrics
        self._allowed = allowed
        self.health: dict[str, Health] = {}
        """Health by scorer; a scorer has none before its first probe."""
        self._probed: dict[str, tuple[str, str]] = {}
        """Identity of the scorer, and origin, that the results are about."""
        self._config: dict[str, tuple[ConfigSync, int]] = {}
        """Results for /config, each with the number of unreachable probes in a row."""

    def config(self, name: str) -> ConfigSync | None:
        """None for a scorer without configSyncMode Full."""
        return self._config.get(name, (None, 0))[0]

    async def round(
        self, scorers: Mapping[str, DynamicScorer], *, only: Collection[str] | None = None
    ) -> None:
        """Probes all, or those named: several probes in a row decide about health.

        Forgets others.
        """
        began = monotonic()
        # A scorer that scores by a query alone has no API.
        scorers = {name: scorer for name, scorer in scorers.items() if not scorer.scored_by_query}
        chosen = [scorer for name, scorer in scorers.items() if only is None or name in only]
        answers = await probe(chosen, fetcher=self._fetcher, allowed=self._allowed)
        for scorer in chosen:
            self._record(scorer, answers)
            await asyncio.sleep(0)  # checking a long query takes time
        if only is None:
            self._metrics.probe_round_seconds.set(monotonic() - began)
        pages = (health_page(scorer, self._allowed) for scorer in scorers.values())
        # Secrets of removed scorers must not stay in memory.
        self._fetcher.credentials.keep_only({page.auth for page in pages if page.auth is not None})
        for gone in self.health.keys() - scorers.keys():
            del self.health[gone], self._probed[gone]
            self._config.pop(gone, None)
        values: dict[tuple[str], float] = {}
        for name, health in self.health.items():
            values[(name,)] = _HEALTH_VALUE[health.status]
        self._metrics.healthy.set(values)
        reasons: dict[tuple[str, str], float] = {}
        for name, (sync, _) in self._config.items():
            # A series for each reason, so that an alert sees when one of them ends.
            for reason in _CONFIG_REASONS:
                reasons[name, reason] = float(reason == sync.reason)
        self._metrics.config.set(reasons)

    def _record(self, scorer: DynamicScorer, answers: ConfigPages) -> None:
        name = scorer.metadata.name
        before = self._health_before(scorer)
        after = before.after(answers[health_page(scorer, self._allowed)])
        self.health[name] = after
        if after.status is not before.status:
            LOG.info("scorer %s is %s: %s", name, after.status, after.message)
        if scorer.spec.mode != "Full":
            self._config.pop(name, None)
            return
        answer = answers[config_page(scorer, self._allowed)]
        sync = compare(scorer, answer)
        sync_before, misses = self._config.get(name, (None, 0))
        misses = misses + 1 if isinstance(answer, PageFault) else 0
        # One page that is not answered in time says nothing about the settings.
        if sync_before is not None and 0 < misses < FAILURES:
            sync = sync_before
        elif sync_before is None or sync_before.reason != sync.reason:
            LOG.info("scorer %s: /config is %s: %s", name, sync.reason, sync.message)
        self._config[name] = (sync, misses)

    def _health_before(self, scorer: DynamicScorer) -> Health:
        """The health so far. A scorer that names another origin now starts as Unknown."""
        name = scorer.metadata.name
        now = (scorer.identity, origin(scorer.spec.config_url))
        before = self._probed.get(name)
        self._probed[name] = now
        if before is None:
            # The leader before wrote it. Unknown when the spec has changed since.
            seen = scorer.status.get("observedGeneration") == scorer.metadata.generation
            if not seen or scorer.health not in {HealthStatus.ACTIVE, HealthStatus.INACTIVE}:
                return Health()
            condition = scorer.condition("Healthy")
            status = HealthStatus(scorer.health)
            reason = condition.reason or "Unknown"
            return Health(status=status, reason=reason, message=condition.message)
        if before == now:
            return self.health.get(name, Health())
        self._config.pop(name, None)
        return Health()


def config_page(scorer: DynamicScorer, allowed: Sequence[str] = ()) -> PageRequest:
    scoring = scorer.spec.scoring
    url = scorer.spec.config_url
    return page_request(url, auth=scoring.auth, scoring_url=scoring.host or url, allowed=allowed)


def health_page(scorer: DynamicScorer, allowed: Sequence[str] = ()) -> PageRequest:
    return config_page(scorer, allowed)._replace(url=f"{origin(scorer.spec.config_url)}/healthz")
