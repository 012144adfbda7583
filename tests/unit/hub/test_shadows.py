"""How a shadow and its live scorer agree, and the names of scores after a promotion."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.scores import Score, score_of
from gitops_dsf.hub.shadows import Difference, Shadow, Spread, agreement, rank_correlation

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SHADOW = Shadow(
    name="next",
    live="cpu",
    resource="next",
    live_resource="cpu",
    score_name="next",
    live_score_name="cpu",
    dimension_format="${scoreName}/${node}",
)


def scores(**values: int) -> dict[str, Score]:
    return {cluster: score_of({"cpu": value}) for cluster, value in values.items()}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3], [10, 20, 21], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        # Without equal values: the squared differences of the ranks add up to 194, and 1 - 6 * 194 / 990.
        (
            [106, 100, 86, 101, 99, 103, 97, 113, 112, 110],
            [7, 27, 2, 50, 28, 29, 20, 12, 6, 17],
            -29 / 165,
        ),
        # Equal values have the mean of their ranks: 1, 2.5, 2.5, 4 and 1, 2, 3.5, 3.5.
        ([1, 2, 2, 3], [1, 5, 7, 7], 5 / 6),
        ([1, 1, 1], [1, 2, 3], None),
        ([1], [1], None),
        ([], [], None),
    ],
)
def test_rank_correlation(first: list[float], second: list[float], expected: float | None) -> None:
    assert rank_correlation(first, second) == (None if expected is None else pytest.approx(expected))


@given(st.permutations(range(9)), st.permutations(range(9)))
def test_without_equal_values_it_is_spearmans_formula(first: list[int], second: list[int]) -> None:
    squares = sum((one - two) ** 2 for one, two in zip(first, second, strict=True))
    assert rank_correlation(first, second) == pytest.approx(1 - 6 * squares / (9 * (81 - 1)))


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=12))
def test_it_depends_on_the_order_of_the_values_alone(pairs: list[tuple[int, int]]) -> None:
    first, second = [one for one, _ in pairs], [two for _, two in pairs]
    found = rank_correlation(first, second)
    assert rank_correlation(second, first) == (None if found is None else pytest.approx(found))
    assert rank_correlation([value**3 for value in first], second) == (
        None if found is None else pytest.approx(found)
    )
    assert found is None or -1.0000001 <= found <= 1.0000001


def test_clusters_that_differ_most_are_first() -> None:
    found = agreement(scores(a=90, b=80, c=70, d=60, e=50), scores(a=90, b=10, c=70, d=60, e=85), now=NOW)
    assert (found.clusters, found.items) == (5, 5)
    assert found.live == Spread(lowest=50, lower_quartile=60, median=70, upper_quartile=80, highest=90)
    assert found.shadow == Spread(lowest=10, lower_quartile=60, median=70, upper_quartile=85, highest=90)
    assert found.differences == (
        Difference(cluster="b", item="cpu", live=80, shadow=10, live_rank=2, shadow_rank=5),
        Difference(cluster="e", item="cpu", live=50, shadow=85, live_rank=5, shadow_rank=2),
    )


def test_scores_that_do_not_count_are_not_compared() -> None:
    live = scores(a=1, b=2) | {"c": score_of({"cpu": 3}, valid_until=NOW - timedelta(seconds=1))}
    found = agreement(live, scores(b=2, c=3, d=4), now=NOW)
    assert (found.clusters, found.only_live, found.only_shadow) == (1, ("a",), ("c", "d"))
    assert found.correlation is None
    nothing = agreement({}, {}, now=NOW)
    assert (nothing.clusters, nothing.live, nothing.differences) == (0, None, ())


def test_each_cluster_is_listed_with_its_largest_difference() -> None:
    live = {"a": score_of({"x": 1, "y": 2}), "b": score_of({"x": 3, "y": 4})}
    shadow = {"a": score_of({"x": 9, "y": 3}), "b": score_of({"x": 3, "y": 4})}
    found = agreement(live, shadow, now=NOW)
    assert [(item.cluster, item.item, item.live, item.shadow) for item in found.differences] == [
        ("a", "x", 1, 9)
    ]


def test_promoted_scores_have_the_names_of_the_live_scorer() -> None:
    until = NOW + timedelta(minutes=5)
    found = SHADOW.promoted(
        {"a": score_of({"next/n1": 3, "next/next": 4}, valid_until=until, raw={"next/n1": 0.3})}
    )
    assert found == {"a": score_of({"cpu/n1": 3, "cpu/next": 4}, valid_until=until, raw={"cpu/n1": 0.3})}
