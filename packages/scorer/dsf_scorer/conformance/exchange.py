"""Sends HTTP requests with limits of time and size. Follows no redirects."""

import http.client
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final, Protocol
from urllib.parse import urlsplit

from dsf_scorer.conformance.target import split_http

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 65_536


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response; header names are in lower case. ``fault`` says why there is none; then the status is 0."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    fault: str = ""

    @property
    def media(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Client(Protocol):
    """The HTTP client that the checks need."""

    def send(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Sends one request. Never raises because of the server."""


@dataclass(frozen=True, kw_only=True)
class HttpClient:
    """A client on the standard library. It follows no redirects and adds no headers, so that a check sends
    exactly what it means to.
    """

    timeout_seconds: float = 30.0
    """For a whole exchange; the same as the agent's."""
    tls: ssl.SSLContext | None = None

    def send(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        began = time.monotonic()
        try:
            with closing(self._connection(url)) as connection:
                _request(connection, method, urlsplit(url).path or "/", headers, body)
                reply = self._answer(connection.getresponse(), began=began)
        except TimeoutError:
            reply = Reply(fault=f"no complete answer within {self.timeout_seconds:g} s")
        except ssl.SSLCertVerificationError as error:
            reply = Reply(fault=f"its certificate is not trusted: {error.verify_message}")
        except (OSError, http.client.HTTPException) as error:
            reply = Reply(fault=f"no answer: {str(error) or type(error).__name__}")
        return replace(reply, seconds=time.monotonic() - began)

    def _connection(self, url: str) -> http.client.HTTPConnection:
        parts = split_http(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, parts.port, timeout=self.timeout_seconds, context=self.tls
            )
        return http.client.HTTPConnection(host, parts.port, timeout=self.timeout_seconds)

    def _answer(self, response: http.client.HTTPResponse, *, began: float) -> Reply:
        content = bytearray()
        # The socket's time limit applies to each read. A slow response must end, too.
        while chunk := response.read1(_CHUNK):
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                return Reply(fault=f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
            if time.monotonic() - began > self.timeout_seconds:
                raise TimeoutError
        declared = response.getheader("content-length", "")
        if declared.isdigit() and len(content) < int(declared):
            return Reply(fault=f"the answer ended after {len(content)} of {declared} bytes")
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(status=response.status, headers=headers, body=bytes(content))


def _request(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | None,
) -> None:
    try:
        connection.request(method, path, body=body, headers={"Connection": "close", **headers})
    except (BrokenPipeError, ConnectionResetError):
        # A server may answer 413 and close the connection before it has read the body. Its answer can be
        # read.
        if connection.sock is None:
            raise
