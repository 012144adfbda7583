"""Writes DynamicScorer.status, when it differs and as long as the hub takes it; says changes of conditions as
Events.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import SCORERS_PATH
from gitops_dsf.reconciler.scorers.about import about
from gitops_dsf.reconciler.scorers.metrics import ScorerMetrics
from gitops_dsf.reconciler.scorers.status import patch

LOG = logging.getLogger(__name__)
RETRIES: Final = Backoff(first=10.0, ceiling=300.0, jitter=0)
"""Before a status that the hub refused is written again."""
REFUSALS: Final = 5
"""In a row, after which the rest of a pass is left for the next one: it is the hub then, not the status."""
GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""A scorer that was deleted, or made anew with another UID: the watch will tell."""


class HubAwayError(ApiError):
    """Nothing is written for now."""


@dataclass(kw_only=True, slots=True)
class _Refused:
    times: int
    until: float
    gone: bool


class StatusWriter:
    """Remembers what it wrote until the watch shows it: what was written a moment ago is not written, nor
    said, again.
    """

    def __init__(
        self,
        *,
        api: HubApi,
        events: Events,
        metrics: ScorerMetrics,
        namespace: str,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api, self._events, self._metrics, self._clock = api, events, metrics, clock
        self._path = SCORERS_PATH.format(namespace)
        self._written: dict[str, tuple[DynamicScorer, dict[str, Any]]] = {}
        self._refused: dict[str, _Refused] = {}
        self._row = 0

    @property
    def refused(self) -> tuple[str, ...]:
        """Names of those that the hub refused and that it still has, until they are written."""
        return tuple(sorted(name for name, item in self._refused.items() if not item.gone))

    def latest(self, item: DynamicScorer) -> DynamicScorer:
        """The scorer with the status that it has by now."""
        seen, status = self._written.get(item.metadata.name, (None, {}))
        return msgspec.structs.replace(item, status=status) if seen is item else item

    async def write(self, item: DynamicScorer, status: Mapping[str, Any]) -> bool:
        """Whether it was written. `item` is as the view has it. Raises HubAwayError."""
        name = item.metadata.name
        before = self.latest(item)
        change = patch(before.status, status)
        refused = self._refused.get(name)
        if not change or (refused is not None and self._clock() < refused.until):
            return False
        try:
            # With the UID: a scorer that was made anew in the meantime is another one.
            await self._api.merge(
                f"{self._path}/{name}/status", {"metadata": {"uid": item.metadata.uid}, "status": change}
            )
        except ApiError as error:
            self._refuse(name, refused, error)
            return False
        self._row = 0
        self._refused.pop(name, None)
        self._written[name] = (item, dict(status))
        self._metrics.patches.inc()
        await self._announce(before, status)
        return True

    def keep(self, scorers: Mapping[str, DynamicScorer]) -> None:
        """Forgets all others, and what the watch has shown by now."""
        for name in [name for name, (seen, _) in self._written.items() if scorers.get(name) is not seen]:
            del self._written[name]
        for name in self._refused.keys() - scorers.keys():
            del self._refused[name]

    def _refuse(self, name: str, refused: _Refused | None, error: ApiError) -> None:
        self._metrics.patch_failures.inc()
        if not error.status:
            raise HubAwayError(str(error)) from error
        times = 1 if refused is None else refused.times + 1
        pause = RETRIES.delay(times)
        self._refused[name] = _Refused(times=times, until=self._clock() + pause, gone=error.status in GONE)
        LOG.warning("status of scorer %s not written, again in %g s: %s", name, pause, error)
        self._row = self._row + 1 if error.status not in GONE else 0
        if self._row >= REFUSALS:
            self._row = 0
            raise HubAwayError(str(error)) from error

    async def _announce(self, before: DynamicScorer, status: Mapping[str, Any]) -> None:
        old = {item.get("type"): item for item in before.status.get("conditions") or []}
        for item in status["conditions"]:
            known = old.get(item["type"])
            bad = item["status"] == "False"
            # A new scorer that is well is no news.
            if (
                bad
                if known is None
                else (known.get("status"), known.get("reason")) != (item["status"], item["reason"])
            ):
                words = f"{item['type']} is {item['status']}: {item['message']}"
                await self._events.say(about(before), "Warning" if bad else "Normal", item["reason"], words)
