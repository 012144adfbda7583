"""The ASGI application around a scoring function: POST to score, /config, /healthz and /metrics.

A web framework would add three more packages to every image.
https://asgi.readthedocs.io/en/latest/specs/www.html

Guaranteed: a body is bounded in bytes, also if its header is wrong, and a mistake of the client is
a 4xx with the reason. Not guaranteed: TLS. A server or a proxy in front of it adds that.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import structs

from dsf_scorer import settings
from dsf_scorer.errors import RefusedError
from dsf_scorer.function import Function, Scored
from dsf_scorer.settings import Settings
from dsf_wire.scoring import ScorerConfig

_log = logging.getLogger(__name__)

CLIENT_GONE: Final = 499
"""Status in the metrics for a request whose client disconnected. It is never sent."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON = "application/json"
SMALL_BODY: Final = 1 << 20
"""Bytes of a request that are read beside any number of others that may wait."""


class ClientGone(Exception):  # noqa: N818 - an event, not a fault
    """The client disconnected before its request was complete."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """A complete response."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        headers = {
            "content-type": self.content_type,
            "content-length": str(len(self.body)),
            # A proxy must not answer /healthz or /metrics from its cache.
            "cache-control": "no-store",
            **self.headers,
        }
        # ASGI hands headers on as bytes.
        encoded = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": encoded})
        await send({"type": "http.response.body", "body": self.body})


