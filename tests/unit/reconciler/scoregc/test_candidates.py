"""What counts as dead: expired for more than a TTL, and nobody there who could renew it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import cluster
from gitops_dsf.reconciler.hub.scores import ScoreSummary
from gitops_dsf.reconciler.scoregc.candidates import Renewer, find_dead, renewer_of, why_not_renewed
from tests.support.typed import agent

NOW, TTL = 100_000.0, 900.0
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


def test_the_oldest_comes_first_and_what_may_live_never() -> None:
    scores = {
        "just-expired": ScoreSummary(valid_until=NOW - 1, count=1),
        "one-ttl-ago": ScoreSummary(valid_until=NOW - TTL, count=1),
        "long-ago": ScoreSummary(valid_until=NOW - TTL - 1, count=1),
        "longer-ago": ScoreSummary(valid_until=NOW - 2 * TTL, count=0),
        "as-long-ago": ScoreSummary(valid_until=NOW - 2 * TTL, count=1),
        "fresh": ScoreSummary(valid_until=NOW + 1, count=1),
        "endless": ScoreSummary(valid_until=None, count=1),
        "alive": ScoreSummary(valid_until=NOW - 9 * TTL, count=1),
    }
    found = find_dead(
        "cpu", scores, clusters={"alive": managed("alive")}, addons={"alive": ALIVE}, ttl=TTL, now=NOW
    )
    assert [(dead.resource, dead.cluster) for dead in found] == [
        ("cpu", "as-long-ago"),
        ("cpu", "longer-ago"),
        ("cpu", "long-ago"),
    ]
    assert {dead.why for dead in found} == {"there is no such ManagedCluster"}


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
    found = find_dead(
        "cpu",
        {"a": ScoreSummary(valid_until=NOW - 2 * TTL, count=1, on_hub=on_hub)},
        clusters={} if holder is None else {"a": holder},
        addons={},
        ttl=TTL,
        now=NOW,
        scorer=owner,
    )
    assert [dead.why for dead in found] == ([why] if why else [])
    assert all(
        (dead.on_hub, dead.renewer) == (on_hub, renewer_of(on_hub=on_hub, scorer=owner)) for dead in found
    )
    assert renewer_of(on_hub=False, scorer=None) is Renewer.AGENT


def made(runs_on: str) -> DynamicScorer:
    plain = {"metadata": {"name": "cpu"}, "spec": {"runsOn": runs_on, "scoring": {"params": {"interval": 5}}}}
    return msgspec.convert(plain, DynamicScorer)
