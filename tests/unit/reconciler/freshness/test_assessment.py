"""One scorer's scores at one moment."""

from collections.abc import Mapping
from typing import Any

import pytest

from gitops_dsf.hub.metadata import moment_of
from gitops_dsf.hub.scores import Score, score_of
from gitops_dsf.reconciler.freshness import Assessment, assess
from tests.unit.reconciler.freshness.hubobjects import made

NOW = 10_000.0


def fresh(seconds: float = 900, count: int = 1) -> Score:
    return score_of({"cpu": 1} if count else {}, valid_until=moment_of(NOW + seconds))


def assessed(
    scores: Mapping[str, Score],
    expected: str = "",
    *,
    since: float = 0,
    masks_known: bool = True,
    now: float = NOW,
    **spec: Any,
) -> Assessment:
    return assess(
        made(**spec),
        scores,
        published=scores.keys(),
        expected=frozenset(expected),
        since=lambda _: since,
        masks_known=masks_known,
        now=now,
    )


LATE = fresh(224)
"""Less than a quarter of its TTL is left."""
UNMASKED = "True Fresh fresh on 1 cluster; missing or masked on 1 cluster (b): the hub has no ConfigMap"


@pytest.mark.parametrize(
    ("scores", "expected", "more", "said"),
    [
        ({"a": fresh(), "b": fresh(225)}, "ab", {}, "True Fresh fresh on 2 clusters"),
        ({"a": fresh()}, "a", {}, "True Fresh fresh on 1 cluster"),
        ({"a": fresh(), "b": LATE}, "ab", {}, "True Fresh fresh on 2 clusters, about to expire on 1 cluster"),
        ({"b": fresh(-1), "c": fresh(count=0)}, "bc", {}, "False Expired fresh on 0 clusters; expired or"),
        ({"a": fresh(0), "b": fresh(-1)}, "ab", {}, "False Expired fresh on 1 cluster, about to expire on 1"),
        (
            {"a": fresh(), "b": fresh(count=0)},
            "ab",
            {},
            "False Expired fresh on 1 cluster; expired or empty on 1",
        ),
        ({"a": fresh()}, "abc", {}, "False Missing fresh on 1 cluster; missing on 2 clusters (b, c)"),
        ({}, "abcdefg", {}, "False NoScores fresh on 0 clusters; missing on 7 clusters (a, b, c, d, e and 2"),
        # What is not expected is not missed, but counts when it is there.
        ({"a": fresh(), "z": fresh(-1)}, "a", {}, "False Expired fresh on 1 cluster; expired or empty on 1"),
        # A new one has time.
        ({"a": fresh()}, "ab", {"since": NOW - 119}, "True Fresh fresh on 1 cluster; not published yet on 1"),
        ({"a": fresh()}, "ab", {"since": NOW - 120}, "False Missing fresh on 1 cluster; missing on 1"),
        ({}, "ab", {"since": NOW - 119}, "Unknown"),
        # Without masks nobody is blamed.
        ({"a": fresh()}, "ab", {"masks_known": False}, UNMASKED),
        ({}, "ab", {"masks_known": False}, "Unknown"),
    ],
)
def test_what_is_said(scores: dict[str, Score], expected: str, more: dict[str, Any], said: str) -> None:
    found = assessed(scores, expected, **more)
    assert f"{found.status} {found.reason} {found.message}".startswith(said)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"suspend": True}, "Suspended"), ({"scoreDestination": "None"}, "NotPublished"), ({}, "NoCluster")],
)
def test_nowhere_to_run(spec: dict[str, Any], reason: str) -> None:
    found = assessed({}, "", **spec)
    assert (found.status, found.reason) == ("Unknown", reason)
