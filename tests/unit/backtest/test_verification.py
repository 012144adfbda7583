"""How often a check would have failed: which points count, and what a stretch is."""

from collections.abc import Sequence

import pytest

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.track import Track
from gitops_dsf.backtest.verification import estimate
from gitops_dsf.hub.pace import VerifiedBy

STEP = 60


def scores(**by_cluster: Sequence[int | None]) -> GridScores:
    """A write at each point; None for a point without one, where the score has expired."""
    tracks = {}
    for cluster, values in by_cluster.items():
        track = Track(ttl=STEP - 1)
        for number, value in enumerate(values):
            if value is not None:
                track.add(number * STEP, {"slo": value})
        tracks[cluster] = track
    count = max(map(len, by_cluster.values()))
    return GridScores(tracks={"slo": tracks}, grid=TimeGrid(start=0, step=STEP, count=count))


def line(*decided: tuple[int, str]) -> DecisionLine:
    """Decisions from a point of the grid on, for one cluster each."""
    decisions = tuple(GridDecision(number=number, clusters=(name,)) for number, name in decided)
    return DecisionLine(key="ns/app", decided=decisions, regret=0.0)


def check(minutes: float, *, measured: float = 0, no_worse_than: int | None = None) -> VerifiedBy:
    return VerifiedBy(
        scorer="slo",
        resource="slo",
        dimension="slo",
        at_least=80 if no_worse_than is None else None,
        no_worse_than=no_worse_than,
        for_seconds=minutes * 60,
        delay=measured * 60,
    )


@pytest.mark.parametrize(
    ("values", "minutes", "expected"),
    [
        ([90, 70, 70, 70, 90], 3, (1, 3, 5)),
        ([90, 70, 70, 70, 90], 4, (0, 0, 5)),
        ([70, 70, 90, 70, 70], 2, (2, 4, 5)),
        ([80, 79, 80, 80, 80], 0, (1, 1, 5)),
        ([70, 70, None, 70, 70], 3, (0, 0, 4)),
        ([None, None, None, None, None], 0, (0, 0, 0)),
    ],
    ids=["long enough", "too short", "two", "at once", "unknown breaks it", "unknown"],
)
def test_a_stretch_is_a_failure_when_it_is_long_enough(
    values: list[int | None], minutes: float, expected: tuple[int, int, int]
) -> None:
    found = estimate(line((0, "a")), check(minutes), scores(a=values))
    assert (found.failures, found.failing_seconds / STEP, found.seconds / STEP) == expected


def test_an_arrival_counts_when_it_is_measured_and_only_where_it_is() -> None:
    """On `a` it was before the span, so all of that counts."""
    found = estimate(line((0, "a"), (2, "b")), check(1, measured=3), scores(a=[70] * 8, b=[70] * 8))
    assert (found.failures, found.seconds / STEP) == (2, 2 + 3)


def test_the_bound_of_a_move_is_the_score_of_the_old_copy_before_it() -> None:
    """Nobody knows how it did before the first decision."""
    old = [60, 60, 95, 95, 95, 95]
    found = estimate(
        line((0, "a"), (2, "b")),
        check(1, no_worse_than=10),
        scores(a=old, b=[49, 49, 50, 49, 50, 50]),
    )
    assert (found.failures, found.seconds / STEP) == (1, 4)
