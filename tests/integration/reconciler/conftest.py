"""What tests of the reconciler share."""

from collections.abc import Iterator

import pytest

from tests.support.pageserver import PageServer, says


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[PageServer]:
    """Scoring APIs that are healthy; no proxy of the person who runs the tests stands between."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with PageServer() as server:
        server.pages["/healthz"] = says(ok=True)
        yield server
