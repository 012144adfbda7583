"""What counts as dead: expired for more than a TTL, and nobody there who could renew it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.metadata import moment_of
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import Score
from gitops_dsf.reconciler.freshness import DAY, Owner, find_dead, why_not_renewed
from gitops_dsf.reconciler.hub.kinds import cluster
from tests.support.typed import agent

NOW, TTL = 1_000_000.0, 900.0
ALIVE = agent(available="True")


def managed(name: str = "a", available: str = "True", **metadata: Any) -> ManagedCluster:
    conditions = [{"type": "ManagedClusterConditionAvailable", "status": available}] if available else []
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


def score(until: float | None, *, on_hub: bool = False) -> Score:
    return Score(None if until is None else moment_of(until), on_hub=on_hub)


def made(runs_on: str) -> Owner:
    plain = {"metadata": {"name": "cpu"}, "spec": {"runsOn": runs_on, "scoring": {"params": {"interval": 5}}}}
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
        owner=made("Spokes"),
        now=NOW,
    )
    assert found == [("cpu", "long-ago"), ("cpu", "longer-ago")]
    found = find_dead("cpu", {"a": score(NOW - 9 * TTL)}, clusters={}, addons={}, owner=None, now=NOW)
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
    """`on_hub` is who wrote the score, `runs_on` where its scorer runs now; None means that it is gone."""
    owner = None if runs_on is None else made(runs_on)
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
