"""What a ledger says about each Placement and each cluster, and what that costs."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.pacing.admit import admit
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.pacing.ledgerindex import LedgerIndex
from gitops_dsf.pacing.progress import advance
from tests.unit.pacing.fleet import PACE, SECONDS, herd, situation

SCORES = {"c1": 0, "c2": 60, "c3": 50}


class CountedMove(LedgerMove, frozen=True):
    """A move that counts how often somebody looks whether it is under way."""

    @property
    def under_way(self) -> bool:
        LOOKS.append(self.placement)
        return super().under_way


LOOKS: list[str] = []
VISITS: list[str] = []


class CountedMoves(tuple[LedgerMove, ...]):
    """Moves of a ledger that count how many of them somebody walks past."""

    __slots__ = ()

    def __iter__(self) -> Iterator[LedgerMove]:
        for move in super().__iter__():
            VISITS.append(move.placement)
            yield move


def ended_moves(count: int) -> CountedMoves:
    """Moves of other Placements that ended long ago, so that they hold nobody back."""
    return CountedMoves(
        CountedMove(
            placement=f"ns/other-{number}",
            source="c9",
            target="c2",
            since=SECONDS - 90_000,
            phase=Phase.ENDED,
            phase_since=SECONDS - 90_000,
        )
        for number in range(count)
    )


def cost_of_admission(count: int) -> tuple[int, int]:
    """Moves that an admission walks past, and looks at moves.

    So many Placements ask for c2, where one may arrive, and 30 have arrived.
    """
    moves = ended_moves(30)
    placed = {f"app-{number:03}": ("c1",) for number in range(count)}
    fleet = replace(situation(herd(SCORES, placed)), ledger=Ledger(moves))
    LOOKS.clear()
    VISITS.clear()
    admission = admit(fleet)
    assert [desired.target for desired in admission.moves] == ["c2"]
    assert [waiting.reason for waiting in admission.waiting] == [MoveReason.ARRIVALS] * (count - 1)
    return len(VISITS), len(LOOKS)


def test_the_cost_of_an_admission_does_not_grow_with_placements_times_moves() -> None:
    """Ten times as many Placements walk past the moves of the ledger as often as before."""
    visits, looks = cost_of_admission(40)
    assert (visits, looks) == cost_of_admission(4)
    assert 30 <= visits <= 4 * 30
    assert 30 <= looks <= 8 * 30


@pytest.mark.parametrize("count", [4, 40])
def test_the_cost_of_a_pass_does_not_grow_with_placements_times_moves(count: int) -> None:
    """Each Placement has changed its cluster, so that each is compared with the ledger."""
    moves = ended_moves(30)
    keys = [f"ns/app-{number}" for number in range(count)]
    LOOKS.clear()
    VISITS.clear()
    after = advance(
        Ledger(moves, dict.fromkeys(keys, ("c1",))),
        paced=set(keys),
        decided=dict.fromkeys(keys, frozenset({"c2"})),
        published=(),
        finished=lambda _: False,
        now=SECONDS,
    )
    assert len(after.moves) == 30 + count
    assert 30 <= len(VISITS) <= 3 * 30
    assert 30 <= len(LOOKS) <= 3 * 30


def test_the_first_move_under_way_counts_where_somebody_wrote_two() -> None:
    first = LedgerMove(placement="ns/a", source="c1", target="c2", since=9.0)
    second = LedgerMove(placement="ns/a", source="c1", target="c3", since=1.0)
    assert LedgerIndex((first, second)).under_way("ns/a") is first
    assert LedgerIndex((second, first)).under_way("ns/a") is second
    assert LedgerIndex((first, second)).under_way("ns/b") is None


def test_the_last_end_is_of_admitted_moves_only() -> None:
    """In whatever order they are, and without what OCM moved by itself."""
    moves = [
        LedgerMove(
            placement="ns/a",
            source="c1",
            target="c2",
            since=1.0,
            phase=phase,
            phase_since=since,
            admitted=admitted,
        )
        for phase, since, admitted in (
            (Phase.ENDED, 20.0, True),
            (Phase.ENDED, 50.0, True),
            (Phase.ENDED, 30.0, True),
            (Phase.ENDED, 70.0, False),
            (Phase.HANDOVER, 90.0, True),
        )
    ]
    assert LedgerIndex(moves).last_end("ns/a") == 50.0
    assert LedgerIndex(moves[3:]).last_end("ns/a") is None


def test_a_move_that_is_admitted_counts_for_the_next_one() -> None:
    """Its arrival is counted, although the cluster was asked about before."""
    pace = PACE.model_copy(update={"concurrent": 9, "arrivals_per_cluster": 2})
    placed = {f"app-{number}": ("c1",) for number in range(5)}
    admission = admit(situation(herd(SCORES, placed), pace=pace))
    assert [desired.target for desired in admission.moves] == ["c2", "c2"]
    assert [waiting.message for waiting in admission.waiting] == ["c2 receives 2 already"] * 3
