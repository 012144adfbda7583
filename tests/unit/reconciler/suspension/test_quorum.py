"""Which clusters are counted for a scorer, and when the stale ones are a quorum."""

import pytest

from gitops_dsf.reconciler.freshness import Assessment
from gitops_dsf.reconciler.suspension import ScoreCounts, count_scores
from tests.support.typed import agent

ALIVE = agent(available="True")


def test_only_available_agents_that_published_are_counted() -> None:
    expected = frozenset({"fresh", "stale", "endless", "never", "offline", "unknown", "silent", "absent"})
    addons = dict.fromkeys(("fresh", "stale", "endless", "never"), ALIVE) | {
        "offline": agent(available="False"),
        "unknown": agent(available="Unknown"),
        "silent": agent(available=""),
    }
    old = frozenset({"stale", "offline", "unknown", "silent", "absent", "elsewhere"})
    scores = Assessment(expired=old, endless=frozenset({"endless"}))
    published = old | {"fresh", "endless"}
    assert count_scores(expected, addons=addons, published=published, scores=scores) == ScoreCounts(
        expected=8, fresh=1, stale=1
    )


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
