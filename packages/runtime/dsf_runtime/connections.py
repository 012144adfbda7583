"""The connection pool of an API server, which is replaced when its credentials change."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from dsf_runtime import answers
from dsf_runtime.access import Access, AccessError, fingerprint
from dsf_runtime.apierrors import ApiError
from dsf_runtime.calls import FailureKind
from dsf_runtime.clock import monotonic

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = 1.0
"""Shortest time between two checks of the credential files."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Credentials, and the connection pool that uses them."""

    access: Access
    client: httpx.AsyncClient


def client_options(access: Access, headers: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of the httpx client of an API server."""
    authorization = {"Authorization": access.authorization} if access.authorization else {}
    return {
        "verify": access.trust,
        "proxy": access.proxy,
        # httpx would read proxies, CAs and .netrc of the environment. The kubeconfig has its own.
        "trust_env": False,
        "headers": answers.IDENTITY | dict(headers) | authorization,
        # Each watch holds a connection for minutes: with a limit, requests would wait for watches.
        "limits": httpx.Limits(
            max_connections=None, max_keepalive_connections=32, keepalive_expiry=60.0
        ),
        # The token must not follow to a host that is not configured.
        "follow_redirects": False,
    }


class Connections:
    """Owns the connection pool that uses the credentials of now.

    It reads them with ``load`` before the first request, when files change, and on ``renew``.
    """

    def __init__(
        self, *, load: Callable[[], Access], headers: Mapping[str, str], grace: float
    ) -> None:
        self._load = load
        self._headers = dict(headers)
        self._current: Connection | None = None
        self._checked = 0.0
        self._lock = asyncio.Lock()
        self._grace = grace
        self._replaced: dict[asyncio.Task[None], httpx.AsyncClient] = {}

    async def close(self) -> None:
        """Closes all connections."""
        connection = self._current
        self._current = None
        if connection is not None:
            await connection.client.aclose()
        waiting = dict(self._replaced)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for client in waiting.values():
            await client.aclose()

    async def ready(self) -> Connection:
        """The connection. It is replaced if a credential file changed since the last check."""
        current = self._current
        if current is not None and not self._lock.locked() and not self._needs_check(current):
            return current
        async with self._lock:
            # Another request may have checked while this one waited for the lock.
            connection = self._current
            if connection is not None:
                if not self._needs_check(connection):
                    return connection
                self._checked = monotonic()
                on_disk = await asyncio.to_thread(fingerprint, connection.access.files)
                if on_disk == connection.access.fingerprint:
                    return connection
                log.info(
                    "credentials of %s changed on disk, reading them again", connection.access.host
                )
            return await self._connect()

    def _needs_check(self, connection: Connection) -> bool:
        """Whether its credential files were not looked at for a while."""
        if not connection.access.files:
            return False
        return monotonic() - self._checked >= RECHECK_SECONDS

    async def renew(self, refused: Connection) -> None:
        """Replaces a connection after a 401, once. Requests that still use it can finish."""
        async with self._lock:
            if self._current is refused:
                await self._connect()

    async def _connect(self) -> Connection:
        old = self._current
        try:
            access = await asyncio.to_thread(self._load)
        except AccessError as error:
            if old is None:
                raise ApiError(str(error), kind=FailureKind.CREDENTIALS) from error
            # Some systems replace a certificate and its key one after the other. Keep the old pair
            # until the new ones match.
            log.warning("credentials on disk cannot be used yet, keeping the old ones: %s", error)
            return old
        client = httpx.AsyncClient(**client_options(access, self._headers))
        self._current = Connection(access=access, client=client)
        self._checked = monotonic()
        if old is not None:
            task = asyncio.create_task(self._close_later(old.client), name="close-replaced-client")
            self._replaced[task] = old.client
            task.add_done_callback(lambda done: self._replaced.pop(done, None))
        return self._current

    async def _close_later(self, client: httpx.AsyncClient) -> None:
        await asyncio.sleep(self._grace)
        await client.aclose()
