"""A client of one Kubernetes API server: requests, lists and watches as raw JSON, over one pool.

The agent and the reconciler share it. Objects are not decoded here: a caller gets bytes, and reads
the fields that it needs.

Guaranteed:

- Every failure is an ApiError with the status of the server, or with the kind of failure if there
  was no answer. Answers, pages and events of a watch are bounded in size, and each step in time.
- After a 401 the credentials are read again, and the request is sent once more. Other answers are
  not repeated: informers and controllers decide when to try again.
- With ``admit``, a write whose sender may no longer write is stopped right before its bytes leave.
- A list has one page in memory at a time, and gives other tasks a turn while it is read.

Not guaranteed:

- That a write without an answer had no effect. Only a write with a resourceVersion is safe to
  repeat.
- That the pages of a list are complete after status 410: then the list must be read again.
- That a watch lasts. The server ends it after WATCH_SECONDS, and one without events for SILENCE is
  closed.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from types import TracebackType
from typing import Any, Final, Self

import httpx
import msgspec

from dsf_runtime import answers
from dsf_runtime.access import Access
from dsf_runtime.apicontent import ANSWER_BYTES, JSON, encoded, whole
from dsf_runtime.apierrors import ApiError, as_api_errors, refusal
from dsf_runtime.calls import FailureKind
from dsf_runtime.clock import HubClock
from dsf_runtime.connections import Connection, Connections
from dsf_runtime.paging import ListMetadata, ListPage, Paging

__all__ = ["APPLY", "JSON", "JSON_PATCH", "MERGE", "SILENCE", "ApiError", "ApiServer", "WatchEvent"]


WATCH_SECONDS: Final = 240
"""The server ends a watch after this time. It sends a bookmark about every minute."""
SILENCE: Final = WATCH_SECONDS / 2
"""A watch without any event for this time is closed."""
FULL_READ_BYTES: Final = 32 << 10
"""If a read of a watch gives at least this much, probably more is there."""
TURN_BYTES: Final = 256 << 10
"""Bytes of items after which other tasks may run."""

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
"""Server-side apply. JSON is valid YAML."""

LAST_MOMENTS: Final = frozenset(
    {"http11.send_request_headers.started", "http11.send_request_body.started"}
)
"""Events of httpcore right before it writes. A server ignores headers whose body never arrives."""


class WatchEvent(msgspec.Struct, frozen=True):
    """One event of a watch."""

    type: str
    object: msgspec.Raw


class ApiServer:
    """Owns one pool of connections.

    It reads its credentials with ``load`` before the first request, when their files change, and
    after a 401.

    ``admit`` is called before each write and again right before its bytes are sent. It may raise an
    exception to stop the write: a reconciler whose claim on the Lease ended must not write any
    more.
    """

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        user_agent: str,
        timeout_seconds: float,
        admit: Callable[[str, str], None] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._admit = admit
        self._timeout = timeout_seconds
        self._connections = Connections(
            load=load,
            headers={"User-Agent": user_agent},
            # A running watch keeps its old credentials.
            grace=WATCH_SECONDS + timeout_seconds,
        )
        self.clock = HubClock(wall=wall)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
        await self._connections.close()

    def now(self) -> float:
        """Unix time of the server's clock, which decides what has expired."""
        return self.clock.wall()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        accept: str = JSON,
        seconds: float | None = None,
    ) -> bytes:
        """Sends a request, and after a 401 once more with new credentials.

        A body that is not bytes is encoded as JSON. ``seconds`` limits each attempt. Raises
        ApiError unless the status is 2xx.
        """
        sent = encoded(body, content_type=content_type, accept=accept)
        answer = await self._send(
            method,
            path,
            params=params,
            content=sent.content,
            headers=sent.headers,
            seconds=seconds or self._timeout,
            limit=ANSWER_BYTES,
        )
        return whole(f"{method} {path}", answer)

    async def get(self, path: str, **params: str) -> bytes:
        """Reads one object. Raises ApiError."""
        return await self.request("GET", path, params=params)

    async def create(self, path: str, item: Mapping[str, Any]) -> bytes:
        """Creates an object. Raises ApiError, with status 409 if it exists."""
        return await self.request("POST", path, body=item)

    async def replace(self, path: str, item: Mapping[str, Any]) -> bytes:
        """Replaces an object. Raises ApiError, with status 409 if it changed since it was read."""
        return await self.request("PUT", path, body=item)

    async def merge(self, path: str, change: Mapping[str, Any], *, manager: str) -> bytes:
        """Sends a JSON merge patch. Raises ApiError."""
        params = {"fieldManager": manager}
        return await self.request("PATCH", path, body=change, content_type=MERGE, params=params)

    async def list(self, path: str, take: Callable[[msgspec.Raw], None], **selector: str) -> str:
        """Calls ``take`` with every object of a list and returns the resourceVersion.

        One page is in memory at a time, and the Raw is a view of it. Raises ApiError; status 410
        means that the list must be read again.
        """
        paging = Paging(selector)
        metadata = ListMetadata()
        while paging.params() is not None:
            content = await self.page(path, paging)
            if content is None:
                paging.too_large(path)
                continue
            metadata = await _take(path, content, take)
            paging.arrived(content, more=metadata.more)
            del content
        return metadata.resource_version

    async def page(self, path: str, paging: Paging, *, accept: str = JSON) -> bytes | None:
        """The next page of a list, not decoded; None if it is too large. Raises ApiError."""
        headers = {"Accept": accept}
        return await self._send(
            "GET", path, params=paging.params(), headers=headers, limit=paging.max_bytes
        )

    async def watch(
        self,
        path: str,
        *,
        resource_version: str,
        opened: Callable[[], None] = lambda: None,
        gather_seconds: float = 0.0,
        **selector: str,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yields the changes after a version until the server ends the watch. Raises ApiError.

        ``opened`` is called when it begins. ``gather_seconds`` is how long events may wait for
        others, see ``_lines``.
        """
        params = {
            **selector,
            "watch": "1",
            # Bookmarks renew the version while nothing changes, so that the next watch begins at a
            # version that the server still knows.
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        connection = await self._connections.ready()
        operation = f"WATCH {path}"
        with as_api_errors(operation, connection.access, path, seconds=SILENCE):
            async with self._open(
                connection,
                "GET",
                path,
                params=params,
                headers={"Accept": JSON},
                read_seconds=SILENCE,
            ) as response:
                if response.status_code == httpx.codes.UNAUTHORIZED:
                    await self._connections.renew(connection)
                if response.status_code != httpx.codes.OK:
                    content = await _body(response, limit=ANSWER_BYTES)
                    # The informer opens the watch again, after a 401 with the new credentials.
                    raise refusal(operation, connection.access, response, content, now=self.now())
                answers.check_coding(response.headers.get("Content-Encoding"))
                opened()
                async with aclosing(_lines(response, gather_seconds=gather_seconds)) as lines:
                    async for line in lines:
                        yield _event(operation, line)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        limit: int,
        content: bytes | None = None,
        seconds: float | None = None,
    ) -> bytes | None:
        """The body of the answer, None if it is larger than ``limit``.

        After a 401 it asks once more.

        ``seconds`` limits each attempt as a whole, else each step of it. Raises ApiError unless the
        status is 2xx.
        """
        operation = f"{method} {path}"
        # Once: a server that refuses the new credentials, too, would refuse them again.
        renewed = False
        while True:
            connection = await self._connections.ready()
            with as_api_errors(
                operation, connection.access, path, seconds=seconds or self._timeout
            ):
                async with (
                    asyncio.timeout(seconds) if seconds else nullcontext(),
                    self._open(
                        connection, method, path, params=params, content=content, headers=headers
                    ) as response,
                ):
                    answer = await _body(response, limit=limit)
            if response.is_success:
                return answer
            if response.status_code == httpx.codes.UNAUTHORIZED and not renewed:
                renewed = True
                await self._connections.renew(connection)
                continue
            raise refusal(operation, connection.access, response, answer, now=self.now())

    @asynccontextmanager
    async def _open(
        self,
        connection: Connection,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        read_seconds: float | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Sends a request. The headers of the answer update the server's clock."""
        access = connection.access
        extensions: dict[str, Any] = {}
        if access.server_name:
            # The certificate must have this name (tls-server-name), not the host of the URL.
            extensions["sni_hostname"] = access.server_name
        if method != "GET" and (admit := self._admit) is not None:
            # Between the first call of `admit` and the bytes, a connection may be made, which can
            # take longer than the claim on the Lease lasts.
            async def trace(event: str, _info: Mapping[str, Any]) -> None:
                if event in LAST_MOMENTS:
                    admit(method, path)

            admit(method, path)
            extensions["trace"] = trace
        # No limit for the pool: it has as many connections as there are requests.
        timeout = httpx.Timeout(self._timeout, read=read_seconds or self._timeout, pool=None)
        stream = connection.client.stream(
            method,
            access.host + path,
            params=params,
            content=content,
            headers=headers,
            timeout=timeout,
            extensions=extensions,
        )
        sent = self.clock.steady()
        async with stream as response:
            self.clock.learn(response.headers.get("Date"), sent=sent, received=self.clock.steady())
            yield response


def _event(operation: str, line: bytes) -> WatchEvent:
    try:
        return msgspec.json.decode(line, type=WatchEvent)
    except msgspec.DecodeError as error:
        msg = f"{operation}: the answer is not an event: {error}"
        raise ApiError(msg, kind=FailureKind.INVALID_BODY) from error


async def _body(response: httpx.Response, *, limit: int) -> bytes | None:
    """The body, or None if it is larger than ``limit``; then the rest is not read."""
    try:
        return await answers.read(response, limit=limit)
    except answers.TooLargeError:
        return None


async def _take(path: str, content: bytes, take: Callable[[msgspec.Raw], None]) -> ListMetadata:
    """Calls ``take`` with every item of a page. Returns its metadata."""
    try:
        listing = msgspec.json.decode(content, type=ListPage)
    except msgspec.DecodeError as error:
        # For instance an HTML page of a proxy.
        msg = f"GET {path}: the answer is not a list: {error}"
        raise ApiError(msg, kind=FailureKind.INVALID_BODY) from error
    turn_bytes = 0
    for raw in listing.items or ():
        take(raw)
        turn_bytes += len(memoryview(raw))
        if turn_bytes >= TURN_BYTES:
            turn_bytes = 0
            await asyncio.sleep(0)
    return listing.metadata


async def _lines(response: httpx.Response, *, gather_seconds: float) -> AsyncGenerator[bytes, None]:
    """The lines of a watch.

    Only the newline byte ends a line: JSON strings may contain other line breaks.

    Reading a few bytes costs as much as reading many. So with ``gather_seconds`` there is a pause
    after every other read, in which events arrive that the next one takes together, but none while
    reads are full.
    """
    begun: list[bytes] = []  # the line that is not complete yet
    length = 0
    loop = asyncio.get_running_loop()
    waited = asyncio.Event()
    paused = False
    size = 0  # bytes of this read
    chunks = response.aiter_raw()
    while True:
        waited.clear()
        # This runs only if the next chunk is not in memory yet: then the loop gets a turn.
        loop.call_soon(waited.set)
        chunk = await anext(chunks, None)
        if chunk is None:
            return
        if waited.is_set():
            # This chunk was not in memory yet: it begins a new read.
            paused = not paused and size < FULL_READ_BYTES and gather_seconds > 0
            if paused:
                await asyncio.sleep(gather_seconds)
            size = 0
        size += len(chunk)
        first, *others = chunk.split(b"\n")
        begun.append(first)
        length += len(first)
        for other in others:
            if line := b"".join(begun):
                yield line
            begun = [other]
            length = len(other)
        if length > ANSWER_BYTES:
            raise answers.TooLargeError(f"sends an event of more than {ANSWER_BYTES} bytes")
