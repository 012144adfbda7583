"""The demand that recorded arrivals show."""

import random
from array import array
from collections.abc import Sequence

import pytest

from gitops_dsf.backtest.demand import Arrival, MeasuredDemand, measure
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.track import Track
from gitops_dsf.hub.pace import PacedTerm

GRID = TimeGrid(start=1_700_000_000, step=60, count=2000)
LATE, RANGE = 120.0, 600.0


def _arrivals(count: int, *, exact: bool = True) -> list[Arrival]:
    """One on c1 every three hours, from c2."""
    return [
        Arrival(at=GRID.at(90 + 180 * number), joined=("c1",), left=("c2",), exact=exact)
        for number in range(count)
    ]


def _columns(moves: Sequence[Arrival], *, takes: float, noise: float = 0.0) -> GridScores:
    """The application leaves c1 ninety minutes after it came, and its load with it."""
    rng = random.Random(1)
    values = []
    for number in range(GRID.count):
        now = GRID.at(number)
        runs = any(each.at + LATE + RANGE <= now < each.at + 5400 for each in moves)
        values.append(round(60 - takes * runs + rng.gauss(0, noise)))
    at = array("d", [GRID.at(number) for number in range(GRID.count)])
    track = Track(ttl=900.0, at=at, values={"v": array("b", values)})
    return GridScores(tracks={"r": {"c1": track, "c2": track}}, grid=GRID)


def _measured(
    moves: Sequence[Arrival],
    columns: GridScores,
    *,
    others: Sequence[Arrival] = (),
    weight: int = 1,
) -> MeasuredDemand | None:
    term = PacedTerm("r", "v", weight, delay=LATE, range=RANGE)
    return measure(moves, everybody=[*moves, *others], term=term, scores=columns)


def test_the_mean_change_after_arrivals() -> None:
    moves = _arrivals(8)
    found = _measured(moves, _columns(moves, takes=6))
    assert found == MeasuredDemand(cases=8, mean=6.0, spread=0.0)


def test_where_a_lower_score_is_better_an_arrival_raises_it() -> None:
    moves = _arrivals(8)
    found = _measured(moves, _columns(moves, takes=-6), weight=-1)
    assert found is not None
    assert found.mean == 6.0
    assert _measured(moves, _columns(moves, takes=6), weight=-1) is None, "no load helps"


def test_few_cases_and_noise_say_nothing() -> None:
    few = _arrivals(4)
    assert _measured(few, _columns(few, takes=6)) is None
    moves = _arrivals(8)
    noisy = _measured(moves, _columns(moves, takes=6, noise=3))
    assert noisy is not None
    assert noisy.mean == pytest.approx(6, abs=2 * noisy.error + 0.5)
    assert noisy.spread > 0
    assert _measured(moves, _columns(moves, takes=1, noise=9)) is None, "the spread swamps the mean"


@pytest.mark.parametrize(("minutes", "counted"), [(-10, False), (10, False), (90, True)])
def test_a_cluster_that_others_enter_or_leave_is_no_case(minutes: int, counted: bool) -> None:
    moves = _arrivals(5)
    columns = _columns(moves, takes=6)
    other = Arrival(at=moves[0].at + 60 * minutes, joined=("c9",), left=("c1",), exact=False)
    assert (_measured(moves, columns, others=[other]) is not None) is counted


def test_a_move_whose_time_is_not_known_is_no_case() -> None:
    moves = _arrivals(8, exact=False)
    assert _measured(moves, _columns(moves, takes=6)) is None


def test_missing_scores_are_no_case() -> None:
    moves = _arrivals(5)
    late = [Arrival(at=GRID.end - 60, joined=("c1",), left=("c2",), exact=True)]
    columns = _columns(moves, takes=6)
    found = _measured([*moves, *late], columns)
    assert found is not None
    assert found.cases == 5
