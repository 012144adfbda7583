"""Asks a metric store for the past of a query, in pages bounded in samples, bytes and time.

The size of a page follows the number of series. A store that refuses a page as too large is asked
for a smaller one; a store that is busy is asked again.

Guaranteed: the number of samples of all queries together is bounded, because the history is kept in
memory. Not guaranteed: that the store has all samples of the span.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

import httpx

from dsf_runtime import answers, webclient
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, display, refusal
from dsf_wire import prometheus
from dsf_wire.constants import MAX_POINTS
from dsf_wire.prometheus import PrometheusRequest
from dsf_wire.retryafter import retry_after
from gitops_dsf import __version__
from gitops_dsf.metricstore.answer import Matrix, is_too_much, read
from gitops_dsf.metricstore.errors import StoreError, TooMuchError
from gitops_dsf.urls.query_apis import ranged

FIRST_PAGE: Final = 500
"""Points of the first page of a query, before the number of series is known."""
SMALLEST_PAGE: Final = 20
"""A store that does not answer for so few points does not answer at all."""
SECONDS: Final = 60.0
"""The time limit for one page, in seconds."""
ANSWER_BYTES: Final = 64 << 20
PAGE_SAMPLES: Final = 200_000
"""Samples that a page is expected to have. It becomes smaller when the store refuses."""
MAX_SAMPLES: Final = 60_000_000
"""Upper limit for all queries together."""
MAX_WAIT: Final = 60.0
"""Seconds. A store that asks for a longer wait is not waited for."""
_WAITS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between the attempts of a busy store that does not say how long to wait."""
_SMALLER: Final = frozenset({413, 422, 502, 503, 504})
"""Status codes with which stores and proxies refuse a question that is too large."""


@dataclass(frozen=True, kw_only=True)
class StoredPage:
    """The part of an answer from point `first` on, `count` points long."""

    first: int
    count: int
    answer: Matrix


