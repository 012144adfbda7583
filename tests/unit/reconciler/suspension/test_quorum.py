"""Which clusters are counted for a scorer, and when the stale ones are a quorum."""

import pytest

from gitops_dsf.reconciler.hub.scores import ScoreSummary
from gitops_dsf.reconciler.suspension.quorum import ScoreCounts, count_scores
from tests.support.typed import agent

NOW = 1_000.0
ALIVE = agent(available="True")


def score(until: float, count: int = 1) -> ScoreSummary:
    return ScoreSummary(valid_until=until, count=count)


def test_only_available_agents_that_published_are_counted() -> None:
    expected = ("fresh", "stale", "empty", "never", "offline", "unknown", "silent", "absent")
    addons = dict.fromkeys(("fresh", "stale", "empty", "never"), ALIVE) | {
        "offline": agent(available="False"),
        "unknown": agent(available="Unknown"),
        "silent": agent(available=""),
    }
    old = {name: score(NOW - 1) for name in ("stale", "offline", "unknown", "silent", "absent", "elsewhere")}
    scores = {**old, "fresh": score(NOW + 1), "empty": score(NOW + 1, 0)}
    assert count_scores(expected, addons=addons, scores=scores, now=NOW) == ScoreCounts(
        expected=8, fresh=1, stale=2
    )


def test_a_score_is_stale_when_the_hub_says_so() -> None:
    for until, stale in ((NOW - 0.1, 1), (NOW, 0), (NOW + 0.1, 0)):
        assert count_scores(["a"], addons={"a": ALIVE}, scores={"a": score(until)}, now=NOW).stale == stale


@pytest.mark.parametrize(
    ("expected", "fresh", "stale", "percent", "enough"),
    [
        (1, 0, 1, 100, True),
        (1, 1, 0, 1, False),
        (1, 0, 0, 1, False),
        (2, 0, 1, 50, False),
        (2, 0, 2, 50, True),
        (10, 0, 1, 1, False),
        (10, 5, 5, 50, True),
        (10, 6, 5, 50, False),
        (10, 8, 2, 20, True),
        (10, 8, 2, 21, False),
        (3, 1, 2, 67, False),
        (3, 1, 2, 66, True),
        (0, 0, 0, 1, False),
    ],
)
def test_a_quorum(expected: int, fresh: int, stale: int, percent: int, enough: bool) -> None:
    assert ScoreCounts(expected=expected, fresh=fresh, stale=stale).is_quorum(percent) is enough
