"""The client of an API server for commands, which wait for each answer: an httpx.Client.

Each call runs in a thread of its own, so that a person can be told when the server is silent, and
so that Ctrl-C ends the command at once.

Guaranteed: after a 401 the credentials are read again, once for all requests that got one. A busy
server is asked again when it says, as client-go does. A read is sent again if the server closed the
connection; a write is not, because it may have taken effect. The next page of a list is requested
while the caller works on the present one.

Not guaranteed: a time limit for a whole call. ``timeout_seconds`` limits each step, so a server
that sends slowly holds the command as long as it likes. Nor that a write without an answer had no
effect.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx

from dsf_runtime import answers
from dsf_runtime.access import Access, AccessError
from dsf_runtime.apicontent import ANSWER_BYTES, JSON, encoded, whole
from dsf_runtime.apierrors import ApiError, as_api_errors, refusal
from dsf_runtime.calls import FailureKind
from dsf_runtime.clock import HubClock
from dsf_runtime.connections import client_options
from dsf_runtime.paging import Paging

T = TypeVar("T")

SENT: Final = "http11.send_request_body.complete"
"""httpcore's event after it has written a request."""
BUSY_RETRIES: Final = 10
BUSY_SECONDS: Final = 10.0
"""A busy server is asked again this often, as client-go does, if each wait is at most this long."""
SEND_SECONDS: Final = 0.1
"""The time limit until a request is written, which is soon over a connection that is open."""


