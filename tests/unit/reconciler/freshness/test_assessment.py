"""One scorer's scores at one moment."""

from collections.abc import Mapping
from typing import Any

import pytest

from gitops_dsf.hub.freshness import grace
from gitops_dsf.hub.scores import Score, score_of
from gitops_dsf.hub.timestamp import moment_of
from gitops_dsf.reconciler.freshness.assessment import Assessment, assess
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


def test_all_fresh() -> None:
    found = assessed({"a": fresh(), "b": fresh()}, "ab")
    assert (found.fresh, found.status, found.reason, found.message) == (
        2,
        "True",
        "Fresh",
        "fresh on 2 clusters",
    )
    assert assessed({"a": fresh()}, "a").message == "fresh on 1 cluster"


def test_less_than_a_quarter_of_the_ttl_is_about_to_expire() -> None:
    found = assessed({"a": fresh(), "b": fresh(224)}, "ab")
    assert (found.fresh, found.expiring, found.status) == (2, {"b"}, "True")
    assert found.message == "fresh on 2 clusters, about to expire on 1 cluster (b)"


def test_expired_or_empty() -> None:
    found = assessed({"a": fresh(), "b": fresh(-1), "c": fresh(count=0), "d": fresh(0)}, "abcd")
    assert (found.fresh, found.expired, found.status, found.reason) == (2, {"b", "c"}, "False", "Expired")
    assert (
        found.message
        == "fresh on 2 clusters, about to expire on 1 cluster (d); expired or empty on 2 clusters (b, c)"
    )


def test_what_should_be_there_and_is_not_is_missing() -> None:
    found = assessed({"a": fresh()}, "abc")
    assert (found.missing, found.status, found.reason) == ({"b", "c"}, "False", "Missing")
    assert found.message == "fresh on 1 cluster; missing on 2 clusters (b, c)"
    nothing = assessed({}, "abcdefg")
    assert (nothing.status, nothing.reason) == ("False", "NoScores")
    assert nothing.message == "fresh on 0 clusters; missing on 7 clusters (a, b, c, d, e and 2 more)"


def test_what_is_not_expected_is_not_missed_but_counts_when_it_is_there() -> None:
    assert assessed({"a": fresh(), "z": fresh(-1)}, "a").expired == {"z"}
    assert assessed({}, "").missing == frozenset()


def test_a_new_one_has_time() -> None:
    found = assessed({"a": fresh()}, "ab", since=NOW - 119)
    assert (found.waiting, found.missing, found.status, found.reason) == ({"b"}, frozenset(), "True", "Fresh")
    assert "not published yet on 1 cluster (b)" in found.message
    assert assessed({}, "ab", since=NOW - 119).status == "Unknown"
    assert assessed({"a": fresh()}, "ab", since=NOW - 120).missing == {"b"}
    assert grace(made().interval) == 120
    assert grace(made(interval=100).interval) == 200


def test_without_masks_nobody_is_blamed() -> None:
    found = assessed({"a": fresh()}, "ab", masks_known=False)
    assert (found.missing, found.unclear, found.status, found.reason) == (frozenset(), {"b"}, "True", "Fresh")
    assert "missing or masked on 1 cluster (b): the hub has no ConfigMap gitops-dsf-masks" in found.message
    assert assessed({}, "ab", masks_known=False).status == "Unknown"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"suspend": True}, "Suspended"), ({"scoreDestination": "None"}, "NotPublished"), ({}, "NoCluster")],
)
def test_nowhere_to_run(spec: dict[str, Any], reason: str) -> None:
    found = assessed({}, "", **spec)
    assert (found.status, found.reason) == ("Unknown", reason)