def failure(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """An error response with its reason as ``{"error": "..."}``."""
    return Response(
        status=status, body=msgspec.json.encode({"error": message}), headers=headers or {}
    )


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header with this lower-case name."""
    return next((value for key, value in scope["headers"] if key == name), None)


def path_of(scope: Scope) -> tuple[str, str]:
    """(mount prefix, path below it). In some servers ``path`` includes ``root_path``."""
    prefix = str(scope.get("root_path", "")).rstrip("/")
    path = str(scope["path"])
    if prefix and (path == prefix or path.startswith(f"{prefix}/")):
        path = path[len(prefix) :] or "/"
    return prefix, path


async def read_body(
    scope: Scope,
    receive: Receive,
    *,
    limit: int,
    seconds: float,
    enter_large: Callable[[], Awaitable[object]],
) -> bytearray:
    """Reads the whole body.

    `enter_large` is awaited before more than SMALL_BODY is read. Raises RefusedError (413, 408) or
    ClientGone.
    """
    # The length in the header saves reading. It may be wrong or absent, so the bytes are counted,
    # too.
    declared = header(scope, b"content-length")
    if declared is not None and declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            is_large = False
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body += message.get("body", b"")
                if len(body) > limit:
                    raise _too_large(limit)
                if not message.get("more_body", False):
                    return body
                # Small bodies never wait for large ones.
                if len(body) > SMALL_BODY and not is_large:
                    is_large = True
                    await enter_large()
    except TimeoutError:
        raise RefusedError(
            f"the request did not arrive within {seconds:g} s",
            status=408,
            headers={"connection": "close"},
        ) from None


def _too_large(limit: int) -> RefusedError:
    # The rest of the body is not read, so the connection cannot be used again.
    return RefusedError(
        f"the request is larger than {limit} bytes; ask for fewer series or points, or raise"
        " SCORER_MAX_BODY_BYTES",
        status=413,
        headers={"connection": "close"},
    )


def _busy() -> RefusedError:
    return RefusedError(
        "too many scoring requests are waiting", status=503, headers={"retry-after": "5"}
    )


class ScorerApp:
    """A scoring API.

    Serve it with any ASGI server, or with ``gitops-dsf scorer run module:app``.
    """

    def __init__(
        self,
        *,
        config: ScorerConfig,
        function: Function,
        settings: Settings,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        # Importing the package needs no extra, so tools that only name or check a scorer work
        # without one.
        from dsf_scorer.metrics import Metrics  # noqa: PLC0415

        self.path = config.scoring.path
        self._config = config
        self._name = config.scoring.params.name
        self.settings = settings
        self._function = function
        self._metrics = Metrics(score_name=self._name)
        self._clock = clock
        self._places = asyncio.Semaphore(settings.max_concurrent)
        self._large = asyncio.Semaphore(settings.max_concurrent)
        """Places for large bodies that are read or wait for a place, which limit the memory."""
        self._reading = 0
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one HTTP request, or the server's lifespan."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            response = await self._respond(scope, receive)
            if response is not None:
                await response.send(send)
        else:
            raise RuntimeError(f"a scoring API speaks HTTP, not {scope['type']}")

    async def _respond(self, scope: Scope, receive: Receive) -> Response | None:
        prefix, path = path_of(scope)
        method = scope["method"]
        if path == self.path:
            if method != "POST":
                return failure(405, f"{path} is answered on POST", headers={"allow": "POST"})
            return await self._measured(scope, receive)
        pages: dict[str, Callable[[], Response]] = {
            "/config": lambda: Response(body=self._page(prefix)),
            "/healthz": self._health,
            "/metrics": lambda: Response(
                body=self._metrics.text(), content_type=self._metrics.content_type
            ),
        }
        if path not in pages:
            answered = ", ".join([f"POST {self.path}", *map("GET {}".format, pages)])
            # Cut, because a caller may send a path of any length.
            return failure(
                404, f"there is no {path[:200]} here; this scoring API answers {answered}"
            )
        if method not in {"GET", "HEAD"}:
            return failure(405, f"{path} is answered on GET", headers={"allow": "GET, HEAD"})
        return pages[path]()

    def _page(self, prefix: str) -> bytes:
        """The /config page. The prefix is the path at which another application mounts this one."""
        scoring = structs.replace(self._config.scoring, path=prefix + self.path)
        return msgspec.json.encode(structs.replace(self._config, scoring=scoring))

    def _health(self) -> Response:
        # Without a usable token file every scoring request would be refused, so it is not healthy.
        try:
            settings.accepted(self.settings)
        except RefusedError as refusal:
            return failure(refusal.status, str(refusal), headers=refusal.headers)
        return Response(body=b'{"status":"ok"}')

    async def _measured(self, scope: Scope, receive: Receive) -> Response | None:
        self._metrics.began()
        began = self._clock()
        # Stays if the server cancels this task, which `_answered` does not turn into a response.
        code = 500
        try:
            response = await self._answered(scope, receive)
            code = CLIENT_GONE
            if response is not None:
                code = response.status
            return response
        finally:
            self._metrics.ended(code=code, seconds=self._clock() - began)

    async def _answered(self, scope: Scope, receive: Receive) -> Response | None:
        """A response for every failure.

        Only the log has details of a bug: the caller may be anyone.
        """
        try:
            return await self._score(scope, receive)
        except RefusedError as refusal:
            return failure(refusal.status, str(refusal), headers=refusal.headers)
        except ClientGone:
            return None
        # The author's code may raise anything, and the server must go on.
        except Exception as error:  # noqa: BLE001
            _log.exception("scorer %s: the scoring function failed", self._name)
            return failure(
                500,
                f"the scoring function failed with {type(error).__name__}; the scorer's log has the"
                " traceback",
            )

    async def _score(self, scope: Scope, receive: Receive) -> Response:
        settings.check(self.settings, header(scope, b"authorization"))
        scored = await self._in_turn(scope, receive)
        self._metrics.scored(scored)
        if scored.dropped:
            _log.warning(
                "scorer %s: dropped %d scores that were not finite", self._name, scored.dropped
            )
        return Response(body=scored.body)

    async def _in_turn(self, scope: Scope, receive: Receive) -> Scored:
        """Reads a request, and then scores it in one of the places.

        A thread keeps its place until its end, because no thread can be stopped. The request is
        read first, so that a caller who sends a byte now and then holds no place.
        """
        settings = self.settings
        if self._reading >= settings.max_concurrent + settings.max_waiting:
            raise _busy()
        # Until the request has a place to be scored: from then on the places limit the memory.
        async with AsyncExitStack() as large:
            # Nothing is read of a request that would be refused afterwards.
            self._check_room()
            self._reading += 1
            try:
                body = await read_body(
                    scope,
                    receive,
                    limit=settings.max_body_bytes,
                    seconds=settings.read_timeout_seconds,
                    enter_large=lambda: large.enter_async_context(self._large),
                )
            finally:
                self._reading -= 1
            # The places may have filled while this request was read.
            self._check_room()
            self._waiting += 1
            try:
                await self._places.acquire()
            finally:
                self._waiting -= 1
        job: asyncio.Task[Scored] | None = None
        try:
            job = asyncio.create_task(self._function(body, max_series=settings.max_series))
            # Not wait_for, which cancels the job: its place would be free while its thread still
            # runs.
            await asyncio.wait({job}, timeout=settings.timeout_seconds)
        finally:
            # Also when this task is cancelled, because the client has gone.
            if job is None:
                self._places.release()
            else:
                job.add_done_callback(lambda _: self._places.release())
                # A thread cannot be stopped, so it keeps its place until it ends by itself.
                if self._function.is_async:
                    job.cancel()
        if not job.done():
            raise RefusedError(
                f"no score after {settings.timeout_seconds:g} s; ask for fewer series or points, or"
                " raise SCORER_TIMEOUT_SECONDS",
                status=503,
                headers={"retry-after": "30"},
            )
        return job.result()

    def _check_room(self) -> None:
        """Raises RefusedError if too many requests wait for a place."""
        if self._places.locked() and self._waiting >= self.settings.max_waiting:
            raise _busy()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        # The server sends both messages to one call.
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                if not (self.settings.token or self.settings.token_file):
                    _log.warning(
                        "scorer %s: no token is set, so every caller is served", self._name
                    )
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await send({"type": "lifespan.shutdown.complete"})
                return
