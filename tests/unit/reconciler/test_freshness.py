"""What is said of a scorer's scores and of Placements in its status, and which scores are dead.

Expired for more than a TTL, and nobody there who could renew them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.score_failures import failure_groups, failures_text
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import PublishedScore, ScoreFailure, score_of
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.hub.times import moment_of
from gitops_dsf.reconciler.freshness import (
    Assessment,
    Owner,
    assess,
    find_dead,
    owners,
    why_not_renewed,
)
from gitops_dsf.reconciler.hub.kinds import cluster
from gitops_dsf.reconciler.scan import Scan
from tests.support.typed import agent, scorer

DAY = 86_400.0

NOW = 1_000_000.0


def fresh(seconds: float = 900, count: int = 1) -> PublishedScore:
    return score_of({"cpu": 1} if count else {}, valid_until=moment_of(NOW + seconds))


def assessed(
    scores: Mapping[str, PublishedScore],
    expected: str = "",
    *,
    since: float = 0,
    masks_known: bool = True,
    now: float = NOW,
    failures: Mapping[str, ScoreFailure] = MappingProxyType({}),
    **spec: Any,
) -> Assessment:
    return assess(
        scorer(**spec),
        scores,
        failures=failures,
        published=scores.keys(),
        expected=frozenset(expected),
        since=lambda _: since,
        masks_known=masks_known,
        now=now,
    )


def failed(reason: str, message: str = "") -> ScoreFailure:
    return ScoreFailure(reason, message, moment_of(NOW - 60))


def test_the_condition_counts_clusters_by_the_reason_that_their_agents_have() -> None:
    names = [f"c{number:03}" for number in range(197)]
    scores = {name: fresh() for name in names}
    at_12 = "parse error at char 12"
    failures = {
        "eu-3": failed("QueryFailed", at_12),
        "eu-9": failed("QueryFailed", at_12),
        "ap-2": failed("NoSeries"),
    }
    assessment = assess(
        scorer(),
        scores,
        published=scores.keys(),
        expected=frozenset([*names, *failures]),
        since=lambda _: 0,
        masks_known=True,
        now=NOW,
        failures=failures,
    )
    assert (assessment.status, assessment.reason, assessment.message) == (
        "False",
        "Missing",
        f"scores on 197 of 200 clusters; 2 QueryFailed (eu-3, eu-9): {at_12}; 1 NoSeries (ap-2)",
    )


def test_a_failure_is_told_while_the_last_score_counts_and_before_a_score_is_missed() -> None:
    """The agent knows before anything expires."""
    failures = {"a": failed("SourceUnreachable", "refused")}
    still = assessed({"a": fresh(), "b": fresh()}, "ab", failures=failures)
    assert (still.status, still.reason, still.fresh) == ("False", "Failing", 2)
    assert still.message == (
        "scores on 1 of 2 clusters; 1 SourceUnreachable (a): refused; the last score still counts"
        " on 1 of them"
    )
    new = assessed({}, "a", since=NOW - 10, failures=failures)
    assert (new.status, new.reason) == ("False", "Failing")
    assert new.message == "scores on 0 of 1 cluster; 1 SourceUnreachable (a): refused"


def test_what_no_agent_explains_is_told_beside_the_reasons() -> None:
    failures = {"a": failed("NoSeries"), "z": failed("NoSeries", "not expected there")}
    mixed = assessed({"b": fresh(-5), "c": fresh()}, "abcd", failures=failures)
    assert mixed.message == (
        "scores on 1 of 4 clusters; 1 NoSeries (a); expired or empty on 1 cluster (b); missing on 1"
        " cluster (d)"
    )


def test_the_sentence_about_reasons_is_bounded() -> None:
    """Whoever holds an agent's account writes reasons and messages."""
    failures = {f"c{number}": failed(f"R{number}", "m" * 256) for number in range(50)}
    text = failures_text(failure_groups(failures))
    assert text.count("(c") == 5
    assert text.endswith("; 45 for other reasons")


def test_the_most_frequent_reason_and_message_come_first() -> None:
    failures = {
        "a": failed("NoSeries", "rare"),
        "b": failed("QueryFailed", "one"),
        "c": failed("QueryFailed", "two"),
        "d": failed("QueryFailed", "two"),
    }
    assert failures_text(failure_groups(failures)) == (
        "3 QueryFailed (b, c, d): two; 1 NoSeries (a): rare"
    )


