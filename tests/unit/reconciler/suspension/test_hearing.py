"""Who is heard about a scorer, and when enough of them agree."""

import pytest

from gitops_dsf.reconciler.hub.scores import ScoreSummary
from gitops_dsf.reconciler.suspension.hearing import Hearing, hear
from tests.support.typed import agent

NOW = 1_000.0
ALIVE = agent(available="True")


def score(until: float, count: int = 1) -> ScoreSummary:
    return ScoreSummary(valid_until=until, count=count)


def test_only_living_agents_that_published_are_heard() -> None:
    expected = ("fresh", "stale", "empty", "never", "offline", "unknown", "silent", "absent")
    addons = dict.fromkeys(("fresh", "stale", "empty", "never"), ALIVE) | {
        "offline": agent(available="False"),
        "unknown": agent(available="Unknown"),
        "silent": agent(available=""),
    }
    old = {name: score(NOW - 1) for name in ("stale", "offline", "unknown", "silent", "absent", "elsewhere")}
    scores = {**old, "fresh": score(NOW + 1), "empty": score(NOW + 1, 0)}
    assert hear(expected, addons=addons, scores=scores, now=NOW) == Hearing(expected=8, fresh=1, stale=2)


def test_a_score_is_stale_when_the_hub_says_so() -> None:
    for until, stale in ((NOW - 0.1, 1), (NOW, 0), (NOW + 0.1, 0)):
        assert hear(["a"], addons={"a": ALIVE}, scores={"a": score(until)}, now=NOW).stale == stale


@pytest.mark.parametrize(
    ("expected", "fresh", "stale", "percent", "agrees"),
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
def test_a_quorum(expected: int, fresh: int, stale: int, percent: int, agrees: bool) -> None:
    assert Hearing(expected=expected, fresh=fresh, stale=stale).agrees(percent) is agrees
