"""HTTP calls to peers that may do anything: what they die of, what may be said about it, and clients that are
replaced meanwhile.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

import httpx

from dsf_runtime.answers import CodingError
from dsf_runtime.clock import http_date
from dsf_runtime.inflate import InflateError
from dsf_runtime.streams import ExcessError

TEXT_LIMIT: Final = 400
"""Characters of a peer's text that go into a message; a log line is no place for a page."""
URL_LIMIT: Final = 200
HIDDEN: Final = "(token)"
SHORTEST: Final = 8
"""Characters of a token's beginning that count as a part of it: a message may have been cut in the middle of
the token.
"""


class Kind(StrEnum):
    """Why a call gave no answer."""

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
    """The call was not made: our own credentials cannot be read."""


class CallFault(Exception):  # noqa: N818 - a finding about the peer, not a mistake of ours
    """A call that gave no answer; the message names the address and holds no secret."""

    def __init__(self, message: str, *, kind: Kind) -> None:
        super().__init__(message)
        self.kind = kind


@contextmanager
def named(*, url: str, seconds: float) -> Iterator[None]:
    """Turns what httpx and asyncio raise inside the block into CallFault. ``seconds`` is the call's time
    limit, for the message.
    """
    place = display(url)
    try:
        yield
    except (httpx.TimeoutException, TimeoutError) as error:
        raise CallFault(f"{place} gave no complete answer within {seconds:g} s", kind=Kind.TIMEOUT) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise CallFault(f"{place} cannot be called: {excerpt(str(error))}", kind=Kind.BAD_URL) from error
    except httpx.DecodingError as error:
        raise CallFault(
            f"{place} sent a damaged body: {excerpt(str(error))}", kind=Kind.INVALID_BODY
        ) from error
    except (InflateError, CodingError) as error:
        raise CallFault(f"{place}: {excerpt(str(error))}", kind=Kind.INVALID_BODY) from error
    except ExcessError as error:
        raise CallFault(f"{place} {error}", kind=Kind.TOO_LARGE) from error
    except (httpx.TransportError, ssl.SSLError, OSError) as error:
        raise _network(place, error) from error


def _network(place: str, error: BaseException) -> CallFault:
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return CallFault(
                f"{place}: the host name is not known here ({cause.strerror})", kind=Kind.UNKNOWN_HOST
            )
        if isinstance(cause, ssl.SSLCertVerificationError):
            return CallFault(
                f"{place}: the certificate is not trusted ({cause.verify_message})", kind=Kind.CERTIFICATE
            )
        # A peer that goes away ends TLS, too.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return CallFault(f"{place}: TLS fails ({excerpt(str(cause.reason or cause))})", kind=Kind.TLS)
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError)) or _unreachable(error):
        # The operating system's word for it: the event loop puts the address into strerror, which is in the
        # message already.
        code = next(
            (cause.errno for cause in reversed(causes) if isinstance(cause, OSError) and cause.errno), 0
        )
        words = os.strerror(code) if code else str(error)
        return CallFault(
            f"{place} cannot be reached ({excerpt(words) or type(error).__name__})", kind=Kind.UNREACHABLE
        )
    words = excerpt(str(error)) or type(error).__name__
    return CallFault(f"{place} broke off its answer ({words})", kind=Kind.CONNECTION_LOST)


def _unreachable(error: BaseException) -> bool:
    """As a plain socket says it."""
    return isinstance(error, OSError) and error.errno in {
        errno.ECONNREFUSED,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
    }


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def display(url: str) -> str:
    """A URL for people: no user information, no query, no fragment, because all of them may hold secrets;
    printable, of bounded length.
    """
    try:
        parts = urlsplit(url)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    except ValueError:
        return "(unreadable URL)"
    return _printable(plain, most=URL_LIMIT)


def excerpt(data: bytes | bytearray | str, *, most: int = TEXT_LIMIT) -> str:
    """A peer's text for a message: one line, printable, at most so many characters."""
    text = data[: most * 4] if isinstance(data, str) else bytes(data[: most * 4]).decode("utf-8", "replace")
    return _printable(" ".join(text.split()), most=most)


def _printable(text: str, *, most: int) -> str:
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def hide(text: str, *secrets: str | None) -> str:
    """The text with every secret in it, or the beginning of one, replaced: a peer that rejects a request may
    quote its headers.
    """
    for secret in secrets:
        if secret:
            text = _hide(text, secret)
    return text


def _hide(text: str, secret: str) -> str:
    start = secret[:SHORTEST]
    pieces: list[str] = []
    position = 0
    while (found := text.find(start, position)) >= 0:
        end = found + len(start)
        while end < len(text) and end - found < len(secret) and text[end] == secret[end - found]:
            end += 1
        pieces += [text[position:found], HIDDEN]
        position = end
    return "".join([*pieces, text[position:]])


def retry_after(headers: Mapping[str, str], *, now: float, most: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 section 10.2.3: seconds or a date), at most
    ``most``; None without one.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        seconds = float(value[:9])
    else:
        date = http_date(value)
        if date is None:
            return None
        seconds = date - now
    return min(max(0.0, seconds), most)


class Retirement:
    """Closes replaced clients after a grace, in seconds, so that new credentials never break a call that is
    under way.
    """

    def __init__(self, *, grace: float) -> None:
        self._grace = grace
        self._waiting: dict[asyncio.Task[None], httpx.AsyncClient] = {}

    def add(self, client: httpx.AsyncClient) -> None:
        """Closes it once calls that it has under way must be over."""
        task = asyncio.create_task(self._later(client), name="retire-client")
        self._waiting[task] = client
        task.add_done_callback(lambda done: self._waiting.pop(done, None))

    async def close(self) -> None:
        """Closes all of them now."""
        waiting = dict(self._waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for client in waiting.values():
            await client.aclose()

    async def _later(self, client: httpx.AsyncClient) -> None:
        await asyncio.sleep(self._grace)
        await client.aclose()
