"""One Kubernetes API server: requests, lists and watches as raw JSON over one pool of connections, with
credentials that may change.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import httpx
import msgspec

from dsf_runtime.access import Access, AccessError, fingerprint
from dsf_runtime.calls import CallFault, Kind, Retirement, excerpt, hide, named, retry_after
from dsf_runtime.clock import Clock, HubClock, SystemClock

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = 1.0
"""Credential files are read again at most this often."""
MAX_RETRY_AFTER: Final = 3600.0
WATCH_SECONDS: Final = 240
"""After which the server ends a watch; bookmarks come about every minute."""
SILENCE: Final = WATCH_SECONDS / 2
"""Seconds after which a watch that says nothing is given up."""
PAGE: Final = 500
"""Objects that are asked for at a time, where they are small: the API server answers such pages in
milliseconds.
"""
PAGE_BYTES: Final = 4 << 20
"""What a page should have. Pages are cut by number of objects, so the number follows the sizes of those that
were read.
"""
MOST_PAGE_BYTES: Final = 4 * PAGE_BYTES
"""A page that goes on after this is given up, and asked for again with fewer objects."""
ANSWER_BYTES: Final = 64 << 20
"""The largest other answer. etcd takes objects of 1.5 MB."""
TURN_BYTES: Final = 256 << 10
"""Items of a page that are taken before other tasks have their turn."""

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
"""Server-side apply; JSON is YAML."""

LAST_MOMENTS: Final = frozenset({"http11.send_request_headers.started", "http11.send_request_body.started"})
"""Events of httpcore right before it writes to the connection. A server does not act on headers whose body
never comes.
"""


class ApiError(Exception):
    """The server refused, or did not answer: then ``status`` is 0 and ``kind`` says why."""

    def __init__(
        self, message: str, *, status: int = 0, kind: Kind | None = None, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
        self.retry_after = wait
        """Seconds for which the server asked to be left alone."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The body of an answer that is a success."""

    url: str
    """For messages."""
    body: bytes


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class _Meta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "more": "continue"}):
    resource_version: str = ""
    more: str = ""


class _Listing(msgspec.Struct, frozen=True):
    """One page of a list; its items stay undecoded."""

    metadata: _Meta
    items: list[msgspec.Raw] | None = None


@dataclass(frozen=True, kw_only=True)
class _Connection:
    """Credentials and the pool that was made with them."""

    access: Access
    client: httpx.AsyncClient


