"""Fetches pages of scoring APIs by GET, bounded in time and size.

Guaranteed: a request stays on the origin that was asked for, and every failure has its kind
(docs/scores/locks.md#how-pages-are-asked). Not guaranteed: another attempt. A failed request is not
sent again: the caller knows when to ask next.
"""

import asyncio
import http
import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final, Self
from urllib.parse import urljoin, urlsplit

import httpx

from dsf_runtime import answers, webclient
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, display, hide
from dsf_runtime.oauth2 import ANSWER_BYTES, AccessTokens, OAuth2Client, TokenError
from dsf_wire.retryafter import retry_after
from dsf_wire.weburl import is_web_url
from gitops_dsf import __version__
from gitops_dsf.sync.credentials import PageCredentials, Shown
from gitops_dsf.sync.page import FetchedPage, PageFault
from gitops_dsf.sync.requests import PageRequest

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
"""Reasons of faults, as conditions of a DynamicScorer have them."""
_FAULTS_OF_TLS: Final = frozenset({"Certificate", "Connection", "Protocol"})
"""Reasons that a client certificate or a CA which is missing may explain."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchLimits:
    """Bounds of one call. Seconds and bytes."""

    seconds: float = 10.0
    """The time limit for name, connection, redirects and the whole answer together."""
    answer_bytes: int = 256 * 1024
    """A /config page is some hundred bytes; the longest query that is accepted has 64 KiB."""
    concurrent: int = 256
    """Calls at a time."""


class _RefusedError(Exception):
    """Carries a fault out of the exchange."""

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
        """`secrets` is the folder with the files of Secrets, `<name>/<key>`.

        `connect_to` is a host and a port that requests for pages go to, whatever their URLs say.
        """
        self.credentials = PageCredentials(folder=secrets, tokens=AccessTokens(), ask=self._ask)
        self._limits = limits or FetchLimits()
        self._connect_to = connect_to
        self._admission = asyncio.Semaphore(self._limits.concurrent)
        self._trust = trust
        self._system = webclient.SystemTrust()
        self._lanes = defaultdict[ssl.SSLContext, deque[httpx.AsyncClient]](deque)
        """Lanes by the CAs that they trust. The one that was used last is at the end."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for lane in chain.from_iterable(self._lanes.values()):
            await lane.aclose()

    async def get(self, request: PageRequest | str) -> FetchedPage | PageFault:
        """One page. Never raises for what the other side, the network, the URL or a Secret does."""
        if isinstance(request, str):
            request = PageRequest(url=request)
        # A call that waits here has not begun: its seconds count from its admission.
        async with self._admission:
            shown = await self.credentials.shown(request)
            answer = await self._get(request.url, shown)
            if shown.token and _is_unauthorized(answer):
                # A token of a token server may have been revoked before it expired.
                renewed = await self.credentials.shown(request, refused=shown.token)
                # The same token would be refused again.
                if renewed.token != shown.token:
                    shown = renewed
                    answer = await self._get(request.url, renewed)
        if isinstance(answer, PageFault):
            message = f"{answer.message}{_missing(answer, shown, request.section)}"
            return replace(answer, message=hide(message, shown.token))
        # Parts of a page get into locks, which are in git, and into conditions, which all may read.
        if shown.token and shown.token.encode() in answer.body:
            message = f"{display(answer.url)} repeats the token that it got"
            return PageFault(reason="Protocol", message=message)
        return answer

    async def _get(self, url: str, shown: Shown) -> FetchedPage | PageFault:
        """One page with what is shown, without a second try."""
        seconds = self._limits.seconds
        try:
            with as_call_faults(url=url, seconds=seconds):
                async with asyncio.timeout(seconds), self._lane_for(url, shown.trust) as lane:
                    return await self._follow(url, shown, lane)
        except _RefusedError as refused:
            return refused.fault
        except CallFault as fault:
            return PageFault(reason=_REASONS[fault.kind], message=str(fault))

    def _lane(self, context: ssl.SSLContext) -> httpx.AsyncClient:
        return webclient.client(
            verify=context,
            # The pool never refuses: with the default one, hanging peers starve the healthy. The
            # semaphore bounds it.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            timeout=httpx.Timeout(self._limits.seconds, pool=None),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", **answers.IDENTITY},
        )

    def _next_lane(self, url: str) -> httpx.AsyncClient:
        """A new one until there are LANES, because most fetchers read few pages."""
        trust = self._trust or self._system.for_url(url)
        lanes = self._lanes[trust]
        if len(lanes) < min(LANES, self._limits.concurrent):
            lanes.append(self._lane(trust))
        else:
            lanes.rotate(-1)
        return lanes[-1]

    @asynccontextmanager
    async def _lane_for(
        self, url: str, trust: ssl.SSLContext | None
    ) -> AsyncIterator[httpx.AsyncClient]:
        """Connections with a client certificate or a private CA are not shared."""
        if trust is None:
            yield self._next_lane(url)
        else:
            async with self._lane(trust) as lane:
                yield lane

    async def _ask(self, client: OAuth2Client, trust: ssl.SSLContext | None) -> bytes:
        """The answer of a token server. Raises TokenError."""
        headers, body = client.request()
        url = client.token_url
        seconds = self._limits.seconds
        try:
            _check_url(url)
            with as_call_faults(url=url, seconds=seconds):
                async with (
                    asyncio.timeout(seconds),
                    self._lane_for(url, trust) as lane,
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
        """The page, behind redirects on its origin. Raises _RefusedError."""
        target = url
        for _ in range(MAX_REDIRECTS + 1):
            # Each one: a redirect on the same origin may still hold credentials in its URL.
            _check_url(target)
            connect_url, host = self._connection(target)
            headers = {**shown.headers, **host}
            async with lane.stream(
                "GET", connect_url, headers=headers, extensions=_sni(target)
            ) as response:
                if not response.is_redirect or "location" not in response.headers:
                    return await self._read(response, target)
                target = _redirected(target, response.headers["location"], response.status_code)
        raise _RefusedError("Redirect", f"{display(url)} redirects more than {MAX_REDIRECTS} times")

    def _connection(self, url: str) -> tuple[str, dict[str, str]]:
        """The address to which the request for a page is sent, and its Host header."""
        if not self._connect_to:
            return url, {}
        parts = urlsplit(url)
        return parts._replace(netloc=self._connect_to).geturl(), {"Host": parts.netloc}

    async def _read(self, response: httpx.Response, url: str) -> FetchedPage:
        if not response.is_success:
            status = response.status_code
            message = f"{display(url)} answers {status} {_phrase(status)}".rstrip()
            raise _RefusedError("Status", message, status=status)
        body = await answers.read(response, limit=self._limits.answer_bytes)
        # Parameters such as charset=utf-8 do not say what kind of page it is.
        media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return FetchedPage(url=url, media=media, body=body)


def _is_unauthorized(answer: FetchedPage | PageFault) -> bool:
    return isinstance(answer, PageFault) and answer.status == http.HTTPStatus.UNAUTHORIZED


def _missing(fault: PageFault, shown: Shown, section: str) -> str:
    """The text about credentials after a failure that they may explain."""
    if fault.status in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        return f"; {shown.problem or f'it refuses the credentials that {section} names'}"
    if shown.lacks_tls and fault.reason in _FAULTS_OF_TLS:
        return f"; {shown.problem}"
    return ""


def _phrase(status: int) -> str:
    """The phrase of a status in HTTP; empty for an unknown one."""
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return ""


def _sni(url: str) -> dict[str, str]:
    """TLS asks for the certificate of the host in the URL, wherever the connection goes."""
    parts = urlsplit(url)
    return {"sni_hostname": parts.hostname} if parts.scheme == "https" and parts.hostname else {}


def _check_url(url: str) -> None:
    """Raises _RefusedError for a URL that is not asked."""
    if not is_web_url(url):
        raise _RefusedError("BadURL", f"{display(url)} is not an http or https URL")
    if urlsplit(url).username is not None:
        raise _RefusedError("BadURL", f"{display(url)} holds credentials; remove them")


def _redirected(url: str, location: str, status: int) -> str:
    """The URL that an answer points to. Raises _RefusedError for another origin.

    What is written as configURL is what rules have judged, so credentials go nowhere else.
    """
    try:
        target = urljoin(url, location)
        stays = _origin(target) == _origin(url)
    except ValueError:
        target = ""
        stays = False
    if not stays:
        raise _RefusedError(
            "Redirect",
            f"{display(url)} answers {status} and points to {display(target)}, another origin;"
            " that is not followed. Is it meant? Then write that URL as configURL",
        )
    return target


def _origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL. Raises ValueError."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    # A redirect may name the port that the URL leaves out, and stays on its origin.
    default_port = {"http": 80, "https": 443}.get(scheme, 0)
    return scheme, (parts.hostname or "").lower(), parts.port or default_port
