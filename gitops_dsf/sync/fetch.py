"""GET of pages of scoring APIs, bounded in time and size.

It stays on the origin that was asked for, and every failure has its kind
(docs/scores/locks.md#how-pages-are-asked).
"""

import asyncio
import http
import itertools
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec

from dsf_runtime import answers, webclient
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, display, hide
from dsf_runtime.oauth2 import ANSWER_BYTES, AccessTokens, Client, TokenError
from dsf_wire.jsontext import without_mark
from dsf_wire.retryafter import retry_after
from dsf_wire.text import printable
from dsf_wire.weburl import is_web_url
from gitops_dsf import __version__
from gitops_dsf.hub.drift import Config, ConfigError, read_config
from gitops_dsf.sync.credentials import PageCredentials, PageRequest, Shown

USER_AGENT: Final = f"gitops-dsf/{__version__}"
MAX_REDIRECTS: Final = 3
LANES: Final = 16
"""Connection pools: for every request a pool looks through all others that it has at work."""


_REASONS: Final = {
    FailureKind.BAD_URL: "BadURL",
    FailureKind.UNKNOWN_HOST: "DNS",
    FailureKind.UNREACHABLE: "Connection",
    FailureKind.CERTIFICATE: "Certificate",
    FailureKind.TLS: "Connection",
    FailureKind.TIMEOUT: "Timeout",
    FailureKind.CONNECTION_LOST: "Protocol",
    FailureKind.INVALID_BODY: "Protocol",
    FailureKind.TOO_LARGE: "TooLarge",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFault:
    """A page that was not read: why, as one word for programs and in words for people."""

    reason: str
    message: str
    status: int = 0
    """The HTTP status, if that is why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchedPage:
    """A page that answered 2xx."""

    url: str
    media: str
    """Content-Type in lower case, without parameters; empty when there is none."""
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchLimits:
    """Bounds of one call. Seconds and bytes."""

    seconds: float = 10.0
    """For name, connection, redirects and the whole answer together."""
    answer_bytes: int = 256 * 1024
    """A /config page is some hundred bytes; the longest query that is accepted has 64 KiB."""
    concurrent: int = 256
    """Calls at a time."""


class _RefusedError(Exception):
    """Carries a PageFault out of the exchange."""

    def __init__(self, reason: str, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.fault = PageFault(reason=reason, message=message, status=status)


class Fetcher:
    """Owns the connections of one event loop. An asynchronous context manager."""

    def __init__(
        self,
        *,
        limits: FetchLimits | None = None,
        trust: ssl.SSLContext | None = None,
        secrets: Path | None = None,
        connect_to: str = "",
    ) -> None:
        """`secrets` is the folder with the files of Secrets: <name>/<key>."""
        self.credentials = PageCredentials(folder=secrets, tokens=AccessTokens(), ask=self._ask)
        self._limits = limits or FetchLimits()
        self._connect_to = connect_to
        self._admission = asyncio.Semaphore(self._limits.concurrent)
        context = trust or httpx.create_ssl_context()
        self._lanes = [self._lane(context) for _ in range(min(LANES, self._limits.concurrent))]
        self._next = itertools.cycle(self._lanes)

    def _lane(self, context: ssl.SSLContext) -> httpx.AsyncClient:
        return webclient.client(
            verify=context,
            # The pool never refuses: with the default one, hanging peers starve the healthy. The semaphore
            # bounds it.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            timeout=httpx.Timeout(self._limits.seconds, pool=None),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", **answers.IDENTITY},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for lane in self._lanes:
            await lane.aclose()

    async def get(self, request: PageRequest | str) -> FetchedPage | PageFault:
        """One page. Never raises for what the other side, the network, the URL or a Secret does."""
        if isinstance(request, str):
            request = PageRequest(url=request)
        async with self._admission:
            shown = await self.credentials.shown(request)
            answer = await self._get(request.url, shown)
            if (
                isinstance(answer, PageFault)
                and answer.status == http.HTTPStatus.UNAUTHORIZED
                and shown.token
            ):
                renewed = await self.credentials.shown(request, refused=shown.token)
                if renewed.token != shown.token:
                    shown, answer = renewed, await self._get(request.url, renewed)
        if isinstance(answer, PageFault):
            return replace(
                answer, message=hide(f"{answer.message}{_missing(answer, shown)}", shown.token)
            )
        if shown.token and shown.token.encode() in answer.body:
            return PageFault(
                reason="Protocol", message=f"{display(answer.url)} repeats the token that it got"
            )
        return answer

    async def _get(self, url: str, shown: Shown) -> FetchedPage | PageFault:
        try:
            with as_call_faults(url=url, seconds=self._limits.seconds):
                async with (
                    asyncio.timeout(self._limits.seconds),
                    self._lane_for(shown.trust) as lane,
                ):
                    return await self._follow(url, shown, lane)
        except _RefusedError as refused:
            return refused.fault
        except CallFault as fault:
            return PageFault(reason=_REASONS[fault.kind], message=str(fault))

    @asynccontextmanager
    async def _lane_for(self, trust: ssl.SSLContext | None) -> AsyncIterator[httpx.AsyncClient]:
        """Connections with a client certificate or a private CA are nobody else's."""
        if trust is None:
            yield next(self._next)
        else:
            async with self._lane(trust) as lane:
                yield lane

    async def _ask(self, client: Client, trust: ssl.SSLContext | None) -> bytes:
        """The answer of a token server. Raises TokenError."""
        headers, body = client.request()
        url, seconds = client.token_url, self._limits.seconds
        try:
            _check(url)
            with as_call_faults(url=url, seconds=seconds):
                async with (
                    asyncio.timeout(seconds),
                    self._lane_for(trust) as lane,
                    lane.stream("POST", url, headers=headers, content=body) as response,
                ):
                    if response.is_success:
                        return await answers.read(response, limit=ANSWER_BYTES)
                    raise TokenError(
                        f"{display(url)} answers {response.status_code}",
                        retry_after=retry_after(response.headers, now=time.time()),
                    )
        except (_RefusedError, CallFault) as fault:
            raise TokenError(str(fault)) from None

    async def _follow(self, url: str, shown: Shown, lane: httpx.AsyncClient) -> FetchedPage:
        target = url
        for _ in range(MAX_REDIRECTS + 1):
            _check(target)
            where, asked = self._connection(target)
            async with lane.stream(
                "GET", where, headers={**shown.headers, **asked}, extensions=_sni(target)
            ) as response:
                if not response.is_redirect or "location" not in response.headers:
                    return await self._read(response, target)
                target = _next(target, response.headers["location"], response.status_code)
        raise _RefusedError("Redirect", f"{display(url)} redirects more than {MAX_REDIRECTS} times")

    def _connection(self, url: str) -> tuple[str, dict[str, str]]:
        """Where the request for a page is sent, and the header that says what is asked."""
        if not self._connect_to:
            return url, {}
        parts = urlsplit(url)
        return parts._replace(netloc=self._connect_to).geturl(), {"Host": parts.netloc}

    async def _read(self, response: httpx.Response, url: str) -> FetchedPage:
        status = response.status_code
        if not response.is_success:
            words = (
                http.HTTPStatus(status).phrase
                if status in http.HTTPStatus.__members__.values()
                else ""
            )
            raise _RefusedError(
                "Status", f"{display(url)} answers {status} {words}".rstrip(), status=status
            )
        body = await answers.read(response, limit=self._limits.answer_bytes)
        media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return FetchedPage(url=url, media=media, body=body)


def _missing(fault: PageFault, shown: Shown) -> str:
    """What is said about credentials after a failure that they may explain."""
    if fault.status in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        return f"; {shown.problem or 'it refuses the credentials that scoring.auth names'}"
    without = shown.lacks_tls and fault.reason in {"Certificate", "Connection", "Protocol"}
    return f"; {shown.problem}" if without else ""


def read_page(page: FetchedPage) -> Config:
    """The fields that the page sets. Unknown ones are ignored. Raises ConfigError."""
    where, body = display(page.url), without_mark(page.body)
    if page.media in {"text/html", "application/xhtml+xml"} or body.lstrip()[:1] == b"<":
        raise ConfigError(
            f"{where} is an HTML page, not JSON: a login page, a proxy's, or another program's"
        )
    if not body.strip():
        raise ConfigError(f"{where} is empty")
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = f" ({page.media})" if page.media not in {"", "application/json"} else ""
        msg = f"{where} is not JSON{printable(kind, most=120)}: {printable(error, most=120)}"
        raise ConfigError(msg) from error
    return read_config(data, where=where)


def _sni(url: str) -> dict[str, str]:
    """TLS asks for the certificate of the host in the URL, wherever the connection goes."""
    parts = urlsplit(url)
    return {"sni_hostname": parts.hostname} if parts.scheme == "https" and parts.hostname else {}


def _check(url: str) -> None:
    if not is_web_url(url):
        raise _RefusedError("BadURL", f"{display(url)} is not an http or https URL")
    if urlsplit(url).username is not None:
        raise _RefusedError("BadURL", f"{display(url)} holds credentials; remove them")


def _next(url: str, location: str, status: int) -> str:
    try:
        target = urljoin(url, location)
        same = _origin(target) == _origin(url)
    except ValueError:
        target, same = "", False
    if not same:
        msg = (
            f"{display(url)} answers {status} and points to {display(target)}, another origin;"
            " that is not followed. Is it meant?"
        )
        raise _RefusedError("Redirect", f"{msg} Then write that URL as configURL")
    return target


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return (
        parts.scheme.lower(),
        (parts.hostname or "").lower(),
        parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0),
    )
