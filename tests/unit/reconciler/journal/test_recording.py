"""Which decisions need a record, which commit it names, and what flapping is."""

import asyncio
import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.deployed import Deployed
from gitops_dsf.hub.moves.causes import KINDS, Cause
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.record import Record, RecordKind, new_record
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.decisions import DecisionSets
from gitops_dsf.reconciler.journal.branch import ChangedDecision, observe
from gitops_dsf.reconciler.journal.flapping import FlappingReporter, flapping_of
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from tests.support.journalrecords import record
from tests.support.objecthub import ObjectHub

UNCHANGED_SECONDS = 1.0

MANY = [f"c{number}" for number in range(200)]


def seen(
    *clusters: str,
    last: Record | None,
    since: float = 100.0,
    now: float = 200.0,
    started: float = 0.0,
    unnamed: dict[str, frozenset[str]] | None = None,
) -> tuple[list[ChangedDecision], float | None]:
    decisions = DecisionSets()
    page = decision_of(namespace="argocd", name="page", placement="portal", clusters=clusters)
    decisions.observe([page], since)
    return observe(
        {"portal": PlacementSummary("uid-1", 1, ())},
        namespace="argocd",
        decisions=decisions,
        last={"argocd/portal": last} if last is not None else {},
        unnamed=unnamed or {},
        started=started,
        now=now,
        hub_time=1000.0,
    )


def last(*clusters: str, number: int = 7, uid: str = "uid-1") -> Record:
    return new_record(
        placement="argocd/portal",
        number=number,
        time=datetime(2026, 6, 1, tzinfo=UTC),
        kind="Change",
        before=None,
        after=clusters,
        uid=uid,
    )


def test_a_change_waits_until_the_decision_stays() -> None:
    moves, wait = seen("eu-2", last=last("eu-1"), since=100, now=100.25)
    assert (moves, wait) == ([], pytest.approx(UNCHANGED_SECONDS - 0.25))
    ((record, before, after),), _ = seen("eu-2", last=last("eu-1"), since=100, now=101)
    assert (record.kind, record.number, record.time.timestamp()) == ("Change", 8, 999.0)
    assert (before, after) == ({"eu-1"}, {"eu-2"})


@pytest.mark.parametrize(("since", "kind"), [(49.0, "Later"), (50.0, "Later"), (50.1, "Change")])
def test_what_changed_before_this_replica_looked_is_told_apart(
    since: float, kind: RecordKind
) -> None:
    ((record, _, _),), _ = seen("eu-2", last=last("eu-1"), since=since, started=50)
    assert record.kind == kind


@pytest.mark.parametrize(
    "known",
    [
        None,
        last("eu-1", uid="another Placement of this name"),
        last("eu-2", uid="another one, with the same decision"),
    ],
)
def test_the_first_record_of_a_placement_does_not_know_the_decision_before(
    known: Record | None,
) -> None:
    ((record, before, _),), _ = seen("eu-2", last=known)
    assert (record.kind, before, record.number) == ("Start", None, 1)


def test_a_large_decision_that_no_record_names_is_known_by_its_digest() -> None:
    assert not seen(*MANY, last=last(*MANY))[0]
    ((record, before, _),), _ = seen("eu-2", last=last(*MANY))
    assert (record.kind, before, record.number) == ("Start", None, 8)


def test_a_leader_that_recorded_a_large_decision_knows_it() -> None:
    unnamed = {last(*MANY).id: frozenset(MANY)}
    ((record, before, _),), _ = seen("c0", last=last(*MANY), unnamed=unnamed)
    assert (record.kind, before, record.more) == ("Change", {*MANY}, 99)


PAST = [{"revision": "a"}, {"revision": "b"}]


@pytest.mark.parametrize(
    ("status", "commit"),
    [
        ({"sync": {"status": "Synced", "revision": "c"}, "history": PAST}, "c"),
        ({"sync": {"status": "OutOfSync", "revision": "c"}, "history": PAST}, "b"),
        ({"sync": {"status": "Unknown"}, "history": PAST}, "b"),
        ({"sync": {"status": "OutOfSync", "revision": "c"}, "history": None}, ""),
        ({}, ""),
    ],
)
def test_what_was_compared_counts_when_it_is_applied(status: dict[str, Any], commit: str) -> None:
    item = {"metadata": {"name": "gitops-dsf-delivery"}, "status": status}
    assert msgspec.convert(item, Deployed).commit == commit


NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()


def records(decided: str, *, minutes: float = 10, end: float = 60) -> list[Record]:
    """A move every so many minutes, the last one `end` seconds ago."""
    count = len(decided) - 1
    return [
        record(
            number,
            *pair,
            at=datetime.fromtimestamp(NOW - end - (count - number) * minutes * 60, UTC),
        )
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
    metrics = ReconcilerMetrics()
    registry = metrics.registry
    async with ObjectHub() as hub, hub.api() as api:
        reporter = FlappingReporter(
            ControllerContext(
                api=api, metrics=metrics, hub_namespace="hub", argocd_namespace="argocd"
            )
        )
        found = records("ababa")
        assert reporter.settled_condition("cpu") is None, "nothing was counted yet"
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


def test_every_cause_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs/operate/reconciler.md").read_text(encoding="utf-8")
    section = page.partition("### Causes\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| ([A-Z][A-Za-z]+) \| ([a-z ]+)[:|]?", section, re.MULTILINE)
    documented = {kind: title.strip() for kind, title in rows}
    assert documented == {str(cause): KINDS[cause].title for cause in Cause}
    warnings = {line.split(" ")[1] for line in section.splitlines() if line.endswith("(Warning) |")}
    assert warnings == {str(cause) for cause in Cause if KINDS[cause].warning}
