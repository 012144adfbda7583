"""When the pruner lists, what it deletes, and how it waits.

In virtual time, with a store in memory.
"""

import asyncio
import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dsf_agent.configuration.snapshot import ConfigurationSnapshot, parse
from dsf_agent.errors import AgentError
from dsf_agent.metrics import AgentMetrics
from dsf_agent.publish.prune import Pruner
from dsf_agent.publish.store import StoredScores
from dsf_wire.scored import Reason

EMPTY_FACTOR = 6
RECHECK_SECONDS = 300.0

DELAY = 10.0
EMPTY = parse(b"[]")
CPU = parse(
    b'[{"name": "cpu", "scoreName": "cpu", "scoringEndpoint": "http://a/", "scoringInterval": 60}]'
)
CPU_AND_DISK = parse(
    b'[{"name": "cpu", "scoreName": "cpu", "scoringEndpoint": "http://a/", "scoringInterval": 60},'
    b' {"name": "disk", "scoreName": "disk", "scoringEndpoint": "http://a/", "scoringInterval": 60}]'  # noqa: E501
)


class PrunedStore:
    """Keeps objects, and the times of lists and deletions since the loop's clock started."""

    def __init__(self, *names: str, valid_for: float | None = None) -> None:
        self.start = asyncio.get_running_loop().time()
        valid_until = None if valid_for is None else self.wall() + valid_for
        self.objects = {
            name: StoredScores(name=name, values={}, valid_until=valid_until, labels={})
            for name in names
        }
        self.looks: list[float] = []
        self.deletions: dict[str, float] = {}
        self.faults: Iterator[Exception] = iter(())
        self.refusals: dict[str, Reason] = {}
        """Objects whose deletion fails, by name."""
        self.under_way: set[tuple[str, str]] = set()
        """Objects that are being written, by cluster and name."""

    @property
    def elapsed(self) -> float:
        return asyncio.get_running_loop().time() - self.start

    def wall(self) -> float:
        return 1_700_000_000.0 + self.elapsed

    def of(self, cluster: str) -> Any:
        assert cluster == "c1"
        return self

    async def list_owned(self, *, values: bool) -> list[StoredScores]:
        assert not values
        self.looks.append(self.elapsed)
        fault = next(self.faults, None)
        if fault is not None:
            raise fault
        return list(self.objects.values())

    async def delete(self, stored: StoredScores) -> None:
        if stored.name in self.refusals:
            raise AgentError("no", reason=self.refusals[stored.name])
        del self.objects[stored.name]
        self.deletions[stored.name] = self.elapsed


@pytest.fixture(autouse=True)
def _middle_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)


@contextmanager
def pruning(store: PrunedStore, metrics: AgentMetrics | None = None) -> Iterator[Pruner]:
    pruner = Pruner(
        store_of=store.of,
        under_way=lambda: store.under_way,
        wall=store.wall,
        own="c1",
        metrics=metrics or AgentMetrics(cluster="c1"),
        delay_seconds=DELAY,
    )
    task = asyncio.create_task(pruner.run())
    try:
        yield pruner
    finally:
        task.cancel()


BROKEN = parse(b'[{"name": "cpu"}]')
MINUTE = DELAY * 6


