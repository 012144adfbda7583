"""What an HTTP call can die of, and the statuses that are failures, as Reasons with a text that names the address and no secret."""

import email.utils
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx

from dsf_agent.errors import CallError, excerpt
from dsf_agent.reasons import Reason

MAX_RETRY_AFTER: Final = 3600.0
"""Seconds; a peer that asks for more is asked again after this."""


def display(url: str) -> str:
    """A URL for people: no user information, no query, no fragment, because all of them may hold secrets."""
    try:
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return "(unreadable URL)"


@contextmanager
def named(*, url: str, seconds: float) -> Iterator[None]:
    """Turns what httpx and asyncio raise inside the block into CallError."""
    try:
        yield
    except (httpx.TimeoutException, TimeoutError) as error:
        msg = f"{display(url)} gave no complete answer within {seconds:g} s"
        raise CallError(msg, reason=Reason.TIMEOUT) from error
    except (httpx.ConnectError, httpx.ProxyError) as error:
        tls = _tls_cause(error)
        if tls is not None:
            msg = f"{display(url)}: TLS: {excerpt(str(tls))}"
            raise CallError(msg, reason=Reason.TLS) from error
        msg = f"{display(url)} cannot be reached: {excerpt(str(error)) or type(error).__name__}"
        raise CallError(msg, reason=Reason.UNREACHABLE) from error
    except (httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError) as error:
        msg = f"{display(url)} is not a URL that can be called: {excerpt(str(error))}"
        raise CallError(msg, reason=Reason.BAD_URL) from error
    except httpx.DecodingError as error:
        msg = f"{display(url)} sent a damaged body: {excerpt(str(error))}"
        raise CallError(msg, reason=Reason.INVALID_BODY) from error
    except (httpx.TransportError, ssl.SSLError, OSError) as error:
        tls = error if isinstance(error, ssl.SSLError) else _tls_cause(error)
        if tls is not None and not isinstance(tls, ssl.SSLEOFError):
            msg = f"{display(url)}: TLS: {excerpt(str(tls))}"
            raise CallError(msg, reason=Reason.TLS) from error
        msg = f"{display(url)} broke the connection: {excerpt(str(error)) or type(error).__name__}"
        raise CallError(msg, reason=Reason.CONNECTION_LOST) from error


def _tls_cause(error: BaseException) -> ssl.SSLError | None:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


_STATUS_REASONS: Final = {
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.NOT_FOUND,
    409: Reason.CONFLICT,
    413: Reason.TOO_LARGE,
    429: Reason.THROTTLED,
}


def status_reason(status: int) -> Reason:
    """The reason of a status that is not 2xx."""
    if 300 <= status < 400:
        return Reason.REDIRECTED
    if status >= 500:
        return Reason.SERVER_ERROR
    return _STATUS_REASONS.get(status, Reason.HTTP_ERROR)


def status_text(*, url: str, status: int, headers: Mapping[str, str], body: bytes | bytearray) -> str:
    """What a refused call says: status, address, and the peer's own words or the place it redirects to."""
    if 300 <= status < 400:
        target = display(headers.get("location", "")) or "nowhere"
        return f"{display(url)} answered {status} and points to {target}; redirects are not followed, write that URL in the scorer"
    words = excerpt(body)
    return f"{display(url)} answered {status}" + (f": {words}" if words else "")


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 section 10.2.3: seconds or a date), or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        seconds = float(value[:9])
    else:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), MAX_RETRY_AFTER)