class ApiServer:
    """Reads its credentials with ``load`` before the first request, when their files change, and after 401.

    ``admit`` is called before each request that writes, again right before its bytes leave, and may raise to
    stop it.
    """

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        user_agent: str,
        timeout_seconds: float,
        clock: Clock | None = None,
        admit: Callable[[str, str], None] | None = None,
    ) -> None:
        self._load, self._admit = load, admit
        self._headers = {"User-Agent": user_agent}
        self._timeout = timeout_seconds
        self._time = clock or SystemClock()
        self._connection: _Connection | None = None
        # A watch that is under way goes on with the credentials that it began with.
        self._retirement = Retirement(grace=WATCH_SECONDS + timeout_seconds)
        self._checked = 0.0
        self._lock = asyncio.Lock()
        self.clock = HubClock(clock=self._time)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all connections."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.client.aclose()
        await self._retirement.close()

    def now(self) -> float:
        """Unix time by the server's clock, which decides what is expired."""
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
    ) -> Reply:
        """One request, its body encoded unless it is bytes already, repeated once with fresh credentials
        after 401.

        ``seconds`` limit each attempt as a whole. Raises ApiError unless the status is 2xx.
        """
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"Accept": accept} if content is None else {"Accept": accept, "Content-Type": content_type}
        seconds = seconds or self._timeout
        for last in (False, True):
            connection = await self._ready()
            try:
                with named(url=connection.access.host + path, seconds=seconds):
                    async with (
                        asyncio.timeout(seconds),
                        self._open(
                            connection, method, path, params=params, content=content, headers=headers
                        ) as response,
                    ):
                        answer = await _body(response, most=ANSWER_BYTES)
            except CallFault as fault:
                raise silent(f"{method} {path}", access=connection.access, fault=fault) from fault
            if response.status_code == httpx.codes.UNAUTHORIZED and not last:
                await self._renew(connection)
                continue
            break
        if answer is None:
            msg = f"{method} {path}: the answer has more than {ANSWER_BYTES} bytes"
            raise ApiError(msg, kind=Kind.INVALID_BODY)
        if not response.is_success:
            raise self._refused(f"{method} {path}", connection, response, answer)
        return Reply(url=str(response.url), body=answer)

    async def get(self, path: str, **params: str) -> bytes:
        """One object. Raises ApiError."""
        return (await self.request("GET", path, params=params)).body

    async def create(self, path: str, item: Mapping[str, Any]) -> bytes:
        """A new object. Raises ApiError; status 409 when it exists."""
        return (await self.request("POST", path, body=item)).body

    async def replace(self, path: str, item: Mapping[str, Any]) -> bytes:
        """The whole object. Raises ApiError; status 409 when somebody else changed it since it was read."""
        return (await self.request("PUT", path, body=item)).body

    async def merge(self, path: str, change: Mapping[str, Any], *, manager: str) -> bytes:
        """A JSON merge patch. Raises ApiError."""
        return (
            await self.request(
                "PATCH", path, body=change, content_type=MERGE, params={"fieldManager": manager}
            )
        ).body

    async def list(
        self, path: str, take: Callable[[msgspec.Raw], None], *, accept: str = JSON, **selector: str
    ) -> str:
        """Hands every object of a list to ``take``; returns the resourceVersion. ``selector`` is
        fieldSelector or labelSelector.

        One page is in memory at a time, and ``take`` must keep no Raw: it is a view of the page. Raises
        ApiError, 410 among others when the list changed so much that it must be read from its beginning.
        """
        paging, metadata = Paging(selector), _Meta()
        while (params := paging.params()) is not None:
            content = await self._page(path, params, accept=accept, most=paging.most)
            if content is None:
                paging.too_large()
                continue
            metadata, count = await _take(path, content, take)
            paging.taken(size=len(content), count=count, more=metadata.more)
            del content
        return metadata.resource_version

    async def watch(
        self, path: str, *, resource_version: str, opened: Callable[[], None] = lambda: None, **selector: str
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after a version until the server ends the watch; `opened` is called once it begins. Raises
        ApiError.
        """
        params = {
            **selector,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        connection = await self._ready()
        try:
            with named(url=connection.access.host + path, seconds=SILENCE):
                async with self._open(
                    connection, "GET", path, params=params, headers={"Accept": JSON}, read_seconds=SILENCE
                ) as response:
                    if response.status_code == httpx.codes.UNAUTHORIZED:
                        await self._renew(connection)
                    if response.status_code != httpx.codes.OK:
                        raise self._refused(
                            f"WATCH {path}",
                            connection,
                            response,
                            await _body(response, most=ANSWER_BYTES) or b"",
                        )
                    opened()
                    async with aclosing(_lines(response)) as lines:
                        async for line in lines:
                            yield _event(path, line)
        except CallFault as fault:
            raise silent(f"WATCH {path}", access=connection.access, fault=fault) from fault

    async def _page(self, path: str, params: Mapping[str, str], *, accept: str, most: int) -> bytes | None:
        """None when it has more bytes than that."""
        for last in (False, True):
            connection = await self._ready()
            try:
                with named(url=connection.access.host + path, seconds=self._timeout):
                    async with self._open(
                        connection, "GET", path, params=params, headers={"Accept": accept}
                    ) as response:
                        content = await _body(response, most=most)
            except CallFault as fault:
                raise silent(f"GET {path}", access=connection.access, fault=fault) from fault
            if response.status_code == httpx.codes.UNAUTHORIZED and not last:
                await self._renew(connection)
                continue
            break
        if not response.is_success:
            raise self._refused(f"GET {path}", connection, response, content or b"")
        if content is None and most == ANSWER_BYTES:
            msg = f"GET {path}: one object has more than {ANSWER_BYTES} bytes"
            raise ApiError(msg, kind=Kind.INVALID_BODY)
        return content

    @asynccontextmanager
    async def _open(
        self,
        connection: _Connection,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        read_seconds: float | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Learns the server's time when the headers have arrived."""
        access, extensions = connection.access, dict[str, Any]()
        if access.server_name:
            extensions["sni_hostname"] = access.server_name
        if method != "GET" and (admit := self._admit) is not None:

            async def look(event: str, _info: Mapping[str, Any]) -> None:
                if event in LAST_MOMENTS:
                    admit(method, path)

            admit(method, path)
            extensions["trace"] = look
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
        sent = self._time.monotonic()
        async with stream as response:
            self.clock.learn(response.headers.get("Date"), sent=sent, received=self._time.monotonic())
            yield response

    async def _ready(self) -> _Connection:
        """The connection, made anew when a credential file changed since the last look."""
        async with self._lock:
            connection = self._connection
            if connection is not None:
                now = self._time.monotonic()
                if now - self._checked < RECHECK_SECONDS or not connection.access.files:
                    return connection
                self._checked = now
                if (
                    await asyncio.to_thread(fingerprint, connection.access.files)
                    == connection.access.fingerprint
                ):
                    return connection
                log.info("credentials of %s changed on disk, reading them again", connection.access.host)
            return await self._connect()

    async def _renew(self, refused: _Connection) -> None:
        """All requests of a moment are refused at once: one of them reads the credentials anew, and none
        closes what another works with.
        """
        async with self._lock:
            if self._connection is refused:
                await self._connect()

    async def _connect(self) -> _Connection:
        old = self._connection
        try:
            access = await asyncio.to_thread(self._load)
        except AccessError as error:
            if old is None:
                raise ApiError(str(error), kind=Kind.CREDENTIALS) from error
            # A certificate and its key are replaced one after the other on some systems: keep the old pair
            # until both fit.
            log.warning("credentials on disk cannot be used yet, keeping the old ones: %s", error)
            return old
        client = httpx.AsyncClient(
            verify=access.trust,
            proxy=access.proxy,
            trust_env=False,
            headers=self._headers | ({"Authorization": access.authorization} if access.authorization else {}),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=60.0),
            follow_redirects=False,
        )
        self._connection = _Connection(access=access, client=client)
        self._checked = self._time.monotonic()
        if old is not None:
            self._retirement.add(old.client)
        return self._connection

    def _refused(
        self, what: str, connection: _Connection, response: httpx.Response, content: bytes
    ) -> ApiError:
        return refused(
            what,
            access=connection.access,
            status=response.status_code,
            phrase=response.reason_phrase,
            headers=response.headers,
            content=content,
            now=self._time.wall(),
        )


