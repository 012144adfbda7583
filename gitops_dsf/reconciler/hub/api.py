"""The hub's Kubernetes API: requests, pages and watches as raw JSON, over one connection pool, credentials read anew when refused."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import httpx
import msgspec

from dsf_runtime.clock import Clock, HubClock, SystemClock
from gitops_dsf.errors import HubError
from gitops_dsf.live.access import Access
from gitops_dsf.reconciler.hub.fence import DELETION_SECONDS, Fence, Refusal

PAGE: Final = 500
"""Objects per request: the API server answers pages of this size in milliseconds."""
WATCH_SECONDS: Final = 240
"""After which the server ends a watch; bookmarks come about every minute."""
MERGE: Final = "application/merge-patch+json"
LAST_MOMENTS: Final = frozenset({"http11.send_request_headers.started", "http11.send_request_body.started"})
"""Events of httpcore right before it writes to the connection. A server does not act on headers whose body never comes."""


class ApiError(Exception):
    """The hub refused or did not answer; status 0 without an answer."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class NotSentError(ApiError):
    """The write was not sent, or not whole: the hub has seen nothing that it could act on."""

    def __init__(self, message: str, *, refusal: Refusal) -> None:
        super().__init__(message)
        self.refusal = refusal


class _Meta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "more": "continue"}):
    resource_version: str = ""
    more: str = ""


