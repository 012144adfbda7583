"""The ASGI application around a scoring function: POST to score, /config, /healthz and /metrics."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

import msgspec

from dsf_scorer import http, settings
from dsf_scorer.definition import Definition
from dsf_scorer.errors import RefusedError
from dsf_scorer.function import Function
from dsf_scorer.http import Receive, Response, Scope, Send
from dsf_scorer.request import Scored
from dsf_scorer.settings import Settings

_log = logging.getLogger(__name__)

CLIENT_GONE: Final = 499
"""Status in the metrics for a request whose client disconnected. It is never sent."""


class ScorerApp:
    """A scoring API. Serve it with any ASGI server, or with ``gitops-dsf scorer run module:app``."""

    def __init__(
        self,
        *,
        definition: Definition,
        function: Function,
        settings: Settings,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        # Importing the package needs no extra, so tools that only name or check a scorer work without one.
        from dsf_scorer.metrics import Metrics  # noqa: PLC0415

        self.definition = definition
        self.settings = settings
        self._function = function
        self._metrics = Metrics(score_name=definition.name)
        self._clock = clock
        self._places = asyncio.Semaphore(settings.max_concurrent)
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
            msg = f"a scoring API speaks HTTP, not {scope['type']}"
            raise RuntimeError(msg)

    async def _respond(self, scope: Scope, receive: Receive) -> Response | None:
        prefix, path = http.path_of(scope)
        method = scope["method"]
        if path == self.definition.path:
            if method != "POST":
                return _not_allowed("POST", f"{path} is answered on POST")
            return await self._measured(scope, receive)
        pages: dict[str, Callable[[], Response]] = {
            "/config": lambda: Response(body=msgspec.json.encode(self.definition.config(prefix=prefix))),
            "/healthz": self._health,
            "/metrics": lambda: Response(body=self._metrics.text(), content_type=self._metrics.content_type),
        }
        if path not in pages:
            known = ", ".join([f"POST {self.definition.path}", *(f"GET {page}" for page in pages)])
            return http.error(404, f"there is no {path[:200]} here; this scoring API answers {known}")
        if method not in {"GET", "HEAD"}:
            return _not_allowed("GET, HEAD", f"{path} is answered on GET")
        return pages[path]()

    def _health(self) -> Response:
        try:
            settings.accepted(self.settings)
        except RefusedError as refusal:
            return http.error(refusal.status, str(refusal), headers=refusal.headers)
        return Response(body=b'{"status":"ok"}')

    async def _measured(self, scope: Scope, receive: Receive) -> Response | None:
        self._metrics.began()
        began = self._clock()
        code = 500
        try:
            response = await self._answered(scope, receive)
            code = response.status if response is not None else CLIENT_GONE
            return response
        finally:
            self._metrics.ended(code=code, seconds=self._clock() - began)

    async def _answered(self, scope: Scope, receive: Receive) -> Response | None:
        """Turns every failure into a response. The details of a bug are only logged, because the caller may
        be anyone with the token.
        """
        try:
            return await self._score(scope, receive)
        except RefusedError as refusal:
            return http.error(refusal.status, str(refusal), headers=refusal.headers)
        except http.ClientGone:
            return None
        except Exception as error:  # noqa: BLE001 - the author's code may raise anything; the server must go on
            _log.exception("scorer %s: the scoring function failed", self.definition.name)
            return http.error(
                500,
                f"the scoring function failed with {type(error).__name__}; the scorer's log has the"
                " traceback",
            )

    async def _score(self, scope: Scope, receive: Receive) -> Response:
        settings.check(self.settings, http.header(scope, b"authorization"))
        scored = await self._in_turn(scope, receive)
        self._metrics.scored(scored)
        if scored.dropped:
            text = "scorer %s: dropped %d scores that were not finite"
            _log.warning(text, self.definition.name, scored.dropped)
        return Response(body=scored.body)

    async def _in_turn(self, scope: Scope, receive: Receive) -> Scored:
        """Reads and scores a request when there is a place for it. Work that outlives its request keeps the
        place until it ends: a thread cannot be stopped.
        """
        settings = self.settings
        if self._places.locked() and self._waiting >= settings.max_waiting:
            msg = "too many scoring requests are waiting"
            raise RefusedError(msg, status=503, headers={"retry-after": "5"})
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        job: asyncio.Task[Scored] | None = None
        try:
            limit, seconds = settings.max_body_bytes, settings.read_timeout_seconds
            body = await http.read_body(scope, receive, limit=limit, seconds=seconds)
            job = asyncio.create_task(self._function(body, max_series=settings.max_series))
            await asyncio.wait({job}, timeout=settings.timeout_seconds)
        finally:
            if job is None:
                self._places.release()
            else:
                job.add_done_callback(lambda _: self._places.release())
                if self._function.is_async:
                    job.cancel()
        if not job.done():
            msg = (
                f"no score after {settings.timeout_seconds:g} s; ask for fewer series or points, or raise"
                " SCORER_TIMEOUT_SECONDS"
            )
            raise RefusedError(msg, status=503, headers={"retry-after": "30"})
        return job.result()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                if not (self.settings.token or self.settings.token_file):
                    _log.warning(
                        "scorer %s: no token is set, so every caller is served", self.definition.name
                    )
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await send({"type": "lifespan.shutdown.complete"})
                return


def _not_allowed(allow: str, message: str) -> Response:
    return http.error(405, message, headers={"allow": allow})
