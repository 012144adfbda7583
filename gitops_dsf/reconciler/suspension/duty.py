"""Duty: keeps the list of suspended scores; where suspension is off, empties once what a reconciler left in
it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.urls import origin
from gitops_dsf.reconciler.events import Events, Kind
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scorers.about import about
from gitops_dsf.reconciler.scorers.health import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.settings import SuspensionSettings
from gitops_dsf.reconciler.suspension.circuit import Case, Change, Circuit, Ruling
from gitops_dsf.reconciler.suspension.hearing import Hearing, hear
from gitops_dsf.reconciler.suspension.listed import SuspendedList

LOG = logging.getLogger(__name__)
LOOK_SECONDS: Final = 5.0
"""Between two looks, which read one ConfigMap; less where probes come faster."""
RETRY_SECONDS: Final = 60.0
"""Between two attempts to empty the list where suspension is off."""


class SuspensionDuty:
    """Writes one key of one ConfigMap. `health` has the verdicts of the hub's probes by scorer, as they
    change.
    """

    name = "suspension"

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        metrics: Metrics,
        events: Events,
        health: Mapping[str, Health],
        settings: SuspensionSettings,
        probe_interval: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api, self._view, self._events, self._health, self._clock = api, view, events, health, clock
        self._metrics = metrics.suspension
        self._enabled = settings.enabled
        self._pause = min(LOOK_SECONDS, probe_interval)
        # As long again as it takes to call a scorer Inactive: a restart of the API is over by then.
        self._circuit = Circuit(quorum_percent=settings.quorum_percent, hold=FAILURES * probe_interval)
        self._list = SuspendedList(api=api, namespace=view.hub_namespace)
        self._held_back: frozenset[str] = frozenset()
        self._said = ""

    @property
    def ready(self) -> bool:
        """Whether everything that it judges by was read."""
        return not self._enabled or all(seen.is_set() for seen in self._needs())

    async def run(self) -> None:
        """Works until it is cancelled."""
        if not self._enabled:
            await self._empty()
            await asyncio.Event().wait()
        for seen in self._needs():
            await seen.wait()
        try:
            while True:
                try:
                    await self._look()
                    self._said = ""
                except ApiError as error:
                    self._say(f"suspended scores stay as they are: {error}")
                await asyncio.sleep(self._pause)
        finally:
            self._metrics.forget()  # another replica tells from now on

    async def _look(self) -> None:
        """Raises ApiError: also when somebody else wrote the list at the same time, which the next look reads
        first.
        """
        before = await self._list.read()
        if not before.readable:
            LOG.warning(
                "the ConfigMap of suspended scores is no JSON array of names; agents take it for an empty one"
            )
        scorers = dict(self._view.scorers.items)
        ruling = self._circuit.rule(
            [self._case(item) for item in scorers.values()], before.names, self._clock()
        )
        if ruling.names != before.names or not before.readable:
            await self._list.write(before, ruling.names)
        self._metrics.show({name: item.score_name in ruling.names for name, item in scorers.items()})
        self._metrics.held_back.set(sum(len(change.scorers) for change in ruling.held_back))
        await self._report(ruling, scorers)

    def _case(self, item: DynamicScorer) -> Case:
        health = self._health.get(item.metadata.name)
        verdict = None if health is None else health.status
        # The clusters are heard only where it matters.
        hearing = (
            self._hear(item) if verdict is HealthStatus.INACTIVE and self._api.clock.known else Hearing()
        )
        return Case(
            scorer=item.metadata.name,
            score=item.score_name,
            api=origin(item.spec.config_url),
            stopped=item.spec.suspend,
            verdict=verdict,
            hearing=hearing,
        )

    def _hear(self, item: DynamicScorer) -> Hearing:
        return hear(
            self._view.targets.expected(item),
            addons=self._view.addons.items,
            scores=self._view.scores.of(item.resource),
            now=self._api.now(),
        )

    async def _report(self, ruling: Ruling, scorers: Mapping[str, DynamicScorer]) -> None:
        for change in ruling.suspended:
            await self._tell(change, scorers, "Warning", "Suspended", "agents no longer call it")
        for change in ruling.lifted:
            LOG.info("score %s is no longer suspended: %s", change.score, change.why)
            await self._tell(change, scorers, "Normal", "Resumed", "agents may call it again")
        held = frozenset(change.score for change in ruling.held_back)
        for change in ruling.held_back:
            if change.score not in self._held_back:
                await self._tell(
                    change,
                    scorers,
                    "Warning",
                    "SuspensionHeldBack",
                    "not suspended, because more than half of all scoring APIs are down for the hub at once,"
                    " as if its own network were",
                )
        self._held_back = held

    async def _tell(
        self, change: Change, scorers: Mapping[str, DynamicScorer], kind: Kind, reason: str, words: str
    ) -> None:
        for name in change.scorers:
            await self._events.say(about(scorers[name]), kind, reason, f"{words}: {change.why}")

    async def _empty(self) -> None:
        """What people wrote into a ConfigMap of their own stays: this reconciler was not asked to suspend
        anything.
        """
        while True:
            try:
                before = await self._list.read()
                if before.ours and before.names:
                    await self._list.write(before, ())
                    LOG.info("suspension is off; no longer suspended: %s", ", ".join(sorted(before.names)))
                return
            except ApiError as error:
                self._say(
                    "suspension is off, and what a reconciler with it may have suspended cannot be lifted"
                    f" yet: {error}"
                )
                await asyncio.sleep(1 if error.status == HTTPStatus.CONFLICT else RETRY_SECONDS)

    def _needs(self) -> tuple[asyncio.Event, ...]:
        view = self._view
        return (
            view.scorers.synced,
            view.scores.synced,
            view.clusters.synced,
            view.addons.synced,
            view.masks.synced,
        )

    def _say(self, words: str) -> None:
        if words != self._said:
            LOG.warning("%s", words)
        self._said = words
