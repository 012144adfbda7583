"""The URLs of a scoring API, and HTTP requests to it with limits of time and size."""

import http.client
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

from dsf_scorer.conformance.report import ERROR, Finding

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
SLOW_SECONDS: Final = 5.0
_CHUNK: Final = 65_536


class TargetError(ValueError):
    """The URL cannot be that of a scoring API."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The URLs of one scoring API. /healthz is on the origin of /config."""

    config_url: str
    origin: str
    scoring_url: str = ""
    """Given by the caller; empty means the URL in /config."""

    @classmethod
    def parse(cls, url: str, *, scoring_url: str = "") -> Self:
        """Parses the base URL of a scoring API or the URL of its /config page. Raises TargetError, which says
        what to write.
        """
        parts = split_http(url)
        if scoring_url:
            split_http(scoring_url)
        origin = origin_of(parts)
        path = parts.path.rstrip("/").removesuffix("/config") + "/config"
        return cls(config_url=origin + path, origin=origin, scoring_url=scoring_url)


def split_http(url: str) -> SplitResult:
    """Splits an absolute http(s) URL. Raises TargetError."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise TargetError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_fine:
        msg = f"{url!r} is not the URL of a web server; write it as http://host:port or https://host"
        raise TargetError(msg)
    if parts.username is not None or parts.password is not None:
        msg = f"the URL of {parts.hostname} holds a user or password; remove it and pass a token file instead"
        raise TargetError(msg)
    if parts.query or parts.fragment or any(ord(character) <= 32 for character in url):
        msg = f"{url!r} holds white space, a query or a fragment; write scheme, host, port and path only"
        raise TargetError(msg)
    return parts


def origin_of(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.lower()}"


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

    @property
    def excerpt(self) -> str:
        """The start of the response's text, on one line."""
        text = " ".join(self.body[:300].decode(errors="replace").split())[:160]
        return f": {text}" if text else ""


def trouble(check: str, reply: Reply) -> Finding | None:
    """Finds problems of any response: none at all, a redirect, or a server error."""
    if reply.fault:
        return Finding(check, ERROR, reply.fault)
    if 300 <= reply.status < 400:
        message = f"{reply.status} redirects to {reply.headers.get('location', 'nowhere')}"
        hint = "agents follow no redirect, because a token must not travel; use the final URL"
        return Finding(check, ERROR, message, hint)
    if reply.status >= 500:
        hint = "a 5xx means that the scoring API itself failed; see its log"
        return Finding(check, ERROR, f"answers {reply.status}{reply.excerpt}", hint)
    return None


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client on the standard library. It follows no redirects and adds no headers, so that a check sends
    exactly what it means to.
    """

    timeout_seconds: float = 30.0
    """For a whole exchange; the same as the agent's."""
    tls: ssl.SSLContext | None = None

    def send(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Sends one request. Never raises because of the server."""
        began = time.monotonic()
        try:
            with closing(self._connection(url)) as connection:
                try:
                    sent = {"Connection": "close", **headers}
                    connection.request(method, urlsplit(url).path or "/", body=body, headers=sent)
                except (BrokenPipeError, ConnectionResetError):
                    # A server may answer 413 and close the connection before it has read the body. Its answer
                    # can be read.
                    if connection.sock is None:
                        raise
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
        host, timeout = parts.hostname or "", self.timeout_seconds
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)

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
