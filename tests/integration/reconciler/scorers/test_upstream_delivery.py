"""The reconciler where upstream's controller and agents deliver.

It reads the same list, and leaves the status of DynamicScorers to that controller.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gitops_dsf.reconciler.scoregc import CONFIRM_SECONDS, ScoreGarbageCollector
from gitops_dsf.repository.model.repository import Delivery
from tests.integration.reconciler.replica import read_again
from tests.integration.reconciler.scorerhub import NAMESPACE, ScorerHub, leading
from tests.support.pageserver import ConfigPageServer

UPSTREAM = Delivery(mode="UpstreamController")
SCORERS = "dynamicscorers"
ADDON = "dynamic-scoring-framework"


class UpstreamHub(ScorerHub):
    """A hub with upstream's controller, which writes the whole status of a DynamicScorer."""

    def probed(self, health: str, *, config: dict[str, Any] | None = None) -> None:
        status = {"healthStatus": health}
        self.objects[SCORERS, NAMESPACE, "cpu"]["status"] = status | (
            {"lastSyncedConfig": config} if config else {}
        )

    @property
    def theirs(self) -> dict[str, Any]:
        return dict(self.objects[SCORERS, NAMESPACE, "cpu"]["status"])

    @property
    def kept(self) -> dict[str, Any]:
        """What the ConfigMap of statuses has of the scorer."""
        stored = self.get("configmaps", "gitops-dsf-status", namespace=NAMESPACE)
        return dict(json.loads(stored["data"]["cpu"])) if stored else {}

    def said(self, kind: str) -> tuple[str, str, str]:
        [found] = [item for item in self.kept["conditions"] if item["type"] == kind]
        return found["status"], found["reason"], found["message"]


@pytest.fixture
async def hub(pages: ConfigPageServer) -> AsyncIterator[UpstreamHub]:
    """A scorer that upstream's agents run on two clusters; a third one has no agent."""
    async with UpstreamHub(pages.url) as hub:
        hub.scorer("cpu")
        hub.cluster("c1", "c2", "c3")
        hub.agent("c1", "c2", addon=ADDON)
        hub.masks("[]")
        hub.probed("Active")
        yield hub


async def test_conditions_are_in_the_configmap_and_the_object_is_upstreams(
    hub: UpstreamHub,
) -> None:
    hub.upstreams_score("c1")
    hub.upstreams_score("c2")
    async with leading(hub, delivery=UPSTREAM) as leader:
        await leader.once()
        assert hub.kept.keys() == {"conditions", "observedGeneration"}
        assert hub.said("Healthy")[:2] == ("True", "Answers")
        assert hub.patched() == []
        assert hub.theirs == {"healthStatus": "Active"}


async def test_two_writers_never_take_turns(hub: UpstreamHub) -> None:
    """Whatever upstream's controller writes stays, and is not a reason to write the ConfigMap."""
    hub.upstreams_score("c1")
    hub.upstreams_score("c2")
    async with leading(hub, delivery=UPSTREAM) as leader:
        await leader.once()
        kept = hub.kept
        writes = len(hub.writes)
        for health in ("Inactive", "Unknown", "Active", "Inactive"):
            hub.probed(health, config={"name": "cpu"})
            theirs = hub.theirs
            await asyncio.sleep(120)
            await leader.once()
            assert hub.theirs == theirs
            assert hub.kept == kept
        assert len(hub.writes) == writes, "and neither is the ConfigMap written again"
        scorer = leader.view.scorers.items["cpu"]
        assert scorer.health == "Inactive", "people see what upstream's controller decides by"
        assert scorer.condition("Healthy").status == "True"


async def test_the_twin_with_our_delivery_writes_the_object(hub: UpstreamHub) -> None:
    hub.agent("c1")
    async with leading(hub) as leader:
        await leader.once()
    assert hub.patched() == ["cpu"]
    assert hub.kept == {}


async def test_scores_without_an_end_are_not_known_to_be_fresh_nor_called_a_fault(
    hub: UpstreamHub,
) -> None:
    """Upstream's agent writes no validUntil, so nobody knows how old its scores are."""
    hub.upstreams_score("c1")
    hub.upstreams_score("c2")
    async with leading(hub, delivery=UPSTREAM) as leader:
        await leader.once()
        status, reason, message = hub.said("Scored")
        assert (status, reason) == ("Unknown", "NoExpiry")
        assert "without validUntil, so that OCM counts it forever, on 2 clusters" in message
        assert leader.metric("scored_clusters", scorer="cpu", state="endless") == 2
        assert leader.metric("scored_clusters", scorer="cpu", state="missing") == 0


async def test_a_cluster_with_upstreams_agent_and_no_score_is_a_fault(hub: UpstreamHub) -> None:
    """And one without that add-on is not: only the others are expected to publish."""
    hub.upstreams_score("c1")
    async with leading(hub, delivery=UPSTREAM) as leader:
        await leader.once()
        status, reason, message = hub.said("Scored")
        assert (status, reason) == ("False", "Missing")
        assert "missing on 1 cluster (c2)" in message


async def test_a_score_that_our_agent_left_and_upstreams_keeps_up_expires(
    hub: UpstreamHub,
) -> None:
    """Upstream's agent replaces the items of an object that is there, and leaves its validUntil."""
    hub.upstreams_score("c1")
    hub.score("c2", seconds=-60)
    async with leading(hub, delivery=UPSTREAM) as leader:
        await leader.once()
        status, reason, message = hub.said("Scored")
        assert (status, reason) == ("False", "Expired")
        assert "c2" in message


@pytest.mark.parametrize(("addon", "is_gone"), [(ADDON, False), ("gitops-dsf-agent", True)])
async def test_the_agent_that_may_renew_a_score_is_upstreams(
    hub: UpstreamHub, addon: str, is_gone: bool
) -> None:
    """An expired score of ours goes only where upstream's add-on is not available either."""
    hub.cluster("c4")
    hub.agent("c4", addon=addon)
    hub.score("c4", seconds=-3600)
    async with leading(hub, delivery=UPSTREAM) as leader:
        await read_again(leader.view)
        collector = ScoreGarbageCollector(leader.context)
        await collector._reconcile()
        await asyncio.sleep(CONFIRM_SECONDS + 1)
        await collector._reconcile()
    assert (hub.get("addonplacementscores", "cpu", namespace="c4") is None) is is_gone


async def test_the_next_leader_goes_on_from_the_configmap(hub: UpstreamHub) -> None:
    hub.upstreams_score("c1")
    hub.upstreams_score("c2")
    async with leading(hub, delivery=UPSTREAM) as first:
        await first.once()
        before = hub.kept
    async with leading(hub, delivery=UPSTREAM) as second:
        await second.once()
    assert hub.kept == before
