"""The order of clusters for Kueue over time: who is first for how long, and its changes."""

import random
from collections.abc import Sequence

import pytest

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.orders import order_figures
from gitops_dsf.backtest.result import OrderFigures
from gitops_dsf.backtest.track import ABSENT, Track
from gitops_dsf.hub.multikueue import MultiKueueOrder
from gitops_dsf.hub.pace import PacedTerm
from gitops_dsf.multikueue.order import OrderInputs, next_order

STEP = 60


def scores(**by_cluster: Sequence[int | None]) -> GridScores:
    """A write at each point; None for a point without one, where the score has expired."""
    tracks = {}
    for cluster, values in by_cluster.items():
        track = Track(ttl=STEP - 1)
        for number, value in enumerate(values):
            if value is not None:
                track.add(number * STEP, {"gpu": value})
        tracks[cluster] = track
    count = max(map(len, by_cluster.values()))
    return GridScores(tracks={"free": tracks}, grid=TimeGrid(start=0, step=STEP, count=count))


def line(*decided: tuple[int, str]) -> DecisionLine:
    """Decisions from a point of the grid on."""
    decisions = tuple(
        GridDecision(number=number, clusters=tuple(names.split())) for number, names in decided
    )
    return DecisionLine(key="kueue-system/gpu-jobs", decided=decisions, regret=0.0)


def order(*, stickiness: float = 10.0, seconds: float = 60.0) -> MultiKueueOrder:
    return MultiKueueOrder(
        config="gpu-jobs",
        reorder_seconds=seconds,
        terms=(PacedTerm("free", "gpu", 1),),
        stickiness=stickiness,
    )


def found(line: DecisionLine, order: MultiKueueOrder, scores: GridScores) -> OrderFigures:
    figures = order_figures(line, order, scores)
    assert figures is not None
    return figures


@pytest.mark.parametrize(
    ("values", "changes", "first"),
    [
        ([50, 50, 50, 50, 50, 50], 0, {"a": 6}),
        ([50, 50, 70, 70, 70, 70], 1, {"b": 4, "a": 2}),
        # Within the stickiness nothing changes.
        ([50, 50, 68, 68, 41, 69], 0, {"a": 6}),
        # It leads for one point, and loses by as much.
        ([50, 50, 70, 50, 50, 50], 2, {"a": 5, "b": 1}),
        # While it has expired, it holds its place.
        ([50, 70, None, None, None, 70], 1, {"b": 5, "a": 1}),
    ],
    ids=["steady", "turns once", "within the stickiness", "there and back", "expired"],
)
def test_who_is_first_for_how_long(
    values: list[int | None], changes: int, first: dict[str, int]
) -> None:
    figures = found(line((0, "a b")), order(), scores(a=[60] * 6, b=values))
    assert figures.changes == changes
    assert {name: seconds / STEP for name, seconds in figures.seconds_first.items()} == first


def test_it_is_ordered_once_in_the_time_that_people_wrote() -> None:
    turning = [100 if number % 2 else 0 for number in range(20)]
    history = scores(a=[50] * 20, b=turning)
    assert found(line((0, "a b")), order(), history).changes == 19
    assert found(line((0, "a b")), order(seconds=300), history).changes <= 4


def test_a_cluster_is_listed_while_it_is_eligible() -> None:
    figures = found(line((0, "a b"), (2, "b"), (4, "a b")), order(), scores(a=[90] * 6, b=[10] * 6))
    assert {name: seconds / STEP for name, seconds in figures.seconds_first.items()} == {
        "a": 4,
        "b": 2,
    }


def test_changes_a_day_need_a_history_of_an_hour() -> None:
    hours = 24 * 60 + 1
    values = [90 if number % 240 < 120 else 10 for number in range(hours)]
    figures = found(line((0, "a b")), order(), scores(a=values, b=[50] * hours))
    assert figures.changes == 12
    assert figures.changes_per_day == pytest.approx(12)
    short = found(line((0, "a b")), order(), scores(a=values[:30], b=[50] * 30))
    assert short.changes_per_day is None


def test_of_more_than_twenty_clusters_some_are_left_out() -> None:
    names = [f"c{number:02}" for number in range(23)]
    history = scores(**{name: [100 - number] * 3 for number, name in enumerate(names)})
    figures = found(line((0, " ".join(names))), order(), history)
    assert figures.most_left_out == 3


def test_it_stops_when_the_time_is_over() -> None:
    assert order_figures(line((0, "a")), order(), scores(a=[1] * 3), stop=lambda: True) is None


def test_a_score_counts_to_the_moment_at_which_it_expires() -> None:
    """Also where that is a point of the grid, as in OCM, and again from its next write."""
    track = Track(ttl=2 * STEP)
    track.add(0, {"gpu": 30})
    track.add(4 * STEP, {"gpu": 40})
    grid = TimeGrid(start=0.0, step=STEP, count=6)
    known = GridScores(tracks={"free": {"a": track}}, grid=grid).known("free", "gpu", "a")
    assert known is not None
    assert known.tolist() == [30, 30, 30, ABSENT, 40, 40]


@pytest.mark.parametrize("seed", range(6))
def test_looking_ahead_misses_no_change(seed: int) -> None:
    """The same as a pass at each point."""
    rng = random.Random(seed)
    count = rng.choice([3, 20, 23])
    names = [f"c{number:02}" for number in range(count)]
    history = scores(
        **{
            name: [
                None if rng.random() < 0.02 else 10 * (number // 7 % 7) + rng.randint(0, 40)
                for number in range(150)
            ]
            for name in names
        }
    )
    decided = [(0, " ".join(names)), (50, " ".join(names[1:])), (90, " ".join(names))]
    wanted = order(stickiness=15, seconds=rng.choice([60, 200]))
    figures = found(line(*decided), wanted, history)
    columns = {name: history.known("free", "gpu", name) for name in names}
    listed: tuple[str, ...] = ()
    ordered_at: float | None = None
    changes = 0
    for number in range(150):
        eligible = frozenset(names[1:] if 50 <= number < 90 else names)
        points = {
            name: float(values[number])
            for name in eligible
            if (values := columns[name]) is not None and values[number] != ABSENT
        }
        inputs = OrderInputs(
            shown=listed,
            last_written=listed,
            decided=eligible,
            served=eligible,
            gone=frozenset(),
            busy=frozenset(),
            points=points,
            stickiness=15,
            ordered_at=ordered_at,
            now=number * STEP,
            reorder_seconds=wanted.reorder_seconds,
        )
        following = next_order(inputs)
        if following.is_ordered and following.names != listed:
            changes += bool(listed)
            ordered_at = number * STEP
        listed = following.names
    assert changes > 3
    assert figures.changes == changes
