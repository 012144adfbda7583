"""Which score names the hub suspended: ConfigMap gitops-dsf-suspended, key ``scorers``, a JSON array (wire
contract).

If it cannot be read, nothing is suspended: silence of the hub must not stop a fleet.
"""

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from dsf_agent.apiserver import ApiServer
from dsf_agent.errors import PublishError
from dsf_agent.metrics import Metrics
from dsf_agent.reasons import Reason
from dsf_runtime.clock import Clock
from dsf_wire.constants import SUSPENDED_CONFIGMAP, SUSPENDED_KEY

log = logging.getLogger(__name__)

JITTER: Final = 0.2


class Suspension:
    """Polls the ConfigMap and calls ``emit`` when the set of names changed."""

    def __init__(
        self,
        *,
        server: ApiServer,
        namespace: str,
        poll_seconds: float,
        clock: Clock,
        metrics: Metrics,
        chance: random.Random,
        emit: Callable[[frozenset[str]], Awaitable[None]],
    ) -> None:
        self._server = server
        self._path = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps/{SUSPENDED_CONFIGMAP}"
        self._poll = poll_seconds
        self._clock = clock
        self._metrics = metrics
        self._chance = chance
        self._emit = emit
        self._names: frozenset[str] = frozenset()
        self._fault = ""

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception(
                    "reading the suspended scorers failed inside the agent",
                    extra={"reason": Reason.INTERNAL.value},
                )
            await self._clock.sleep(self._poll * self._chance.uniform(1 - JITTER, 1 + JITTER))

    async def look(self) -> None:
        """Reads the names once."""
        fault = ""
        try:
            names = await self._read()
        except PublishError as error:
            names = frozenset()
            fault = error.reason.value
            self._metrics.suspension_failures.labels(fault).inc()
            if fault != self._fault:
                log.warning(
                    "the suspended scorers cannot be read, so none is suspended: %s",
                    error,
                    extra={"reason": fault},
                )
        self._fault = fault
        if names != self._names:
            self._names = names
            await self._emit(names)

    async def _read(self) -> frozenset[str]:
        try:
            found = (await self._server.call("GET", self._path)).object
        except PublishError as error:
            if error.reason is Reason.NOT_FOUND:
                return frozenset()
            raise
        data = found.get("data")
        text = data.get(SUSPENDED_KEY, "[]") if isinstance(data, dict) else "[]"
        try:
            return frozenset(msgspec.json.decode(text or "[]", type=list[str]))
        except (msgspec.DecodeError, TypeError) as error:
            msg = (
                f"key {SUSPENDED_KEY!r} of ConfigMap {SUSPENDED_CONFIGMAP!r} is not a JSON array of score"
                f" names: {error}"
            )
            raise PublishError(msg, reason=Reason.INVALID_BODY) from error