def test_an_object_that_only_says_why_there_is_no_score_goes_with_its_agent() -> None:
    failure = failed("QueryFailed")
    only = PublishedScore(failure=failure)
    with_scores = PublishedScore(None, ("cpu",), (1,), failure=failure)
    found = find_dead(
        "cpu",
        {"gone": only, "there": only, "endless": with_scores},
        clusters={"there": managed("there")},
        addons={"there": ALIVE},
        owner=owner_on("Spokes"),
        now=NOW,
    )
    assert found == [("cpu", "gone")]


LATE = fresh(224)
"""Less than a quarter of its TTL is left."""
UNMASKED = (
    "True Fresh fresh on 1 cluster; missing or masked on 1 cluster (b): ConfigMap"
    " gitops-dsf-masks is"
)


@pytest.mark.parametrize(
    ("scores", "expected", "more", "said"),
    [
        ({"a": fresh(), "b": fresh(225)}, "ab", {}, "True Fresh fresh on 2 clusters"),
        ({"a": fresh()}, "a", {}, "True Fresh fresh on 1 cluster"),
        (
            {"a": fresh(), "b": LATE},
            "ab",
            {},
            "True Fresh fresh on 2 clusters, about to expire on 1 cluster",
        ),
        (
            {"b": fresh(-1), "c": fresh(count=0)},
            "bc",
            {},
            "False Expired fresh on 0 clusters; expired or",
        ),
        (
            {"a": fresh(0), "b": fresh(-1)},
            "ab",
            {},
            "False Expired fresh on 1 cluster, about to expire on 1",
        ),
        (
            {"a": fresh(), "b": fresh(count=0)},
            "ab",
            {},
            "False Expired fresh on 1 cluster; expired or empty on 1",
        ),
        (
            {"a": fresh()},
            "abc",
            {},
            "False Missing fresh on 1 cluster; missing on 2 clusters (b, c)",
        ),
        (
            {},
            "abcdefg",
            {},
            "False NoScores fresh on 0 clusters; missing on 7 clusters (a, b, c, d, e and 2",
        ),
        # What is not expected is not missed, but counts when it is there.
        (
            {"a": fresh(), "z": fresh(-1)},
            "a",
            {},
            "False Expired fresh on 1 cluster; expired or empty on 1",
        ),
        # A new one has time.
        (
            {"a": fresh()},
            "ab",
            {"since": NOW - 119},
            "True Fresh fresh on 1 cluster; not published yet on 1",
        ),
        (
            {"a": fresh()},
            "ab",
            {"since": NOW - 120},
            "False Missing fresh on 1 cluster; missing on 1",
        ),
        ({}, "ab", {"since": NOW - 119}, "Unknown"),
        # Without masks nobody is blamed.
        ({"a": fresh()}, "ab", {"masks_known": False}, UNMASKED),
        ({}, "ab", {"masks_known": False}, "Unknown"),
    ],
)
def test_what_is_said(
    scores: dict[str, PublishedScore], expected: str, more: dict[str, Any], said: str
) -> None:
    found = assessed(scores, expected, **more)
    assert f"{found.status} {found.reason} {found.message}".startswith(said)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"suspend": True}, "Suspended"),
        ({"scoreDestination": "None"}, "NotPublished"),
        ({}, "NoCluster"),
    ],
)
def test_nowhere_to_run(spec: dict[str, Any], reason: str) -> None:
    found = assessed({}, "", **spec)
    assert (found.status, found.reason) == ("Unknown", reason)


def report(**zeros: str) -> Scan:
    found = {(name, "cpu"): frozenset(clusters) for name, clusters in zeros.items()}
    targets = TargetClusters(clusters={}, addons=None, masks=None)
    return Scan(targets=targets, owners={}, assessments={}, dead=(), zeros=found)


def test_the_first_placements_are_named_and_the_others_counted() -> None:
    assert report(web="").affected_placements("cpu") == ""
    assert report(web="ab").affected_placements("mem") == ""
    assert (
        report(web="ab", api="a", db="").affected_placements("cpu")
        == "Placement api counts 1 cluster as 0; Placement web counts 2 clusters as 0"
    )
    many = report(**dict.fromkeys("abcde", "x")).affected_placements("cpu")
    assert many.startswith("Placement a counts 1 cluster as 0; ")
    assert many.endswith("Placement c counts 1 cluster as 0, and 2 more Placements do so")


