"""What flapping is; its reporter keeps every record, also one that is made while it counts."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from gitops_dsf.journal.record import Record
from gitops_dsf.reconciler.journal.flapping import FlappingReporter, flapping_of
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.shared import Shared
from tests.support.journalrecords import record
from tests.support.objecthub import ObjectHub

NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()


def records(decided: str, *, minutes: float = 10, end: float = 60) -> list[Record]:
    """A move every so many minutes, the last one `end` seconds ago."""
    count = len(decided) - 1
    return [
        record(number, *pair, at=datetime.fromtimestamp(NOW - end - (count - number) * minutes * 60, UTC))
        for number, pair in enumerate(pairwise(decided), 1)
    ]


@pytest.mark.parametrize(
    ("decided", "minutes", "end", "returns"),
    [
        ("ababa", 10, 60, 3),
        ("aba", 10, 60, None),  # one return: an outage that ended
        ("abcde", 10, 60, None),
        ("ababa", 61, 60, None),  # each return is later than the window
        ("ababa", 10, 86_400 + 60, None),
    ],
)
def test_two_returns_within_a_day_are_flapping(
    decided: str, minutes: float, end: float, returns: int | None
) -> None:
    found = flapping_of(records(decided, minutes=minutes, end=end), now=NOW)
    assert (found and found.returns) == returns


async def test_a_record_that_is_made_during_a_count_is_counted_next_time() -> None:
    metrics = Metrics()
    registry = metrics.registry
    async with ObjectHub() as hub, hub.api() as api:
        reporter = FlappingReporter(
            Shared(api=api, metrics=metrics, hub_namespace="hub", argocd_namespace="argocd")
        )
        found = records("ababa")
        assert reporter.settled("cpu") is None, "nothing was counted yet"
        reporter.learn(found[:2])
        counting = asyncio.create_task(reporter.assess(now=NOW, placements={}))
        await asyncio.sleep(0)
        reporter.learn(found[1:])
        await counting
        await reporter.assess(now=NOW, placements={})
        labels = {"placement": "portal", "scorer": ""}
        assert registry.get_sample_value("gitops_dsf_reconciler_flapping_returns", labels) == 3
        reporter.forget(["argocd/portal"])
        await reporter.assess(now=NOW, placements={})
        assert registry.get_sample_value("gitops_dsf_reconciler_flapping_returns", labels) is None
