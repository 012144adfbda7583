"""Reading a metric store within its limits, from a store on loopback."""

import asyncio
from collections.abc import Callable

import pytest

from gitops_dsf.backtest.rawscores import query_of
from gitops_dsf.metricstore import client
from gitops_dsf.metricstore.errors import StoreError
from tests.support.metricstore import FakeMetricStore, Value

SCORES: dict[tuple[str, str], Value] = {("idle", name): lambda _at: 50.0 for name in ("eu", "us")}


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets limits of the client."""

    def given(**limits: float) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(client, name, value)

    return given


def _read(store: FakeMetricStore, *, count: int = 2000) -> list[int]:
    """Reads a history. Returns how many points are done after each page."""

    async def read() -> list[int]:
        async with client.OpenStore(store.url) as asked:
            pages = asked.pages(
                query_of("idle", cluster_label="c"), start=1_780_272_000, step=60, count=count
            )
            return [page.first + page.count async for page in pages]

    return asyncio.run(read())


def test_pages_have_a_bounded_number_of_samples(limit: Callable[..., None]) -> None:
    limit(PAGE_SAMPLES=1000)
    with FakeMetricStore(scores=SCORES) as store:
        seen = _read(store)
    assert seen == [500, 1000, 1500, 2000]


def test_a_history_with_too_many_samples_ends_with_what_to_do(limit: Callable[..., None]) -> None:
    limit(PAGE_SAMPLES=1000, MAX_SAMPLES=1500)
    told = "the history has more than 1,500 samples; ask for a shorter time or for one application"
    with FakeMetricStore(scores=SCORES) as store, pytest.raises(StoreError, match=told):
        _read(store)
    assert len(store.asked) == 2, "it ends when the limit is passed"


def test_an_answer_that_is_too_large_is_asked_for_in_smaller_pages(
    limit: Callable[..., None],
) -> None:
    limit(ANSWER_BYTES=8000)
    with FakeMetricStore(scores=SCORES) as store:
        seen = _read(store, count=500)
    assert seen[-1] == 500
    assert len(store.asked) > 4


def test_a_store_that_does_not_answer_is_told(limit: Callable[..., None]) -> None:
    limit(SECONDS=0.05)
    with (
        FakeMetricStore(scores=SCORES, hangs=True) as store,
        pytest.raises(StoreError, match=r"127\.0\.0\.1"),
    ):
        _read(store)
    assert len(store.asked) > 1, "smaller pages were tried"