class Paging:
    """How a list is asked for, page by page, so that pages have about PAGE_BYTES whatever the size of the
    objects.
    """

    def __init__(self, selector: Mapping[str, str]) -> None:
        self._selector = selector
        self._limit = PAGE
        self._more: str | None = ""
        """Where the next page begins; None after the last one."""

    def params(self) -> dict[str, str] | None:
        """Of the next request; None after the last page."""
        if self._more is None:
            return None
        return {
            "limit": str(self._limit),
            **self._selector,
            **({"continue": self._more} if self._more else {}),
        }

    @property
    def most(self) -> int:
        """Bytes after which the page is given up. A single object cannot be asked for in parts."""
        return ANSWER_BYTES if self._limit == 1 else MOST_PAGE_BYTES

    def too_large(self) -> None:
        """The page was given up; the same objects are asked for again, fewer at a time."""
        self._limit = max(1, self._limit // 4)

    def taken(self, *, size: int, count: int, more: str) -> None:
        """A page of so many bytes and objects was read; ``more`` is its continue token."""
        if count:
            self._limit = max(1, min(PAGE, self._limit * 2, PAGE_BYTES * count // size))
        self._more = more or None


def refused(
    what: str,
    *,
    access: Access,
    status: int,
    phrase: str,
    headers: Mapping[str, str],
    content: bytes,
    now: float,
) -> ApiError:
    """The error of an answer that is no success. ``headers`` have lower-case names, or do not care."""
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = None
    message = decoded.get("message") if isinstance(decoded, dict) else content
    words = hide(excerpt(message if isinstance(message, str | bytes) else "") or phrase, access.token)
    wait = retry_after(headers, now=now, most=MAX_RETRY_AFTER)
    return ApiError(f"{what}: {status} {words}", status=status, wait=wait)


def silent(what: str, *, access: Access, fault: CallFault) -> ApiError:
    """The error of a call without an answer."""
    return ApiError(
        f"{what}: the API server does not answer: {hide(str(fault), access.token)}", kind=fault.kind
    )


async def _body(response: httpx.Response, *, most: int) -> bytes | None:
    """The decoded body; None when it is larger, and the rest is not read."""
    pieces, size = list[bytes](), 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)


async def _take(path: str, content: bytes, take: Callable[[msgspec.Raw], None]) -> tuple[_Meta, int]:
    """Metadata and number of items of a page whose items have been taken."""
    try:
        listing = msgspec.json.decode(content, type=_Listing)
    except msgspec.DecodeError as error:
        # A page of something else between us and the API server.
        msg = f"GET {path}: the answer is no list: {error}"
        raise ApiError(msg, kind=Kind.INVALID_BODY) from error
    taken = 0
    for item in listing.items or ():
        take(item)
        taken += len(memoryview(item))
        if taken >= TURN_BYTES:
            taken = 0
            await asyncio.sleep(0)
    return listing.metadata, len(listing.items or ())


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Lines end at the newline byte alone: texts inside the JSON may hold other characters that Python takes
    for line breaks.
    """
    begun = list[bytes]()
    async for chunk in response.aiter_bytes():
        first, *others = chunk.split(b"\n")
        begun.append(first)
        for other in others:
            if line := b"".join(begun):
                yield line
            begun = [other]


def _event(path: str, line: bytes) -> WatchEvent:
    try:
        return msgspec.json.decode(line, type=WatchEvent)
    except msgspec.DecodeError as error:
        msg = f"WATCH {path}: the answer is no event: {error}"
        raise ApiError(msg, kind=Kind.INVALID_BODY) from error