class BlockingApiServer:
    """A client that reads credentials with ``load`` at once, and again after a 401.

    Raises AccessError. A server that is too busy is asked again when it says. A call runs in a
    thread, so that a person can be told when the server is silent.
    """

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        user_agent: str,
        timeout_seconds: float,
        quiet_seconds: float | None = None,
        on_silence: Callable[[], None] = lambda: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``on_silence`` is called once, when an answer takes longer than ``quiet_seconds``."""
        self.clock = HubClock()
        """The server's clock."""
        self._load = load
        self._headers = {"User-Agent": user_agent}
        self._sleep = sleep
        self._timeout = timeout_seconds
        self._quiet_seconds = quiet_seconds
        self._on_silence = on_silence
        self._lock = threading.Lock()
        self._running: set[Future[Any]] = set()
        self._closing = False
        self._clients: list[httpx.Client] = []
        """The clients. Those before the last one may still read answers."""
        self._connected = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections.

        That of a page that is not wanted any more is closed when the page has arrived: no socket is
        closed while another thread reads from it.
        """
        self._closing = True
        if not self._running:
            self._close_clients()

    def get(self, path: str, *, accept: str = JSON, **params: str) -> bytes:
        """Reads one path. Raises ApiError."""
        return self._answer(
            lambda: self._whole("GET", path, params=params, headers={"Accept": accept})
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str],
        body: object,
        content_type: str = JSON,
    ) -> bytes:
        """Sends a request once. Raises ApiError."""
        sent = encoded(body, content_type=content_type)
        return self._waited(
            self._started(
                lambda: self._whole(
                    method, path, params=params, headers=sent.headers, content=sent.content
                )
            )
        )

    def pages(self, path: str, *, accept: str = JSON, **selector: str) -> Iterator[bytes]:
        """Yields the pages of a list, not decoded.

        The next one is requested before the caller works on this one. Raises ApiError; status 410
        means that the list must be read again.
        """
        paging = Paging(selector)
        headers = {"Accept": accept}
        sent = threading.Event()

        def traced(event: str, _info: Mapping[str, Any]) -> None:
            if event == SENT:
                sent.set()

        def call() -> bytes | None:
            params = paging.params()
            return self._send(
                "GET", path, params=params, headers=headers, limit=paging.max_bytes, trace=traced
            )

        coming = self._started(call)
        while paging.params() is not None:
            content = self._answer(call, started=coming)
            # The next request asks for fewer objects of the same place in the list.
            if content is None:
                paging.too_large(path)
            else:
                paging.arrived(content)
            if paging.params() is not None:
                sent.clear()
                coming = self._started(call)
                # While a page is decoded no other thread runs, and the server would wait for the
                # request.
                sent.wait(SEND_SECONDS)
            if content is not None:
                yield content

    def _whole(self, method: str, path: str, **how: Any) -> bytes:  # noqa: ANN401 - the arguments of _send
        return whole(f"{method} {path}", self._send(method, path, limit=ANSWER_BYTES, **how))

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        limit: int,
        content: bytes | None = None,
        trace: Callable[[str, Mapping[str, Any]], None] | None = None,
    ) -> bytes | None:
        """The body of the answer, None if it is larger than ``limit``.

        Raises ApiError unless it is 2xx.
        """
        operation = f"{method} {path}"
        renewed = False
        busy = 0
        while True:
            # Read in each round: another thread may have renewed the credentials after its 401.
            client, access = self._connected
            with as_api_errors(operation, access, path, seconds=self._timeout):
                extensions: dict[str, Any] = {"trace": trace} if trace else {}
                if access.server_name:
                    extensions["sni_hostname"] = access.server_name
                sent = self.clock.steady()
                with client.stream(
                    method,
                    access.host + path,
                    params=params,
                    content=content,
                    headers=headers,
                    extensions=extensions,
                ) as response:
                    self.clock.learn(
                        response.headers.get("Date"), sent=sent, received=self.clock.steady()
                    )
                    answer = _body(response, limit=limit)
            if response.is_success:
                return answer
            error = refusal(operation, access, response, answer, now=self.clock.wall())
            if error.status == HTTPStatus.UNAUTHORIZED and not renewed:
                renewed = True
                self._renew(client)
                continue
            # API Priority and Fairness answers 429 with Retry-After and has done nothing, so that a
            # write can be sent again, too.
            seconds = error.retry_after if error.status == HTTPStatus.TOO_MANY_REQUESTS else None
            if seconds is None or seconds > BUSY_SECONDS or busy == BUSY_RETRIES:
                raise error
            busy += 1
            self._sleep(seconds)

    def _connect(self) -> tuple[httpx.Client, Access]:
        access = self._load()
        client = httpx.Client(**client_options(access, self._headers), timeout=self._timeout)
        self._clients.append(client)
        return client, access

    def _renew(self, refused: httpx.Client) -> None:
        """Reads the credentials again after a 401, once for all requests that got one."""
        with self._lock:
            try:
                # Otherwise another request with the same 401 was here first.
                if self._clients[-1] is refused:
                    self._connected = self._connect()
            except AccessError as error:
                raise ApiError(str(error), kind=FailureKind.CREDENTIALS) from error

    def _started(self, call: Callable[[], T]) -> "Future[T]":
        """A call in a thread of its own, for which the process does not wait when it ends."""
        future = Future[T]()
        self._running.add(future)

        def run() -> None:
            try:
                answer = call()
            # Before the result is set: whoever has it may call `close`, which asks what still runs.
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is taken
                self._ended(future)
                future.set_exception(error)
            else:
                self._ended(future)
                future.set_result(answer)

        threading.Thread(target=run, name="API server", daemon=True).start()
        return future

    def _ended(self, call: "Future[Any]") -> None:
        self._running.discard(call)
        if self._closing and not self._running:
            self._close_clients()

    def _close_clients(self) -> None:
        for client in self._clients:
            client.close()

    def _answer(self, call: Callable[[], T], *, started: "Future[T] | None" = None) -> T:
        """The answer to a call. It is sent once more if the server closed the connection."""
        try:
            # A server may close an idle connection just when a request is sent over it. Only reads
            # are repeated: a write may have taken effect.
            return self._waited(started or self._started(call))
        except ApiError as error:
            if error.kind is not FailureKind.CONNECTION_LOST:
                raise
        return self._waited(self._started(call))

    def _waited(self, call: "Future[T]") -> T:
        """The result of a call. Says once that the server is silent, if it does not answer soon."""
        if not wait((call,), timeout=self._quiet_seconds).done:
            # Said once for a whole command, which may send hundreds of requests.
            self._quiet_seconds = None
            self._on_silence()
        return call.result()


def _body(response: httpx.Response, *, limit: int) -> bytes | None:
    try:
        body = answers.Body(response.headers, limit=limit)
        for chunk in response.iter_raw():
            body.add(chunk)
    except answers.TooLargeError:
        return None
    return b"".join(body.chunks)
