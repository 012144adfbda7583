"""What tests of the reconciler share."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.objecthub import ObjectHub
from tests.support.pageserver import ConfigPageServer, says


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the person who runs the tests stands between."""
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pages() -> Iterator[ConfigPageServer]:
    """Scoring APIs that are healthy."""
    with ConfigPageServer() as server:
        server.pages["/healthz"] = says(ok=True)
        yield server


@pytest.fixture
def on_wire() -> bool:
    """Whether the hub has sockets: for tests of what the client does on the wire."""
    return False


@pytest.fixture
async def hub(on_wire: bool) -> AsyncIterator[ObjectHub]:
    async with ObjectHub(on_wire=on_wire) as hub:
        yield hub
