from mean import app

from dsf_scorer.testing import ask, series


def test_each_series_has_its_mean() -> None:
    assert ask(app, [series([10, 20, 60], node="a"), series([5], node="b")]).scores == [30.0, 5.0]


def test_samples_that_are_not_finite_do_not_count() -> None:
    assert ask(app, [series([10, float("nan"), float("inf"), 20])]).scores == [15.0]


def test_without_samples_there_is_no_score() -> None:
    assert ask(app, [series([]), series([float("nan")])]).scores == []