class Listing(msgspec.Struct, frozen=True):
    """One page of a list; its items stay undecoded."""

    metadata: _Meta
    items: list[msgspec.Raw]


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class HubApi:
    """An asynchronous context manager. `load` reads the credentials; it is asked again after a 401.

    `fence` is asked before every write. Without one nothing can be deleted, and all other writes are sent: so is the Lease itself written.
    """

    def __init__(
        self, *, load: Callable[[], Access], fence: Fence | None = None, timeout_seconds: float = 15.0, clock: Clock | None = None
    ) -> None:
        self._load = load
        self._fence = fence
        self._timeout = timeout_seconds
        self._deletions: set[asyncio.Task[None]] = set()
        self._time = clock or SystemClock()
        self._client = self._connect()
        self._retired: httpx.AsyncClient | None = None
        """The client before it, which may still have requests under way."""
        self.clock = HubClock(clock=self._time)

    def _connect(self) -> httpx.AsyncClient:
        access = self._load()
        headers = {"Accept": "application/json", "User-Agent": "gitops-dsf-reconciler"}
        if access.authorization:
            headers["Authorization"] = access.authorization
        return httpx.AsyncClient(
            base_url=access.host,
            verify=access.trust,
            proxy=access.proxy,
            trust_env=False,
            headers=headers,
            timeout=httpx.Timeout(self._timeout, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for client in (self._client, self._retired):
            if client is not None:
                await client.aclose()

    def now(self) -> float:
        """Seconds since 1970 by the hub's clock, which decides what is expired."""
        return self.clock.wall()

    async def get(self, path: str, **parameters: str) -> bytes:
        """One object or page. Raises ApiError."""
        return await self._send("GET", path, parameters=parameters)

    async def pages(self, path: str, **selector: str) -> AsyncIterator[Listing]:
        """A whole list, page by page; `selector` is fieldSelector or labelSelector. Raises ApiError."""
        more = ""
        while True:
            parameters = {"limit": str(PAGE), **selector, **({"continue": more} if more else {})}
            page = _listing(path, await self.get(path, **parameters))
            yield page
            more = page.metadata.more
            if not more:
                return

    async def watch(
        self, path: str, *, resource_version: str, opened: Callable[[], None] = lambda: None, **selector: str
    ) -> AsyncIterator[WatchEvent]:
        """Changes after a version until the server ends the watch; `opened` is called once it begins. Raises ApiError."""
        parameters = {
            **selector,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        patience = httpx.Timeout(self._timeout, read=WATCH_SECONDS / 2, pool=None)
        client = self._client
        try:
            async with client.stream("GET", path, params=parameters, timeout=patience) as response:
                if response.status_code == httpx.codes.UNAUTHORIZED:
                    await self._reconnect(client)
                if response.status_code != httpx.codes.OK:
                    await response.aread()
                    raise _refused("WATCH", path, response)
                opened()
                async for line in _lines(response):
                    yield msgspec.json.decode(line, type=WatchEvent)
        except (httpx.HTTPError, OSError, msgspec.DecodeError) as error:
            raise _silent("WATCH", path, error) from error

    async def merge(self, path: str, change: Mapping[str, Any]) -> bytes:
        """A JSON merge patch. Raises ApiError."""
        return await self._send("PATCH", path, body=change, media=MERGE, parameters={"fieldManager": "gitops-dsf-reconciler"})

    async def create(self, path: str, item: Mapping[str, Any]) -> bytes:
        """A new object. Raises ApiError; status 409 when it exists."""
        return await self._send("POST", path, body=item)

    async def delete(self, path: str, *, uid: str, resource_version: str = "") -> None:
        """One object, if it is still this one (and this version).

        Raises ApiError: 404 when it is gone, 409 when it is another; NotSentError when this replica may not delete now. When the caller is
        cancelled the request goes on to its end, so that its outcome is known before another replica is let in (`settled`).
        """
        task = asyncio.create_task(self._delete(path, uid=uid, resource_version=resource_version))
        self._deletions.add(task)
        task.add_done_callback(self._ended)
        await asyncio.shield(task)

    def no_deletion(self) -> Refusal | None:
        """What speaks against any deletion now; asked again when one is sent."""
        return _NO_FENCE if self._fence is None else self._fence.deletion()

    async def settled(self) -> bool:
        """Waits for the end of all deletions; False when one of the last had no answer, and may still take effect."""
        await asyncio.gather(*self._deletions, return_exceptions=True)
        return self._fence is None or self._fence.clean

    async def replace(self, path: str, item: Mapping[str, Any]) -> bytes:
        """The whole object. Raises ApiError; status 409 when somebody else changed it since it was read."""
        return await self._send("PUT", path, body=item)

    async def _delete(self, path: str, *, uid: str, resource_version: str) -> None:
        conditions = {"uid": uid, **({"resourceVersion": resource_version} if resource_version else {})}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        try:
            await self._send("DELETE", path, body=body, seconds=DELETION_SECONDS)
        except NotSentError:
            raise
        except ApiError as error:
            # Without an answer, and after an error of the server, it may have been done or be done later.
            if self._fence is not None and (not error.status or error.status >= httpx.codes.INTERNAL_SERVER_ERROR):
                self._fence.unanswered()
            raise

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._deletions.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waited for it may be gone

    def _ask(self, method: str, path: str) -> None:
        """Raises NotSentError when the fence refuses this request now."""
        if method == "DELETE":
            refusal = self.no_deletion()
        elif method == "GET" or self._fence is None:
            return
        else:
            refusal = self._fence.write()
        if refusal is not None:
            msg = f"{method} {path}: not sent: {refusal.message}"
            raise NotSentError(msg, refusal=refusal)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        media: str = "application/json",
        parameters: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """`seconds` limit each attempt as a whole."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": media}

        async def look(event: str, _info: Mapping[str, Any]) -> None:
            if event in LAST_MOMENTS:
                self._ask(method, path)

        for last in (False, True):
            client, sent = self._client, self._time.monotonic()
            self._ask(method, path)
            try:
                async with asyncio.timeout(seconds):
                    response = await client.request(
                        method, path, content=content, headers=headers, params=parameters or {}, extensions={"trace": look}
                    )
            except (httpx.HTTPError, OSError) as error:
                raise _silent(method, path, error) from error
            if response.status_code == httpx.codes.UNAUTHORIZED and not last:
                await self._reconnect(client)
                continue
            break
        self.clock.learn(response.headers.get("Date"), sent=sent, received=self._time.monotonic())
        if not response.is_success:
            raise _refused(method, path, response)
        return response.content

    async def _reconnect(self, refused: httpx.AsyncClient) -> None:
        """Tokens and certificates are replaced in place; what was read at the start expires.

        All requests of that moment are refused at once: one of them reads the credentials anew, and none closes what another works with.
        """
        if refused is not self._client:
            return
        try:
            fresh = self._connect()
        except HubError as error:
            raise ApiError(str(error)) from error
        old, self._retired, self._client = self._retired, refused, fresh
        if old is not None:
            await old.aclose()


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Lines end at the newline byte alone: texts inside the JSON may hold other characters that Python takes for line breaks."""
    rest = b""
    async for chunk in response.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _listing(path: str, answer: bytes) -> Listing:
    try:
        return msgspec.json.decode(answer, type=Listing)
    except msgspec.DecodeError as error:
        # A page of something else between us and the API server.
        msg = f"GET {path}: the answer is no list: {error}"
        raise ApiError(msg) from error


def _refused(method: str, path: str, response: httpx.Response) -> ApiError:
    try:
        words = str(response.json().get("message", ""))
    except (ValueError, AttributeError):
        words = response.text[:200]
    return ApiError(f"{method} {path}: {response.status_code} {words}", status=response.status_code)


def _silent(method: str, path: str, error: Exception) -> ApiError:
    return ApiError(f"{method} {path}: the hub does not answer: {str(error) or type(error).__name__}")


_NO_FENCE: Final = Refusal(reason="LeaseNotHeld", message="this connection writes the Lease alone", seconds=1.0)
