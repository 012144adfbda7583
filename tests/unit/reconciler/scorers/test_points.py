"""Points of decided clusters as a metric."""

from datetime import UTC, datetime

from gitops_dsf.hub.placements import PlacementSummary, RankedBy
from gitops_dsf.hub.scores import PublishedScore, score_of
from gitops_dsf.reconciler.scorers.points import points_in

NOW = 1_000_000.0
LATER = datetime.fromtimestamp(NOW + 600, UTC)
OVER = datetime.fromtimestamp(NOW - 1, UTC)


def placement(**weights: int) -> PlacementSummary:
    ranked = tuple(RankedBy(name, name, weight) for name, weight in weights.items())
    return PlacementSummary(uid="u", wanted=1, ranked_by=ranked)


def columns(**values: int) -> dict[str, dict[str, PublishedScore]]:
    return {
        name: {"eu-1": score_of({name: value}, valid_until=LATER)} for name, value in values.items()
    }


def test_points_are_the_weighted_mean_of_the_published_scores() -> None:
    found = points_in(placement(cpu=3, cost=-1), ["eu-1"], columns(cpu=80, cost=40), now=NOW)
    assert found == {"eu-1": 50.0}


def test_a_score_that_does_not_count_is_zero() -> None:
    expired = {"cpu": {"eu-1": score_of({"cpu": 80}, valid_until=OVER)}}
    assert points_in(placement(cpu=1), ["eu-1"], expired, now=NOW) == {"eu-1": 0.0}
    assert points_in(placement(cpu=1), ["eu-1"], {}, now=NOW) == {"eu-1": 0.0}
    other = {"cpu": {"eu-1": score_of({"gpu": 80}, valid_until=LATER)}}
    assert points_in(placement(cpu=1), ["eu-1"], other, now=NOW) == {"eu-1": 0.0}


def test_a_placement_of_many_clusters_makes_no_series() -> None:
    many = [f"c{number}" for number in range(11)]
    assert points_in(placement(cpu=1), many, {}, now=NOW) == {}
    assert len(points_in(placement(cpu=1), many[:10], {}, now=NOW)) == 10
