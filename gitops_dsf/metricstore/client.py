"""Asks a store for the past of a query, in pages that are bounded in samples, bytes and time."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Self

import httpx

from dsf_runtime import answers, webclient
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, display, excerpt
from dsf_wire.constants import MAX_POINTS
from gitops_dsf import __version__
from gitops_dsf.metricstore.answer import Answer, StoreError, TooMuchError, read

FIRST_PAGE: Final = 500
"""Points of the first page of a query, before the number of series is known."""
SMALLEST_PAGE: Final = 20
"""A store that does not answer for so few points does not answer at all."""


SECONDS: Final = 60.0
"""For one page."""
ANSWER_BYTES: Final = 64 << 20
PAGE_SAMPLES: Final = 200_000
"""Samples that a page is expected to have. It becomes smaller when the store refuses."""
MOST_SAMPLES: Final = 60_000_000
"""Of all queries together."""


@dataclass(frozen=True, kw_only=True)
class StoredPage:
    """The part of an answer from point `first` on, `count` points long."""

    first: int
    count: int
    answer: Answer


class MetricStore:
    """An open store with Prometheus' HTTP API: Prometheus, Thanos, Mimir, VictoriaMetrics."""

    def __init__(
        self,
        url: str,
        *,
        token: Callable[[], Awaitable[str]] | None = None,
        headers: dict[str, str] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """`token` gives the bearer token of each request, empty for none. It may raise StoreError."""
        self._url = f"{url.rstrip('/')}/api/v1/query_range"
        self._read = 0
        sent = {"User-Agent": f"gitops-dsf/{__version__}", **(headers or {}), **answers.IDENTITY}
        self._token = token
        self._client = webclient.client(
            verify=trust or _trust(url), timeout=httpx.Timeout(SECONDS, pool=None), headers=sent
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.aclose()

    def refuse_beyond(self, samples: int) -> None:
        """Raises StoreError for a history of more samples than all queries together may have."""
        if samples > MOST_SAMPLES:
            raise StoreError(
                f"the history has more than {MOST_SAMPLES:,} samples; ask for a shorter time or for"
                " one application"
            )

    async def pages(self, query: str, *, start: float, step: float, count: int) -> AsyncIterator[StoredPage]:
        """The values of a query at `count` points, page by page. Raises StoreError."""
        first, length = 0, min(FIRST_PAGE, MAX_POINTS)
        while first < count:
            length = min(length, count - first)
            try:
                answer = await self._page(query, start=start + first * step, step=step, count=length)
            except TooMuchError:
                if length <= SMALLEST_PAGE:
                    raise
                length = max(SMALLEST_PAGE, length // 4)
                continue
            self._read += answer.samples
            self.refuse_beyond(self._read)
            yield StoredPage(first=first, count=length, answer=answer)
            first += length
            length = min(MAX_POINTS, max(SMALLEST_PAGE, PAGE_SAMPLES // max(1, len(answer.series))))

    async def _page(self, query: str, *, start: float, step: float, count: int) -> Answer:
        where = display(self._url)
        form = {
            "query": query,
            "start": f"{start:.3f}",
            "end": f"{start + (count - 1) * step:.3f}",
            "step": f"{step:g}",
        }
        token = await self._token() if self._token is not None else ""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with as_call_faults(url=self._url, seconds=SECONDS):
                async with (
                    asyncio.timeout(SECONDS),
                    self._client.stream("POST", self._url, data=form, headers=headers) as response,
                ):
                    content = await answers.read(response, limit=ANSWER_BYTES)
        except CallFault as fault:
            smaller = fault.kind in (FailureKind.TIMEOUT, FailureKind.TOO_LARGE)
            raise (TooMuchError if smaller else StoreError)(str(fault)) from fault
        if response.is_success or content.startswith(b'{"status":"error"'):
            return read(content, where=where)
        if response.status_code in (401, 403):
            hint = "is the token right?" if token else "--token-file names a file with a bearer token"
            raise StoreError(f"{where} answers {response.status_code}; {hint}")
        kind = TooMuchError if response.status_code in (413, 422, 502, 503, 504) else StoreError
        raise kind(f"{where} answers {response.status_code}: {excerpt(content[:400])}")


def _trust(url: str) -> ssl.SSLContext:
    """The system's CAs. Reading them takes 40 ms, which only HTTPS needs."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("http:") else httpx.create_ssl_context()
