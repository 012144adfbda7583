"""Failures of HTTP calls to untrusted peers, and safe texts for messages.

``as_call_faults`` turns the exceptions of httpx, of asyncio and of the limits in ``answers`` into
one type with a kind, which metrics and conditions count.

Guaranteed: a message names the address without user, query and fragment, has at most TEXT_LIMIT
characters of the peer's text, and is printable on one line. ``hide`` removes a secret, its
beginnings and its escaped forms.

Not guaranteed: that a peer's text contains no secret that the caller does not name to ``hide``. Nor
the cause: a firewall that drops packets and a host that is down look alike.
"""

import errno
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

import httpx

from dsf_runtime.answers import CodingError, ExcessError
from dsf_wire.proxies import ProxyFault
from dsf_wire.text import printable

TEXT_LIMIT: Final = 400
"""Most characters of a peer's text in a message."""
URL_LIMIT: Final = 200
HIDDEN: Final = "(token)"
HIDDEN_START: Final = 8
"""The start of a token that is hidden already, because a message may end in the middle of it."""

_UNREACHABLE: Final = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
"""Numbers of the errors of a plain socket whose peer cannot be reached."""


class FailureKind(StrEnum):
    """The kind of a failed call."""

    BAD_URL = "bad_url"
    UNKNOWN_HOST = "unknown_host"
    UNREACHABLE = "unreachable"
    CERTIFICATE = "certificate"
    TLS = "tls"
    TIMEOUT = "timeout"
    CONNECTION_LOST = "connection_lost"
    INVALID_BODY = "invalid_body"
    TOO_LARGE = "too_large"
    CREDENTIALS = "bad_credentials"
    """The call was not sent, because our credentials cannot be read."""


class CallFault(Exception):  # noqa: N818 - a finding about the peer, not a mistake of ours
    """A call without an answer. The message names the address and contains no secret."""

    def __init__(self, message: str, *, kind: FailureKind) -> None:
        super().__init__(message)
        self.kind = kind


@contextmanager
def as_call_faults(*, url: str, seconds: float) -> Iterator[None]:
    """Turns exceptions of httpx and asyncio into CallFault.

    ``seconds``: the time limit, for the message.
    """
    failed = FailureKind

    def fault(words: str, kind: FailureKind) -> CallFault:
        return CallFault(f"{display(url)}{words}", kind=kind)

    try:
        yield
    # A ConnectTimeout is a TimeoutException, too, so it comes first.
    except httpx.ConnectTimeout as error:
        # The host, or a DNS server, does not answer at all, or a firewall drops what is sent.
        raise fault(" cannot be reached (no connection in time)", failed.UNREACHABLE) from error
    except (httpx.TimeoutException, TimeoutError) as error:
        raise fault(f" gave no complete answer within {seconds:g} s", failed.TIMEOUT) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise fault(f" cannot be called: {excerpt(str(error))}", failed.BAD_URL) from error
    except ProxyFault as error:
        raise fault(f" cannot be called: {error}", failed.BAD_URL) from error
    except httpx.DecodingError as error:
        raise fault(f" sent a damaged body: {excerpt(str(error))}", failed.INVALID_BODY) from error
    except CodingError as error:
        raise fault(f": {excerpt(str(error))}", failed.INVALID_BODY) from error
    except ExcessError as error:
        raise fault(f" {error}", failed.TOO_LARGE) from error
    except (httpx.TransportError, ssl.SSLError, OSError) as error:
        raise fault(*_network(error)) from error


def _network(error: BaseException) -> tuple[str, FailureKind]:
    """The words for an error of the network, after the address, and its kind."""
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return f": the host name is not known here ({cause.strerror})", FailureKind.UNKNOWN_HOST
        # Before SSLError, of which it is one: what to do about it is different.
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f": the certificate is not trusted ({cause.verify_message})",
                FailureKind.CERTIFICATE,
            )
        # When a peer closes the connection, TLS ends with SSLEOFError.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return f": TLS fails ({excerpt(str(cause.reason or cause))})", FailureKind.TLS
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError)) or (
        isinstance(error, OSError) and error.errno in _UNREACHABLE
    ):
        # Use the text of the operating system. The event loop puts the address into strerror, and
        # the message already has the address.
        code = 0
        for cause in causes:
            # The last one with a number is the innermost: the error of the socket itself.
            if isinstance(cause, OSError) and cause.errno:
                code = cause.errno
        words = excerpt(os.strerror(code) if code else str(error)) or type(error).__name__
        return f" cannot be reached ({words})", FailureKind.UNREACHABLE
    words = excerpt(str(error)) or type(error).__name__
    return f" broke off its answer ({words})", FailureKind.CONNECTION_LOST


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def display(url: str) -> str:
    """A URL for messages: printable, cut, and without the parts that may be secret.

    These are user, query and fragment.
    """
    try:
        parts = urlsplit(url)
        # The last @ ends the user's part: a password may have one that is not escaped.
        plain = parts._replace(
            netloc=parts.netloc.rpartition("@")[2], query="", fragment=""
        ).geturl()
    except ValueError:
        return "(unreadable URL)"
    return printable(plain, max_characters=URL_LIMIT)


def excerpt(data: bytes | str) -> str:
    """A peer's text for a message: one line, printable, at most TEXT_LIMIT characters."""
    # A character has up to four bytes in UTF-8.
    start = data[: TEXT_LIMIT * 4]
    text = start if isinstance(start, str) else start.decode("utf-8", "replace")
    return printable(" ".join(text.split()), max_characters=TEXT_LIMIT)


def refusal(url: str, *, status: int, location: str, body: bytes, place: str) -> str:
    """The message about an error status of the peer at this URL.

    ``location``: the target of a redirect. ``place``: the place where people write the URL.
    """
    if 300 <= status < 400:
        target = display(location) or "nowhere"
        return (
            f"{display(url)} answered {status} and points to {target}; redirects are not followed,"
            f" write that URL {place}"
        )
    words = excerpt(body)
    return (
        f"{display(url)} answered {status}: {words}"
        if words
        else f"{display(url)} answered {status}"
    )


def hide(text: str, *secrets: str | None) -> str:
    """The text without the secrets and their beginnings.

    A peer may quote the headers of a request, as they are or escaped for JSON or a URL.
    """
    for secret in secrets:
        if secret:
            escaped = json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)
            for form in dict.fromkeys((secret, *escaped)):
                text = _hide(text, form)
    return text


def _hide(text: str, secret: str) -> str:
    start = secret[:HIDDEN_START]
    pieces: list[str] = []
    position = 0
    while (begin := text.find(start, position)) >= 0:
        end = begin + len(start)
        while end < len(text) and end - begin < len(secret) and text[end] == secret[end - begin]:
            end += 1
        pieces += [text[position:begin], HIDDEN]
        position = end
    return "".join([*pieces, text[position:]])
