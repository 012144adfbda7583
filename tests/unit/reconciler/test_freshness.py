"""What is said of a scorer's scores and of Placements in its status, and which scores are dead:
expired for more than a TTL, and nobody there who could renew them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import PublishedScore, score_of
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
    **spec: Any,
) -> Assessment:
    return assess(
        scorer(**spec),
        scores,
        published=scores.keys(),
        expected=frozenset(expected),
        since=lambda _: since,
        masks_known=masks_known,
        now=now,
    )


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