@pytest.mark.parametrize(
    ("names", "valid_for", "steps", "deletions", "looks"),
    [
        (["cpu", "gone"], None, [(CPU, 1000)], {"gone": DELAY}, 2),
        (["gone"], None, [*[(CPU, 8)] * 4, (CPU, 18)], {"gone": 4 * 8 + DELAY}, 1),
        (["cpu"], None, [*[(CPU, 1), (EMPTY, MINUTE - 1)] * 5, (CPU, 1000)], {}, 2),
        (["gone"], None, [(None, 1000), (BROKEN, 1000)], {}, 0),
        (["cpu", "other"], None, [(CPU, 0), (EMPTY, 1000)], {"cpu": MINUTE}, 2),
        (["old"], 500, [(EMPTY, 1000)], {"old": MINUTE + 2 * RECHECK_SECONDS}, 4),
        # The hub's times are in whole seconds, so what expired within the last one may not have.
        (["old"], MINUTE - 0.9, [(EMPTY, 1000)], {"old": MINUTE + RECHECK_SECONDS}, 3),
        (["old"], MINUTE - 1.1, [(EMPTY, 1000)], {"old": MINUTE}, 2),
    ],
    ids=[
        "unnamed",
        "changes",
        "empty for a moment",
        "broken",
        "empty for long",
        "expired later",
        "expired just now",
        "expired a moment ago",
    ],
)
async def test_what_a_file_deletes_and_when(
    names: list[str],
    valid_for: float | None,
    steps: list[tuple[ConfigurationSnapshot | None, float]],
    deletions: dict[str, float],
    looks: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each change restarts the delay, which is a minute for an empty file by default, as the docs
    say. It deletes at once what a file of this process named, and what has expired. To wait is no
    failure. Five minutes later, and after each deletion, it looks once more.
    """
    store = PrunedStore(*names, valid_for=valid_for)
    with pruning(store) as pruner:
        for state, seconds in steps:
            pruner.set(state)
            await asyncio.sleep(seconds)
    assert store.deletions == {name: pytest.approx(at, abs=0.1) for name, at in deletions.items()}
    assert len(store.looks) == looks
    assert EMPTY_FACTOR == 6
    assert caplog.messages == [] or EMPTY in [state for state, _ in steps]


async def test_the_name_of_a_deleted_object_is_forgotten() -> None:
    """An object with the same name that another program writes later waits for its expiry."""
    store = PrunedStore("cpu")
    with pruning(store) as pruner:
        pruner.set(CPU)
        pruner.set(EMPTY)
        await asyncio.sleep(100)
        assert not store.objects
        store.objects["cpu"] = StoredScores(name="cpu", values={}, valid_until=None, labels={})
        pruner.set(EMPTY)
        await asyncio.sleep(1000)
    assert set(store.objects) == {"cpu"}


async def test_a_refused_deletion_holds_up_no_other_and_is_tried_again() -> None:
    """The scorer moved between spokes and hub, and its new writer has not taken over yet."""
    store = PrunedStore("moved", "old-score")
    store.refusals["moved"] = Reason.FORBIDDEN
    metrics = AgentMetrics(cluster="c1")
    with pruning(store, metrics) as pruner:
        pruner.set(CPU)
        await asyncio.sleep(DELAY + 1)
        assert set(store.objects) == {"moved"}
        assert len(store.looks) == 1
        assert metrics.deletions._value.get() == 1
        store.refusals.clear()
        await asyncio.sleep(RECHECK_SECONDS)
    assert store.deletions["moved"] == pytest.approx(store.deletions["old-score"] + 300, abs=0.1)


async def test_a_hub_that_fails_at_a_deletion_is_asked_again_soon() -> None:
    store = PrunedStore("a-score", "old-score")
    store.refusals["a-score"] = Reason.SERVER_ERROR
    with pruning(store) as pruner:
        pruner.set(CPU)
        await asyncio.sleep(DELAY + 0.1)
        assert set(store.objects) == {"a-score", "old-score"}, "the others wait, too"
        store.refusals.clear()
        await asyncio.sleep(RECHECK_SECONDS / 2)
    assert not store.objects


@pytest.mark.parametrize(
    "fault", [AgentError("away", reason=Reason.UNREACHABLE), ValueError("a bug")]
)
async def test_failures_are_logged_and_retried_with_growing_pauses(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    store = PrunedStore("gone-score")
    store.faults = iter([fault] * 8)
    with pruning(store) as pruner, caplog.at_level(logging.WARNING):
        pruner.set(CPU)
        await asyncio.sleep(2000)
    pauses = [after - before for before, after in zip(store.looks, store.looks[1:], strict=False)]
    assert pauses == pytest.approx([5, 10, 20, 40, 80, 160, 300, 300, 300], abs=0.1)
    assert set(store.deletions) == {"gone-score"}
    reason = Reason.UNREACHABLE if isinstance(fault, AgentError) else Reason.INTERNAL
    assert [record.__dict__["reason"] for record in caplog.records] == [reason.value] * 8


async def test_pauses_start_small_again_after_a_success_or_a_new_file() -> None:
    store = PrunedStore("old-score", valid_for=100)
    away = AgentError("away", reason=Reason.UNREACHABLE)
    with pruning(store) as pruner:
        store.faults = iter([away, away])
        pruner.set(EMPTY)
        await asyncio.sleep(DELAY * 6 + 20)
        assert len(store.looks) == 3
        store.faults = iter([away])
        await asyncio.sleep(RECHECK_SECONDS + 10)
        first, second, third, fourth, fifth = store.looks
        assert [second - first, third - second] == pytest.approx([5, 10], abs=0.1)
        assert fifth - fourth == pytest.approx(5, abs=0.1)
        store.faults = iter([away, away])
        pruner.set(CPU)
        await asyncio.sleep(DELAY + 1)
        pruner.set(CPU)
        await asyncio.sleep(DELAY + 6)
    assert store.looks[6] - store.looks[5] == pytest.approx(11, abs=0.1)
    assert store.looks[7] - store.looks[6] == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize(
    ("before", "state", "told"), [(CPU, EMPTY, True), (None, EMPTY, False), (CPU, CPU, False)]
)
async def test_an_empty_list_after_another_file_is_logged(
    before: ConfigurationSnapshot | None,
    state: ConfigurationSnapshot,
    told: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A file without scorers may be a mistake, so a warning is logged before anything is
    deleted.
    """
    with pruning(PrunedStore()) as pruner, caplog.at_level(logging.WARNING):
        pruner.set(before)
        pruner.set(state)
    assert any("has no scorers any more" in record.message for record in caplog.records) is told


async def test_a_file_that_comes_during_deletions_is_asked_before_the_next_one() -> None:
    class Changing(PrunedStore):
        async def delete(self, stored: StoredScores) -> None:
            await super().delete(stored)
            pruner.set(CPU_AND_DISK)

    store = Changing("cpu", "memory", "disk")
    with pruning(store) as pruner:
        pruner.set(CPU)
        await asyncio.sleep(DELAY * 3)
    assert set(store.deletions) == {"memory"}
    assert set(store.objects) == {"cpu", "disk"}


async def test_an_object_that_is_being_written_is_deleted_after_its_write() -> None:
    """Listed or not: one that is being created is not listed yet, and must go as well."""
    store = PrunedStore("old-score")
    store.under_way = {("c1", "old-score"), ("c1", "cpu")}
    with pruning(store) as pruner:
        pruner.set(CPU)
        await asyncio.sleep(DELAY + 3)
        assert store.deletions == {}
        store.under_way = {("c1", "new-score"), ("c1", "cpu")}
        await asyncio.sleep(5)
        assert store.deletions == {"old-score": pytest.approx(15, abs=0.1)}
        store.objects["new-score"] = StoredScores(
            name="new-score", values={}, valid_until=None, labels={}
        )
        store.under_way = {("c1", "cpu")}
        await asyncio.sleep(5)
        assert store.deletions["new-score"] == pytest.approx(20, abs=0.1)


async def test_a_wanted_score_that_is_being_written_delays_nothing() -> None:
    store = PrunedStore("cpu", "gone")
    store.under_way = {("c1", "cpu")}
    with pruning(store) as pruner:
        pruner.set(CPU)
        await asyncio.sleep(1000)
    assert store.deletions == {"gone": pytest.approx(DELAY, abs=0.1)}
    assert len(store.looks) == 2


async def test_names_of_scores_that_are_gone_are_forgotten() -> None:
    """Scorers come and go for months: what is remembered does not grow with their number."""
    store = PrunedStore()
    with pruning(store) as pruner:
        for number in range(50):
            one = b'[{"name": "s", "scoreName": "s%d", "scoringEndpoint": "http://a/", "scoringInterval": 60}]'  # noqa: E501
            pruner.set(parse(one % number))
            await asyncio.sleep(1000)
        assert pruner._named == {"s49"}
        store.objects["s49"] = StoredScores(name="s49", values={}, valid_until=None, labels={})
        pruner.set(EMPTY)
        await asyncio.sleep(100)
        assert not store.objects, "what the last file named is deleted at once"


async def test_a_file_that_comes_during_a_look_makes_it_forget_nothing() -> None:
    class Slow(PrunedStore):
        async def list_owned(self, *, values: bool) -> list[StoredScores]:
            found = await super().list_owned(values=values)
            await asyncio.sleep(5)
            return found

    store = Slow("cpu")
    with pruning(store) as pruner:
        pruner.set(CPU)
        await asyncio.sleep(DELAY + 5 + RECHECK_SECONDS + 2)
        assert len(store.looks) == 2, "the last look is under way"
        pruner.set(EMPTY)
        await asyncio.sleep(MINUTE + 10)
    assert set(store.deletions) == {"cpu"}
