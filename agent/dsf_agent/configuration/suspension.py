"""Reads the suspended score names from the hub: a JSON array in key ``scorers`` of ConfigMap
gitops-dsf-suspended (wire contract).

If it cannot be read, no scorer is suspended, so that an unreachable hub does not stop a fleet.
"""

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError, Reason
from dsf_agent.metrics.registry import Metrics
from dsf_runtime.clock import Clock
from dsf_wire.constants import SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from dsf_wire.suspended import score_names

log = logging.getLogger(__name__)

JITTER: Final = 0.2


class Suspension:
    """Reads the ConfigMap periodically and calls ``emit`` when the set of names changed."""

    def __init__(
        self,
        *,
        server: ApiServer,
        namespace: str,
        poll_seconds: float,
        clock: Clock,
        metrics: Metrics,
        rng: random.Random,
        emit: Callable[[frozenset[str]], Awaitable[None]],
    ) -> None:
        self._server = server
        self._path = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps/{SUSPENDED_CONFIGMAP}"
        self._poll = poll_seconds
        self._clock = clock
        self._metrics = metrics
        self._rng = rng
        self._emit = emit
        self._names: frozenset[str] = frozenset()
        self._fault = ""

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self.check()
            except Exception:
                log.exception(
                    "reading the suspended scorers failed because of a bug in the agent",
                    extra={"reason": Reason.INTERNAL.value},
                )
            await self._clock.sleep(self._poll * self._rng.uniform(1 - JITTER, 1 + JITTER))

    async def check(self) -> None:
        """Reads the names once."""
        fault = ""
        try:
            names = await self._read()
        except AgentError as error:
            names = frozenset()
            fault = error.reason.value
            self._metrics.suspension_failures.labels(fault).inc()
            if fault != self._fault:
                log.warning(
                    "cannot read the suspended scorers, so none is suspended: %s",
                    error,
                    extra={"reason": fault},
                )
        self._fault = fault
        if names != self._names:
            self._names = names
            await self._emit(names)

    async def _read(self) -> frozenset[str]:
        try:
            found = await self._server.call("GET", self._path, shape=dict[str, Any])
        except AgentError as error:
            if error.reason is Reason.NOT_FOUND:
                return frozenset()
            raise
        try:
            return score_names(found.get("data"))
        except msgspec.DecodeError as error:
            msg = (
                f"key {SUSPENDED_KEY!r} of ConfigMap {SUSPENDED_CONFIGMAP!r} is not a JSON array of score"
                f" names: {error}"
            )
            raise AgentError(msg, reason=Reason.INVALID_BODY) from error
