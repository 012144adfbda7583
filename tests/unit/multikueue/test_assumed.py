"""Points of clusters for jobs, with the load of jobs that the scores do not show yet."""

from datetime import timedelta

import pytest

from gitops_dsf.hub.pace import PacedTerm
from gitops_dsf.hub.scores import Scores, score_of
from gitops_dsf.hub.times import moment_of
from gitops_dsf.multikueue.assumed import PlacedJob, assumed_scores
from gitops_dsf.multikueue.points import cluster_points

NOW = 10_000.0


def scores(**values: int) -> Scores:
    until = moment_of(NOW) + timedelta(seconds=60)
    return {
        "free": {
            name: score_of({"gpu": value}, valid_until=until) for name, value in values.items()
        }
    }


def term(*, demand: int = 5, weight: int = 1) -> PacedTerm:
    return PacedTerm("free", "gpu", weight, demand=demand, delay=60.0, range=100.0)


def points(jobs: list[PlacedJob], *terms: PacedTerm) -> dict[str, float]:
    shifted = assumed_scores(scores(a=50, b=40), jobs, terms, now=NOW)
    return cluster_points(terms, ("a", "b"), shifted, now=NOW)


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (0.0, 45.0),
        (60.0, 45.0),
        # 40 of the 100 seconds of the query show it.
        (100.0, 47.0),
        (160.0, 50.0),
        (5000.0, 50.0),
    ],
)
def test_a_job_counts_until_the_scores_have_measured_it(age: float, expected: float) -> None:
    assert points([PlacedJob("a", NOW - age)], term()) == {"a": expected, "b": 40.0}


def test_each_job_counts() -> None:
    jobs = [PlacedJob("a", NOW - 1), PlacedJob("a", NOW - 1), PlacedJob("b", NOW - 2)]
    assert points(jobs, term()) == {"a": 40.0, "b": 35.0}


def test_a_job_that_waits_for_a_cluster_counts_however_long_it_waits() -> None:
    assert points([PlacedJob("a", None)], term()) == {"a": 45.0, "b": 40.0}


def test_where_a_lower_score_is_better_a_job_raises_it() -> None:
    assert points([PlacedJob("a", NOW)], term(weight=-1)) == {"a": -55.0, "b": -40.0}


def test_without_a_demand_nothing_is_assumed() -> None:
    assert points([PlacedJob("a", NOW)], term(demand=0)) == {"a": 50.0, "b": 40.0}


def test_the_assumption_stays_within_what_a_score_can_say() -> None:
    assert points([PlacedJob("a", NOW)] * 50, term()) == {"a": -100.0, "b": 40.0}


def test_a_missing_score_counts_as_zero_and_one_that_expired_holds_the_place() -> None:
    expired = score_of({"gpu": 90}, valid_until=moment_of(NOW - 1))
    there: Scores = {"free": {"a": expired, "b": score_of({"other": 7}), "c": score_of({"gpu": 7})}}
    assert cluster_points((term(),), ("a", "b", "c", "d"), there, now=NOW) == {
        "b": 0.0,
        "c": 7.0,
        "d": 0.0,
    }


def test_points_are_the_weighted_mean() -> None:
    terms = (PacedTerm("free", "gpu", 3), PacedTerm("cost", "usd", -1))
    there: Scores = {"free": {"a": score_of({"gpu": 60})}, "cost": {"a": score_of({"usd": 20})}}
    assert cluster_points(terms, ("a",), there, now=NOW) == {"a": 40.0}
