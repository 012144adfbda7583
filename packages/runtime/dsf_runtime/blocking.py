"""The client of an API server for code without an event loop: it runs one in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Self, TypeVar

from dsf_runtime.access import Access
from dsf_runtime.apianswers import ApiError, Paging
from dsf_runtime.apiserver import JSON, ApiServer
from dsf_runtime.calls import FailureKind
from dsf_runtime.clock import HubClock

T = TypeVar("T")


class BlockingApiServer:
    """Reads credentials with ``load`` at once, and again after a 401. Raises AccessError."""

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        user_agent: str,
        timeout_seconds: float,
        quiet_seconds: float | None = None,
        on_silence: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_silence`` is called once, when an answer takes longer than ``quiet_seconds``."""
        first = [load()]
        self._quiet_seconds, self._on_silence = quiet_seconds, on_silence
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="API server", daemon=True)
        self._thread.start()
        self._server = ApiServer(
            load=lambda: first.pop() if first else load(),
            user_agent=user_agent,
            timeout_seconds=timeout_seconds,
            patient=True,
        )

    @property
    def clock(self) -> HubClock:
        """The server's clock."""
        return self._server.clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections, also that of a page that was asked for and is not wanted any more."""
        if not self._loop.is_closed():
            self._started(self._end()).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def get(self, path: str, *, accept: str = JSON, **params: str) -> bytes:
        """Reads one path. Raises ApiError."""
        return self._answer(lambda: self._server.request("GET", path, params=params, accept=accept))

    def request(
        self, method: str, path: str, *, params: Mapping[str, str], body: object, content_type: str = JSON
    ) -> bytes:
        """Sends a request once. Raises ApiError."""
        call = self._server.request(method, path, params=params, body=body, content_type=content_type)
        return self._started(call).result()

    def pages(self, path: str, *, accept: str = JSON, **selector: str) -> Iterator[bytearray]:
        """Yields the pages of a list, not decoded. The next one is requested before the caller works on this
        one. Raises ApiError; status 410 means that the list must be read again.
        """
        paging = Paging(selector)

        def call() -> Coroutine[Any, Any, bytearray | None]:
            return self._server.page(path, paging, accept=accept)

        coming = self._started(call())
        while paging.params() is not None:
            content = self._answer(call, started=coming)
            if content is None:
                paging.too_large(path)
            else:
                paging.arrived(content)
            if paging.params() is not None:
                coming = self._started(call())
            if content is not None:
                yield content

    async def _end(self) -> None:
        await self._server.close()
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def _started(self, call: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(call, self._loop)

    def _answer(self, call: Callable[[], Coroutine[Any, Any, T]], *, started: "Future[T] | None" = None) -> T:
        """The answer to a call. It is sent once more if the server closed the connection."""
        try:
            return self._waited(started or self._started(call()))
        except ApiError as error:
            if error.kind is not FailureKind.CONNECTION_LOST:
                raise
        return self._waited(self._started(call()))

    def _waited(self, call: "Future[T]") -> T:
        """The result of a call. Says once that the server is silent, if it does not answer soon."""
        if not wait((call,), timeout=self._quiet_seconds).done:
            self._quiet_seconds = None
            self._on_silence()
        return call.result()
