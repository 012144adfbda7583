"""The page /metrics in both text formats, with and without gzip."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final

from prometheus_client import exposition
from prometheus_client.openmetrics import exposition as openmetrics

from dsf_agent.metrics.registry import Metrics
from dsf_runtime.pages import Page, PageRequest

EOF: Final = b"# EOF\n"


class MetricsPage:
    """Handles requests for /metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, request: PageRequest) -> Page:
        generate: Callable[..., Any] = exposition.generate_latest
        content_type = exposition.CONTENT_TYPE_LATEST
        end = b""
        if "application/openmetrics-text" in request.headers.get("accept", ""):
            generate, content_type = openmetrics.generate_latest, openmetrics.CONTENT_TYPE_LATEST
            end = EOF
        # In a thread, because it can take some milliseconds with hundreds of scorers.
        own = (await asyncio.to_thread(generate, self._metrics.registry)).removesuffix(EOF)
        headers = {"Vary": "Accept, Accept-Encoding"}
        if not _accepts_gzip(request.headers.get("accept-encoding", "")):
            return Page(
                content_type=content_type, parts=[own, *self._metrics.samples.plain(), end], headers=headers
            )
        parts = await self._metrics.samples.gzipped(before=own, after=end)
        return Page(content_type=content_type, parts=parts, headers={**headers, "Content-Encoding": "gzip"})


def _accepts_gzip(header: str) -> bool:
    """RFC 9110 section 12.5.3. A quality of zero means no."""
    return any(name == "gzip" and quality > 0 for name, quality in _codings(header))


def _codings(header: str) -> Iterator[tuple[str, float]]:
    for part in header.split(","):
        name, _, parameters = part.partition(";")
        key, _, value = parameters.strip().partition("=")
        try:
            quality = float(value) if key.strip() == "q" else 1.0
        except ValueError:
            quality = 0.0
        yield name.strip().lower(), quality
