"""The rule of flapping, which the backtest and the reconciler share."""

from gitops_dsf.hub.moves.flapping import DecisionChange, episodes, largest_swing, returns


def _changes(*story: tuple[float, str, str]) -> list[DecisionChange]:
    return [
        DecisionChange(at=at, left=tuple(left.split()), joined=tuple(joined.split()))
        for at, left, joined in story
    ]


def test_a_return_within_the_window_counts_and_a_later_one_does_not() -> None:
    changes = _changes((0, "a", "b"), (600, "b", "a"), (10_000, "a", "b"), (14_000, "b", "a"))
    found = list(returns(changes, window=3600))
    assert [(each.cluster, each.left.at, each.joined.at) for each in found] == [("a", 0, 600)]


def test_the_limit_of_the_window_is_inside() -> None:
    assert list(returns(_changes((0, "a", "b"), (3600, "b", "a")), window=3600))
    assert not list(returns(_changes((0, "a", "b"), (3600.5, "b", "a")), window=3600))


def test_moves_over_other_clusters_are_no_return_until_the_first_one_is_chosen_again() -> None:
    changes = _changes((0, "a", "b"), (60, "b", "c"), (120, "c", "d"))
    assert not list(returns(changes))
    assert [each.cluster for each in returns([*changes, *_changes((180, "d", "b"))])] == ["b"]


def test_of_several_clusters_only_those_that_come_back_count() -> None:
    changes = _changes((0, "a b", "c d"), (60, "d", "a"))
    assert [each.cluster for each in returns(changes)] == ["a"]


def test_returns_that_follow_each_other_are_one_episode() -> None:
    story = [(0.0, "a", "b"), (600.0, "b", "a"), (1200.0, "a", "b"), (1800.0, "b", "a")]
    later = [(100_000.0, "a", "c"), (100_300.0, "c", "a")]
    first, second = episodes(_changes(*story, *later))
    assert (first.start, first.end, first.clusters, len(first.returns)) == (0, 1800, ("a", "b"), 3)
    assert (second.start, second.end, second.clusters, len(second.returns)) == (
        100_000,
        100_300,
        ("a", "c"),
        1,
    )


def test_the_largest_swing_names_the_score() -> None:
    assert largest_swing({"cpu": 5, "latency": 20}, {"cpu": -5, "latency": 19}) == "cpu"
    assert largest_swing({"b": 1}, {"a": 1}) == "a", "the first name of equal swings"
    assert largest_swing({"cpu": 5}, {"cpu": 5}) is None
    assert largest_swing({}, {}) is None
