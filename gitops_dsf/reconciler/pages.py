"""The HTTP pages of the reconciler: metrics, health and readiness."""

import contextlib
from collections.abc import AsyncIterator, Callable

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from dsf_runtime.pages import Page, PageServer
from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.metrics import Metrics


@contextlib.asynccontextmanager
async def serve_pages(
    *, host: str, port: int, metrics: Metrics, waits_for: Callable[[], str]
) -> AsyncIterator[int]:
    """Serves while the block runs, and yields the port. `waits_for` returns what readiness waits for, "" when
    ready.

    Raises UsageError when the address cannot be bound.
    """

    async def scrape(_accept: str) -> Page:
        return Page(content_type=CONTENT_TYPE_LATEST, parts=[generate_latest(metrics.registry)])

    def ready() -> Page:
        missing = waits_for()
        return (
            Page(status=503, parts=[f"waits for {missing}\n".encode()]) if missing else Page(parts=[b"ok\n"])
        )

    server = PageServer(host=host, port=port, metrics=scrape, ready=ready)
    try:
        await server.start()
    except OSError as error:
        msg = f"--metrics-address {host}:{port}: {error.strerror or error}"
        raise UsageError(msg) from error
    try:
        yield server.port
    finally:
        await server.close()