def test_of_scorers_with_one_score_name_the_first_by_name_owns_it() -> None:
    found = owners([scorer("b", score="cpu_free"), scorer("a", score="CPU-free"), scorer("mem")])
    assert {name: owner.item.name for name, owner in found.items()} == {
        "cpu-free": "a",
        "mem": "mem",
    }


TTL = 900.0
ALIVE = agent(available="True")


def managed(name: str = "a", available: str = "True", **metadata: Any) -> ManagedCluster:
    conditions = (
        [{"type": "ManagedClusterConditionAvailable", "status": available}] if available else []
    )
    body = {"metadata": {"name": name, **metadata}, "status": {"conditions": conditions}}
    return cluster(msgspec.Raw(msgspec.json.encode(body)))[1]


@pytest.mark.parametrize(
    ("holder", "agent", "why"),
    [
        (managed(), ALIVE, ""),
        (managed(available=""), ALIVE, ""),
        (managed(), agent(available=""), ""),
        (None, ALIVE, "there is no such ManagedCluster"),
        (
            managed(deletionTimestamp=datetime(2026, 1, 1, tzinfo=UTC)),
            ALIVE,
            "the ManagedCluster is being deleted",
        ),
        (managed(available="False"), ALIVE, "the cluster is not available"),
        (managed(available="Unknown"), ALIVE, "the cluster is not available"),
        (managed(), None, "the agent's add-on is not installed"),
        (managed(), agent(available="True", deleting=True), "the agent's add-on is not installed"),
        (managed(), agent(available="False"), "the agent's add-on is not available"),
        (managed(), agent(available="Unknown"), "the agent's add-on is not available"),
    ],
)
def test_who_can_renew_a_score(
    holder: ManagedCluster | None, agent: ManagedClusterAddOn | None, why: str
) -> None:
    assert why_not_renewed(holder, agent) == why


def score(until: float | None, *, on_hub: bool = False) -> PublishedScore:
    return PublishedScore(None if until is None else moment_of(until), on_hub=on_hub)


def owner_on(runs_on: str) -> Owner:
    plain = {
        "metadata": {"name": "cpu"},
        "spec": {"runsOn": runs_on, "scoring": {"params": {"interval": 5}}},
    }
    return Owner(item=msgspec.convert(plain, DynamicScorer), ttl=TTL)


def test_what_may_live_is_never_dead() -> None:
    scores = {
        "just-expired": score(NOW - 1),
        "one-ttl-ago": score(NOW - TTL),
        "long-ago": score(NOW - TTL - 1),
        "longer-ago": score(NOW - 2 * TTL),
        "fresh": score(NOW + 1),
        "endless": score(None),
        "alive": score(NOW - 9 * TTL),
    }
    found = find_dead(
        "cpu",
        scores,
        clusters={"alive": managed("alive")},
        addons={"alive": ALIVE},
        owner=owner_on("Spokes"),
        now=NOW,
    )
    assert found == [("cpu", "long-ago"), ("cpu", "longer-ago")]
    found = find_dead(
        "cpu", {"a": score(NOW - 9 * TTL)}, clusters={}, addons={}, owner=None, now=NOW
    )
    assert found == [], "without a scorer they stay for a day"


@pytest.mark.parametrize(
    ("holder", "on_hub", "runs_on", "why"),
    [
        (managed(), True, "Hub", ""),
        (managed(), False, "Hub", ""),
        (managed(), True, None, "no scorer on the hub has this score any more"),
        (managed(), True, "Spokes", "the agent's add-on is not installed"),
        (managed(), False, None, "the agent's add-on is not installed"),
        (None, True, "Hub", "there is no such ManagedCluster"),
        (managed(available="Unknown"), True, "Hub", "the cluster is not available"),
    ],
)
def test_the_hub_scorer_renews_without_an_agent(
    holder: ManagedCluster | None, on_hub: bool, runs_on: str | None, why: str
) -> None:
    """`on_hub` is who wrote the score, `runs_on` where its scorer runs now; None means that it is
    gone.
    """
    owner = None if runs_on is None else owner_on(runs_on)
    assert why_not_renewed(holder, None, owner=owner, on_hub=on_hub) == why
    found = find_dead(
        "cpu",
        {"a": score(NOW - 2 * DAY, on_hub=on_hub)},
        clusters={} if holder is None else {"a": holder},
        addons={},
        owner=owner,
        now=NOW,
    )
    assert found == ([("cpu", "a")] if why else [])