class OpenStore:
    """An open store with Prometheus' HTTP API: Prometheus, Thanos, Mimir, VictoriaMetrics."""

    def __init__(
        self,
        url: str,
        *,
        token: Callable[[], Awaitable[str]] | None = None,
        headers: dict[str, str] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """`url` is the base URL of the store, or that of its query API.

        `token` gives the bearer token of each request, empty for none. It may raise StoreError.
        """
        self._url = ranged(url)
        self._read = 0
        self._posts = True
        """Whether the store, or a proxy before it, accepts POST as far as is known."""
        self._token = token
        self._client = webclient.client(
            verify=trust or webclient.SystemTrust().for_url(url),
            # httpx limits each read. `_ask` limits the whole answer.
            timeout=httpx.Timeout(SECONDS, pool=None),
            headers={
                "User-Agent": f"gitops-dsf/{__version__}",
                **(headers or {}),
                **answers.IDENTITY,
            },
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.aclose()

    def refuse_beyond(self, samples: int) -> None:
        """Raises StoreError for a history of more samples than all queries together may have."""
        if samples > MAX_SAMPLES:
            raise StoreError(
                f"the history has more than {MAX_SAMPLES:,} samples; ask for a shorter time or for"
                " one application"
            )

    async def pages(
        self,
        query: str,
        *,
        start: float,
        step: float,
        count: int,
        parameters: Mapping[str, str] = {},
    ) -> AsyncIterator[StoredPage]:
        """The values of a query at `count` points, page by page. Raises StoreError.

        `parameters` of the source are sent with it.
        """
        first = 0
        length = min(FIRST_PAGE, MAX_POINTS)
        while first < count:
            length = min(length, count - first)
            try:
                answer = await self._page(
                    query,
                    start=start + first * step,
                    step=step,
                    count=length,
                    parameters=parameters,
                )
            except TooMuchError:
                if length <= SMALLEST_PAGE:
                    raise
                length = max(SMALLEST_PAGE, length // 4)
                continue
            # A store may answer with more clusters than the fleet has.
            self._read += answer.samples
            self.refuse_beyond(self._read)
            yield StoredPage(first=first, count=length, answer=answer)
            first += length
            length = min(MAX_POINTS, max(SMALLEST_PAGE, PAGE_SAMPLES // max(1, len(answer.series))))

    async def _page(
        self, query: str, *, start: float, step: float, count: int, parameters: Mapping[str, str]
    ) -> Matrix:
        """The values at `count` points.

        Asks a busy store again. Raises StoreError, TooMuchError.
        """
        question = {
            "query": query,
            # Prometheus knows times in milliseconds.
            "start": f"{start:.3f}",
            "end": f"{start + (count - 1) * step:.3f}",
            "step": f"{step:g}",
        }
        for wait in [*_WAITS, None]:
            reply = await self._ask(
                PrometheusRequest.of(self._url, question, parameters=parameters, posts=self._posts)
            )
            # Some proxies allow GET alone. What one answer taught counts for all later pages.
            if reply.form_refused:
                self._posts = False
                reply = await self._ask(
                    PrometheusRequest.of(self._url, question, parameters=parameters, posts=False)
                )
            if not reply.is_busy:
                break
            seconds = wait if reply.retry_after is None else reply.retry_after
            if wait is None or seconds is None or seconds > MAX_WAIT:
                break
            await asyncio.sleep(seconds)
        if reply.is_success:
            return read(reply.content, where=display(self._url))
        raise self._refused(reply)

    async def _ask(self, request: PrometheusRequest) -> "_Reply":
        """One answer of the store. Raises StoreError, TooMuchError."""
        token = await self._token() if self._token is not None else ""
        headers = dict(request.headers)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        method = "GET" if request.form is None else "POST"
        try:
            with as_call_faults(url=self._url, seconds=SECONDS):
                async with (
                    asyncio.timeout(SECONDS),
                    self._client.stream(
                        method, request.url, content=request.form, headers=headers
                    ) as response,
                ):
                    content = await answers.read(response, limit=ANSWER_BYTES)
        except CallFault as fault:
            # Either may end with a shorter page; a host that does not answer at all fails at the
            # smallest one.
            if fault.kind in (FailureKind.TIMEOUT, FailureKind.TOO_LARGE):
                raise TooMuchError(str(fault)) from fault
            raise StoreError(str(fault)) from fault
        return _Reply(
            status=response.status_code,
            content=content,
            location=response.headers.get("location", ""),
            retry_after=retry_after(response.headers, now=time.time()),
            form_refused=request.is_refused_as_post(response.status_code),
            with_token=bool(token),
        )

    def _refused(self, reply: "_Reply") -> StoreError:
        """The error for an error status: TooMuchError if a smaller question may succeed."""
        url = display(self._url)
        if reply.status in (401, 403):
            if reply.with_token:
                return StoreError(f"{url} answered {reply.status}; is the token right?")
            return StoreError(
                f"{url} answered {reply.status}; --token-file names a file with a bearer token"
            )
        if reply.is_busy and reply.retry_after is not None and reply.retry_after > MAX_WAIT:
            return StoreError(
                f"{url} answered {reply.status} and asks to wait {reply.retry_after:.0f} s;"
                " try again then"
            )
        failure = prometheus.failure_in(reply.content)
        text = refusal(
            self._url,
            status=reply.status,
            location=reply.location,
            body=reply.content if failure is None else failure.line.encode(),
            place="as --prometheus",
        )
        if not reply.is_busy and (reply.status in _SMALLER or is_too_much(text)):
            return TooMuchError(text)
        return StoreError(text)


@dataclass(frozen=True, kw_only=True)
class _Reply:
    """The answer of a store."""

    status: int
    content: bytes
    location: str
    retry_after: float | None
    form_refused: bool
    """Whether it takes no POST, so GET may succeed."""
    with_token: bool

    @property
    def is_success(self) -> bool:
        """Whether the content is an answer."""
        return 200 <= self.status < 300

    @property
    def is_busy(self) -> bool:
        """Whether the same query may succeed later."""
        # A 503 without Retry-After often means that the question takes too long.
        return self.status == 429 or (self.status == 503 and self.retry_after is not None)
