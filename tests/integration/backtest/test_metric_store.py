"""Reading a metric store within its limits, from a store on loopback."""

import asyncio

import pytest

from gitops_dsf.backtest.publication import query_of
from gitops_dsf.metricstore.answer import StoreError
from gitops_dsf.metricstore.client import MetricStore, StoreLimits
from tests.support.metricstore import Store, Value

SCORES: dict[tuple[str, str], Value] = {("idle", name): lambda _at: 50.0 for name in ("eu", "us")}


def _read(store: Store, limits: StoreLimits, *, count: int = 2000) -> list[int]:
    """Reads a history. Returns how many points are done after each page."""

    async def read() -> list[int]:
        async with MetricStore(store.url, limits=limits) as client:
            pages = client.pages(query_of("idle"), start=1_780_272_000, step=60, count=count)
            return [page.first + page.count async for page in pages]

    return asyncio.run(read())


def test_pages_have_a_bounded_number_of_samples() -> None:
    with Store(scores=SCORES) as store:
        seen = _read(store, StoreLimits(page_samples=1000))
    assert seen == [500, 1000, 1500, 2000]


def test_a_history_with_too_many_samples_ends_with_what_to_do() -> None:
    told = "the history has more than 1,500 samples; ask for a shorter time or for one application"
    with Store(scores=SCORES) as store, pytest.raises(StoreError, match=told):
        _read(store, StoreLimits(page_samples=1000, samples=1500))
    assert len(store.asked) == 2, "it ends when the limit is passed"


def test_an_answer_that_is_too_large_is_asked_for_in_smaller_pages() -> None:
    with Store(scores=SCORES) as store:
        seen = _read(store, StoreLimits(answer_bytes=8000), count=500)
    assert seen[-1] == 500
    assert len(store.asked) > 4


def test_a_store_that_does_not_answer_is_told() -> None:
    with Store(scores=SCORES, hangs=True) as store, pytest.raises(StoreError, match=r"127\.0\.0\.1"):
        _read(store, StoreLimits(seconds=0.05))
    assert len(store.asked) > 1, "smaller pages were tried"
