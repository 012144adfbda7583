"""The ConfigMap of moves never outgrows what the API server accepts.

What is only shown goes before what the pace needs, and what was left out is told.
"""

import pytest

from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.pacing.maintenance import Drain, MaintenanceState, WindowState
from gitops_dsf.pacing.stored import Queue, Queued, StoredMoves, read_moves

MAX_CONFIGMAP_BYTES = 1_000_000
"""Of 1,048,576 bytes that Kubernetes accepts."""
NOW = 1_800_000_000.0


def size(moves: StoredMoves) -> int:
    return sum(len(key) + len(text.encode()) for key, text in moves.data.items())


def waiting(number: int) -> Queued:
    return Queued(
        placement=f"argocd/application-of-a-team-{number:05}",
        source="cluster-in-europe-1",
        target="cluster-in-europe-2",
        points=100.0 - number / 100,
        reason="Arrivals",
        message="cluster-in-europe-2 receives 1 already",
        since=NOW,
    )


def ended(number: int) -> LedgerMove:
    return LedgerMove(
        placement=f"argocd/application-of-a-team-{number:05}",
        source="cluster-in-europe-1",
        target="cluster-in-europe-2",
        since=NOW - 20_000 + number,
        phase=Phase.ENDED,
        phase_since=NOW - 20_000 + number,
    )


def drained(number: int) -> Drain:
    names = tuple(f"argocd/application-of-a-team-{each:05}" for each in range(100))
    return Drain(
        cluster=f"cluster-{number}",
        maintenance="patch",
        since=NOW,
        until=NOW + 60,
        first=150,
        count=150,
        left=names,
        stays=names,
        stays_count=120,
    )


UNDER_WAY = LedgerMove(
    placement="argocd/moves", source="c1", target="c2", since=NOW, phase_since=NOW
)
DECIDED = {"argocd/moves": ("c1",)}


def fitted(whole: StoredMoves) -> StoredMoves:
    """What is stored, as a reader reads it."""
    found = whole.fitted(MAX_CONFIGMAP_BYTES, kept=3600)
    assert size(found) <= MAX_CONFIGMAP_BYTES
    assert read_moves(found.data) == found
    return found


@pytest.mark.parametrize("count", [3, 300])
def test_what_has_room_is_stored_whole(count: int) -> None:
    """The healthy twin."""
    whole = StoredMoves(
        ledger=Ledger((UNDER_WAY, *map(ended, range(count))), DECIDED),
        queue=Queue(tuple(map(waiting, range(count)))),
        maintenance=MaintenanceState(
            windows=(WindowState("patch", "Drain", open=True),),
            drains=tuple(map(drained, range(3))),
        ),
    )
    assert fitted(whole) == whole


def test_of_six_thousand_waiting_moves_those_with_the_largest_gain_are_named() -> None:
    whole = StoredMoves(
        ledger=Ledger((UNDER_WAY,), DECIDED), queue=Queue(tuple(map(waiting, range(6000))))
    )
    found = fitted(whole)
    assert found.ledger == whole.ledger
    assert len(found.queue.waiting) > 3000
    assert found.queue.waiting == whole.queue.waiting[: len(found.queue.waiting)]
    assert len(found.queue.waiting) + found.queue.omitted == 6000


def test_names_on_drained_clusters_go_before_moves_that_wait() -> None:
    whole = StoredMoves(
        ledger=Ledger((UNDER_WAY,), DECIDED),
        queue=Queue(tuple(map(waiting, range(1000)))),
        maintenance=MaintenanceState(drains=tuple(map(drained, range(500)))),
    )
    found = fitted(whole)
    assert (found.ledger, found.queue) == (whole.ledger, whole.queue)
    assert len(found.maintenance.drains) == 500
    assert {(each.count, each.stays_count) for each in found.maintenance.drains} == {(150, 120)}
    assert {len(each.left) for each in found.maintenance.drains} == {10}


def test_what_is_shown_goes_before_the_ledger() -> None:
    ledger = Ledger((UNDER_WAY, *map(ended, range(5000))), DECIDED)
    whole = StoredMoves(
        ledger=ledger,
        queue=Queue(tuple(map(waiting, range(6000)))),
        maintenance=MaintenanceState(drains=tuple(map(drained, range(500)))),
    )
    assert fitted(whole).ledger == ledger


def test_decisions_go_before_moves_and_the_moves_that_ended_first_before_others() -> None:
    """Then nothing begins until those that were left out no longer matter."""
    moves = (UNDER_WAY, *map(ended, range(10_000)))
    decided = {
        f"argocd/application-of-a-team-{number:05}": ("cluster-1",) for number in range(10_000)
    }
    found = fitted(StoredMoves(ledger=Ledger(moves, decided))).ledger
    assert found.decided == {}
    assert found.moves[0] == UNDER_WAY
    assert found.moves[-1] == ended(9_999)
    assert len(found.moves) + found.omitted == 10_001
    oldest = min(each.phase_since for each in found.moves)
    assert found.whole_after == oldest - 1 + 3600


def test_moves_that_are_under_way_are_never_left_out() -> None:
    admitted = tuple(
        LedgerMove(placement=f"argocd/{number:040}", source="c1", target="c2", since=NOW)
        for number in range(12_000)
    )
    found = StoredMoves(ledger=Ledger((*map(ended, range(10)), *admitted))).fitted(
        MAX_CONFIGMAP_BYTES, kept=3600
    )
    assert found.ledger.moves == admitted
    assert found.ledger.omitted == 10
