"""Sends the requests of a pipeline to its forge, with the standard library alone.

Each request has a time limit as a whole, and so have all of them together. A time-out of a socket
is not enough: it starts again with each byte that arrives.
"""

import base64
import http.client
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from dsf_wire.proxies import Proxies
from gitops_dsf.forge.ratelimit import asked_wait
from gitops_dsf.forge.sending import ForgeAnswer, ForgeError, Sign

MAX_ANSWER_BYTES: Final = 32 << 20
"""Upper limit of the bytes that are read of one answer."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another server."""

    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - the signature of the library
        return None


@dataclass
class Sender:
    """See `gitops_dsf.forge.Send`. A pipeline does nothing else meanwhile, so it may block."""

    token: str = field(repr=False)
    seconds: float = field(default=30.0, kw_only=True)
    """The time limit for one request, from the name of the host to the last byte of the answer."""
    seconds_left: float = field(default=180.0, kw_only=True)
    """Seconds for all requests that are still to come."""

    async def __call__(
        self, method: str, url: str, *, sign: Sign, body: bytes | None
    ) -> ForgeAnswer:
        """Raises ForgeError."""
        # A request without time would be sent all the same, and its answer would not be read.
        if self.seconds_left <= 0:
            raise ForgeError("the requests of this job have used up their time: the forge is slow")
        seconds = min(self.seconds, self.seconds_left)
        began = time.monotonic()
        try:
            return _within(seconds, lambda: self._send(method, url, sign=sign, body=body))
        except TimeoutError:
            raise ForgeError(f"there was no complete answer within {seconds:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ForgeError(str(error)) from error
        finally:
            self.seconds_left = max(0.0, self.seconds_left - (time.monotonic() - began))

    def _send(self, method: str, url: str, *, sign: Sign, body: bytes | None) -> ForgeAnswer:
        headers = {
            "User-Agent": "gitops-dsf",
            "Content-Type": "application/json",
            **sign(self.token),
        }
        # The URL comes from the forge's own variables, so its scheme is not checked (S310).
        request = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310
        # Proxies are chosen for each request, because urllib knows no address ranges in NO_PROXY.
        proxy = Proxies.of(os.environ).proxy_for(url)
        if proxy:
            _go_through(proxy, request)
        opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=self.seconds) as answer:
                return ForgeAnswer(answer.status, bytes(answer.read(MAX_ANSWER_BYTES)))
        except urllib.error.HTTPError as error:
            with error:
                # A server may repeat the request in its answer, and messages quote the answer.
                content = error.read(MAX_ANSWER_BYTES).replace(self.token.encode(), b"(token)")
            names = {name.lower(): value for name, value in error.headers.items()}
            wait = asked_wait(error.code, names, content, now=time.time())
            return ForgeAnswer(error.code, content, wait)


def _go_through(proxy: str, request: urllib.request.Request) -> None:
    """Makes a request use a proxy. User and password are in the URL of the proxy."""
    parts = urlsplit(proxy)
    credentials, _, host = parts.netloc.rpartition("@")
    if credentials:
        encoded = base64.b64encode(unquote(credentials).encode()).decode()
        request.add_header("Proxy-Authorization", f"Basic {encoded}")
    request.set_proxy(host, parts.scheme)


def _within(seconds: float, call: Callable[[], ForgeAnswer]) -> ForgeAnswer:
    """The result of a blocking call. Raises TimeoutError.

    After that the call goes on in its thread, for which the process does not wait when it ends.
    """
    future = Future[ForgeAnswer]()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is taken
            future.set_exception(error)

    # A daemon: a name server or a proxy that does not answer must not hold the pipeline's job open.
    threading.Thread(target=run, name="forge", daemon=True).start()
    return future.result(timeout=seconds)
