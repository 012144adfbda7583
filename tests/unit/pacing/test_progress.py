"""How far a move is, by what the hub shows."""

import pytest

from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.pacing.maintenance import Drain, MaintenanceState
from gitops_dsf.pacing.progress import advance
from gitops_dsf.pacing.stored import MovesError, Queue, Queued, StoredMoves, read_moves

FOLLOW_SECONDS = 60.0
LAST_PASS_SECONDS = 10.0

KEY = "argocd/web"
NOW = 10_000.0
GONE = "gone"


def move(phase: Phase, ago: float = 0.0) -> LedgerMove:
    return LedgerMove(
        placement=KEY,
        source="c1",
        target="c2",
        since=NOW - 500,
        phase=phase,
        phase_since=NOW - ago,
        admitted=True,
    )


def after(
    before: LedgerMove,
    *clusters: str,
    published: bool = False,
    finished: bool = False,
    settled: bool = True,
) -> str:
    """The phase of the move after a look; `gone` when the ledger has it no more."""
    found = advance(
        Ledger((before,), {KEY: ("c1",)}),
        paced={KEY},
        decided={KEY: frozenset(clusters)} if settled else {},
        published={KEY} if published else set(),
        finished=lambda _: finished,
        now=NOW,
    )
    same = [each.phase for each in found.moves if each.admitted is before.admitted]
    return str(same[0]) if same else GONE


@pytest.mark.parametrize(
    ("before", "clusters", "expected"),
    [
        (move(Phase.ADMITTED, FOLLOW_SECONDS - 1), ("c1",), Phase.ADMITTED),
        (move(Phase.ADMITTED, FOLLOW_SECONDS), ("c1",), Phase.WITHDRAWN),
        (move(Phase.ADMITTED), ("c2",), Phase.HANDOVER),
        (move(Phase.ADMITTED), ("c3",), Phase.WITHDRAWN),
        (move(Phase.ADMITTED), ("c1", "c2"), Phase.ADMITTED),
        (move(Phase.WITHDRAWN, LAST_PASS_SECONDS - 1), ("c1",), Phase.WITHDRAWN),
        (move(Phase.WITHDRAWN, LAST_PASS_SECONDS), ("c1",), GONE),
        (move(Phase.WITHDRAWN, LAST_PASS_SECONDS), ("c2",), Phase.HANDOVER),
        (move(Phase.HANDOVER, 9_000), ("c2",), Phase.HANDOVER),
        (move(Phase.HANDOVER), ("c3",), Phase.ENDED),
        (move(Phase.ENDED), ("c3",), Phase.ENDED),
    ],
)
def test_phases(before: LedgerMove, clusters: tuple[str, ...], expected: str) -> None:
    assert after(before, *clusters) == expected


def test_a_handover_ends_when_it_is_finished() -> None:
    assert after(move(Phase.HANDOVER), "c2", finished=True) == Phase.ENDED


def test_a_decision_that_is_not_settled_changes_nothing() -> None:
    assert after(move(Phase.ADMITTED, 9_000), settled=False) == Phase.ADMITTED


def test_a_withdrawn_move_stays_until_its_items_are_gone() -> None:
    """The time until it is forgotten counts from then."""
    found = advance(
        Ledger((move(Phase.WITHDRAWN, 500),), {KEY: ("c1",)}),
        paced={KEY},
        decided={KEY: frozenset({"c1"})},
        published={KEY},
        finished=lambda _: False,
        now=NOW,
    )
    assert [(each.phase, each.phase_since) for each in found.moves] == [(Phase.WITHDRAWN, NOW)]


def test_a_placement_that_is_no_longer_paced_has_no_move() -> None:
    """What ended before stays, because its cluster may not have measured it."""
    ledger = Ledger((move(Phase.ENDED), move(Phase.HANDOVER)), {KEY: ("c1",)})
    found = advance(ledger, paced=(), decided={}, published=(), finished=lambda _: False, now=NOW)
    assert [each.phase for each in found.moves] == [Phase.ENDED]
    assert found.decided == {}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, []),
        ({"argocd/other": ("c1",)}, [("", "c2"), ("", "c4")]),
        ({KEY: ("c1",)}, [("c1", "c2"), ("", "c4")]),
        ({KEY: ("c1", "c3")}, [("c1", "c2"), ("c3", "c4")]),
        ({KEY: ("c2", "c4")}, []),
    ],
    ids=["first look", "new application", "lost cluster", "two lost clusters", "no change"],
)
def test_what_nobody_admitted_is_an_arrival(
    known: dict[str, tuple[str, ...]], expected: list[tuple[str, str]]
) -> None:
    """Of an application that is new, or that OCM moved itself.

    At the first look everything is old.
    """
    found = advance(
        Ledger((), known),
        paced={KEY},
        decided={KEY: frozenset({"c2", "c4"})},
        published=(),
        finished=lambda _: False,
        now=NOW,
    )
    assert [(each.source, each.target) for each in found.moves] == expected
    assert all(not each.admitted and each.phase is Phase.HANDOVER for each in found.moves)
    assert {each.phase_since for each in found.moves} <= {NOW}
    assert found.decided == {KEY: ("c2", "c4")}


FUTURE = NOW + 6 * 3600


def test_times_in_the_future_count_as_now() -> None:
    """The hub's clock was wrong by hours when they were written.

    What waits for them begins to wait now.
    """
    poisoned = LedgerMove(placement=KEY, source="c1", target="c2", since=FUTURE, phase_since=FUTURE)
    healthy = move(Phase.ENDED, 100)
    stored = StoredMoves(
        ledger=Ledger((poisoned, healthy), {KEY: ("c1",)}),
        queue=Queue(
            (
                Queued(
                    placement=KEY,
                    source="c1",
                    target="c2",
                    points=9,
                    reason="Settle",
                    message="m",
                    since=FUTURE,
                ),
            )
        ),
        maintenance=MaintenanceState(
            drains=(
                Drain(
                    cluster="c1", maintenance="patch", since=FUTURE, until=FUTURE, first=1, count=1
                ),
            )
        ),
    )
    found = stored.not_after(NOW)
    assert [(each.since, each.phase_since) for each in found.ledger.moves] == [
        (10_000.0, 10_000.0),
        (9_500.0, 9_900.0),
    ]
    assert found.ledger.decided == {KEY: ("c1",)}
    assert [each.since for each in found.queue.waiting] == [10_000.0]
    assert [(each.since, each.until) for each in found.maintenance.drains] == [(10_000.0, FUTURE)]
    assert stored.not_after(FUTURE) == stored


def test_what_was_read_before_is_not_decoded_again() -> None:
    """The leader reads it in each pass, and a ledger may have a megabyte."""
    moves = StoredMoves(ledger=Ledger((move(Phase.ENDED),)))
    first, again = read_moves(dict(moves.data)), read_moves(dict(moves.data))
    assert first == moves
    assert first.ledger is again.ledger
    assert first.not_after(FUTURE).ledger is first.ledger
    other = StoredMoves(ledger=Ledger((move(Phase.HANDOVER),)))
    assert read_moves(other.data) == other
    for _ in range(2):
        with pytest.raises(MovesError):
            read_moves({"ledger": "?"})
