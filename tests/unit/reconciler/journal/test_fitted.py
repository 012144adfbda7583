"""What stays in the ConfigMap when it is full."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.journal.lines import encode
from gitops_dsf.journal.record import Record, ScoreChange, new_record, without_details
from gitops_dsf.reconciler.journal.buffer import fitted
from gitops_dsf.reconciler.journal.observing import Head

HEADS = {"argocd/portal": Head(number=9, digest="d", uid="u", to=("a",))}


def record(number: int, scores: int = 0) -> Record:
    plain = new_record(
        placement="argocd/portal",
        number=number,
        time=datetime(2026, 6, 1, tzinfo=UTC),
        kind="Change",
        before={"a"},
        after={"b"},
    )
    return msgspec.structs.replace(
        plain,
        scores=tuple(ScoreChange(name="AddOn/cpu/cpu", cluster=f"c{n}", after=n) for n in range(scores)),
    )


def size(records: tuple[Record, ...]) -> int:
    return sum(len(encode(each)) for each in records) + len(msgspec.json.encode(HEADS))


def test_what_fits_stays_as_it_is() -> None:
    pending = (record(1, 3), record(2, 3))
    held = fitted(pending=pending, heads=HEADS, most=size(pending))
    assert (held.pending, held.dropped) == (pending, 0)


def test_details_of_the_oldest_record_go_first() -> None:
    pending = (record(1, 3), record(2, 3))
    held = fitted(pending=pending, heads=HEADS, most=size(pending) - 1)
    assert (held.pending, held.dropped) == ((without_details(pending[0]), pending[1]), 0)


def test_the_record_after_dropped_ones_counts_them() -> None:
    pending = tuple(record(number) for number in range(1, 6))
    held = fitted(pending=pending, heads=HEADS, most=size(pending[3:]) + 20)
    assert ([each.number for each in held.pending], held.dropped) == ([4, 5], 3)
    assert [each.lost for each in held.pending] == [3, 0]
    again = fitted(pending=held.pending, heads=HEADS, most=size(pending[4:]) + 20)
    assert [(each.number, each.lost) for each in again.pending] == [(5, 4)]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 3000))
def test_it_never_takes_more_than_it_may(scores: list[int], most: int) -> None:
    pending = tuple(record(number, each) for number, each in enumerate(scores, 1))
    held = fitted(pending=pending, heads=HEADS, most=most)
    assert size(held.pending) <= most or len(held.pending) == 1
    assert held.dropped + len(held.pending) == len(pending)
    assert held.pending[0].lost == held.dropped
