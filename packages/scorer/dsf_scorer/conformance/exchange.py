"""The URLs of a scoring API, requests with limits, and findings about the answers."""

import http.client
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

import msgspec

from dsf_scorer.errors import UsageError
from dsf_wire.jsontext import without_mark
from dsf_wire.text import printable_json, printable_lines

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024


class CheckSeverity(StrEnum):
    """notice: probably intended; warning: has a consequence; error: a program would fail."""

    OK = "ok"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"


OK, NOTICE, WARNING, ERROR = CheckSeverity


class Finding(msgspec.Struct, frozen=True):
    """The result of a check with a stable name, as `scoring.empty-data`.

    The hint says what to do.
    """

    check: str
    severity: CheckSeverity
    message: str
    hint: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `scorer check`: all findings on one scoring API, in the order of the checks."""

    url: str
    errors: int
    warnings: int
    findings: tuple[Finding, ...]

    def text(self, *, verbose: bool) -> str:
        """Problems with their hints, and a summary line. With ``verbose``, also what is right."""
        return printable_lines(self._lines(verbose=verbose))

    def _lines(self, *, verbose: bool) -> Iterator[str]:
        width = max((len(finding.check) for finding in self.findings), default=0)
        for finding in self.findings:
            if finding.severity is OK and not verbose:
                continue
            yield f"{finding.severity:<8} {finding.check:<{width}}  {finding.message}"
            if finding.hint:
                yield f"{'':<8} {'':<{width}}  -> {finding.hint}"
        passed = sum(finding.severity is OK for finding in self.findings)
        yield f"{self.url}: {passed} checks passed, {self.warnings} warnings, {self.errors} errors"

    def json(self) -> str:
        return (
            printable_json(msgspec.json.format(msgspec.json.encode(self), indent=2).decode()) + "\n"
        )


@dataclass(frozen=True, kw_only=True)
class Target:
    """The URLs of one scoring API. /healthz is on the origin of /config."""

    config_url: str
    origin: str
    scoring_url: str = ""
    """Given by the caller; empty means the URL in /config."""

    @classmethod
    def parse(cls, url: str, *, scoring_url: str = "") -> Self:
        """Parses the base URL of a scoring API or that of /config.

        Raises UsageError with what to write.
        """
        parts = split_http(url)
        if scoring_url:
            split_http(scoring_url)
        path = parts.path.rstrip("/").removesuffix("/config") + "/config"
        return cls(
            config_url=origin_of(parts) + path, origin=origin_of(parts), scoring_url=scoring_url
        )


def split_http(url: str) -> SplitResult:
    """Splits an absolute http(s) URL. Raises UsageError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise UsageError(
            f"{url!r} is not the URL of a web server; write it as http://host:port or https://host"
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"the URL of {parts.hostname} holds a user or password; remove it and pass a token file"
            " instead"
        )
    if parts.query or parts.fragment or any(ord(character) <= 32 for character in url):
        raise UsageError(
            f"{url!r} holds white space, a query or a fragment; write scheme, host, port and path"
            " only"
        )
    return parts


def origin_of(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.lower()}"


@dataclass(frozen=True, kw_only=True)
class ReceivedReply:
    """A response; header names are in lower case.

    ``fault`` says why there is none; then the status is 0.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    fault: str = ""

    @property
    def media(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower() or "absent"

    @property
    def has_mark(self) -> bool:
        """Whether the body begins with a byte order mark."""
        return without_mark(self.body) != self.body

    @property
    def excerpt(self) -> str:
        """The start of the response's text, on one line."""
        text = " ".join(self.body[:300].decode(errors="replace").split())[:160]
        if not text:
            return ""
        return f": {text}"


def trouble(check: str, reply: ReceivedReply) -> Finding | None:
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


def byte_order_mark(check: str) -> Finding:
    """The finding about a body that begins with a byte order mark.

    Our agent ignores it. Upstream's is written in Go, whose encoding/json refuses it.
    """
    message = "the answer begins with a byte order mark, which other readers of JSON refuse"
    return Finding(check, WARNING, message, "write UTF-8 without it (RFC 8259, section 8.1)")


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client on the standard library.

    It follows no redirects, and sends exactly what a check means.
    """

    timeout_seconds: float = 30.0
    """The time limit for each read and write; the agent's is the same."""
    tls: ssl.SSLContext | None = None

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None
    ) -> ReceivedReply:
        """Sends one request. Never raises because of the server."""
        began = time.monotonic()
        parts = split_http(url)
        connection = self._connection(parts)
        try:
            with closing(connection):
                try:
                    # Without keep-alive: a server that closes early must not spoil the next check.
                    connection.request(
                        method, parts.path or "/", body, {"Connection": "close", **headers}
                    )
                except (BrokenPipeError, ConnectionResetError):
                    # A server may answer 413 and close the connection before it has read the body.
                    # Its answer can be read.
                    # Without a socket there is no connection, and so nothing to read.
                    if connection.sock is None:
                        raise
                reply = _answer(connection.getresponse())
        except TimeoutError:
            reply = ReceivedReply(fault=f"no complete answer within {self.timeout_seconds:g} s")
        except ssl.SSLCertVerificationError as error:
            reply = ReceivedReply(fault=f"its certificate is not trusted: {error.verify_message}")
        except (OSError, http.client.HTTPException) as error:
            reply = ReceivedReply(fault=f"no answer: {str(error) or type(error).__name__}")
        return replace(reply, seconds=time.monotonic() - began)

    def _connection(self, parts: SplitResult) -> http.client.HTTPConnection:
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                parts.netloc, timeout=self.timeout_seconds, context=self.tls
            )
        return http.client.HTTPConnection(parts.netloc, timeout=self.timeout_seconds)


def _answer(response: http.client.HTTPResponse) -> ReceivedReply:
    # One byte more distinguishes an answer that is larger from one that just fits.
    content = response.read(MAX_ANSWER_BYTES + 1)
    if len(content) > MAX_ANSWER_BYTES:
        return ReceivedReply(fault=f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    # http.client returns what there is when a server closes the connection early.
    declared = response.getheader("content-length", "")
    if declared.isascii() and declared.isdigit() and len(content) < int(declared):
        return ReceivedReply(fault=f"the answer ended after {len(content)} of {declared} bytes")
    headers = {name.lower(): value for name, value in response.getheaders()}
    return ReceivedReply(status=response.status, headers=headers, body=content)
