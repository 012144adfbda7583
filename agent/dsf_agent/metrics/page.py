"""The page /metrics in both text formats."""

import asyncio
from collections.abc import Callable
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
        parts = [own, *self._metrics.samples.plain(), end]
        return Page(content_type=content_type, parts=parts, headers={"Vary": "Accept"})
