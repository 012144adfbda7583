"""Writes DynamicScorer.status when it differs, and an Event for each changed condition."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.metadata import NOT_SAID
from gitops_dsf.hub.resources import SCORERS
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.scorers.status import patch
from gitops_dsf.reconciler.shared import Shared

LOG = logging.getLogger(__name__)
RETRIES: Final = Backoff(first=10.0, ceiling=300.0, jitter=0)
"""Pauses before a status that the hub refused is written again."""
BUSY: Final = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""The cause is the hub, and not one status."""


class StatusWriter:
    """Writes a status that the hub refused again after a pause."""

    def __init__(self, shared: Shared) -> None:
        self._api, self._events, self._clock = shared.api, shared.events, shared.clock
        self._metrics = shared.metrics
        self._path = SCORERS.within(shared.view.hub_namespace).path
        self._refused: dict[str, tuple[int, float]] = {}
        """How many times in a row the hub refused a status, and when it is written again."""

    async def write(self, item: DynamicScorer, status: Mapping[str, Any]) -> bool:
        """Returns whether it was written. `item` is as the view has it. Raises ApiError
        when the hub takes no statuses now.
        """
        name = item.metadata.name
        change = patch(item.status, status)
        times, until = self._refused.get(name, (0, 0.0))
        if not change or (times and self._clock() < until):
            return False
        try:
            # The UID makes the hub refuse the status of a scorer that was deleted and created again.
            await self._api.merge(
                f"{self._path}/{name}/status", {"metadata": {"uid": item.metadata.uid}, "status": change}
            )
        except ApiError as error:
            self._metrics.patch_failures.inc()
            if not error.status or error.status in BUSY:
                raise
            pause = RETRIES.delay(times + 1)
            self._refused[name] = (times + 1, self._clock() + pause)
            LOG.warning("status of scorer %s not written; next try in %g s: %s", name, pause, error)
            return False
        self._refused.pop(name, None)
        self._metrics.patches.inc()
        await self._announce(item, status)
        return True

    def keep_only(self, scorers: Mapping[str, DynamicScorer]) -> None:
        """Forgets all other scorers."""
        for name in self._refused.keys() - scorers.keys():
            del self._refused[name]

    async def _announce(self, before: DynamicScorer, status: Mapping[str, Any]) -> None:
        for item in status["conditions"]:
            known = before.condition(item["type"])
            bad = item["status"] == "False"
            # A condition that is new and good needs no Event.
            if bad if known is NOT_SAID else (known.status, known.reason) != (item["status"], item["reason"]):
                message = f"{item['type']} is {item['status']}: {item['message']}"
                await self._events.say(scorer_reference(before), item["reason"], message, warning=bad)
