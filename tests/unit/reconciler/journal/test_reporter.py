"""The reporter of flapping keeps every record, also one that is made while it counts."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise

from gitops_dsf.journal.record import Record
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.shared import Shared
from tests.support.journalrecords import record
from tests.support.objecthub import ObjectHub

NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()


def records(decided: str) -> list[Record]:
    return [
        record(number, before, after, at=datetime.fromtimestamp(NOW - 600 + number, UTC))
        for number, (before, after) in enumerate(pairwise(decided), 1)
    ]


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
