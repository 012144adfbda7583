"""The reconciler where another program owns the CRDs.

The API server drops conditions, and a scorer by query has no object.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gitops_dsf.repository.model.repository import Delivery
from tests.integration.reconciler.scorerhub import NAMESPACE, ScorerHub, leading
from tests.support.apiserver import Key, Object
from tests.support.pageserver import ConfigPageServer, says
from tests.support.scorerlists import config_maps, specs_of

KNOWN = {"healthStatus", "lastSyncedConfig"}
QUERY = {"type": "Query", "params": {"name": "query", "interval": 5}}
EXISTING = Delivery(crds="Existing")
SCORERS = "dynamicscorers"
PAGE = {
    "name": "cpu",
    "description": "Free CPU",
    "source": {
        "type": "Prometheus",
        "host": "http://prometheus:9090",
        "path": "/api/v1/query_range",
        "params": {"query": "up", "range": 60, "step": 5},
    },
    "scoring": {"path": "/score", "params": {"name": "cpu", "interval": 5}},
}
"""A /config with every field that upstream's CRD requires."""


class ForeignCrdHub(ScorerHub):
    """Keeps of a status what upstream's CRD knows."""

    def _keep(self, key: Key, item: Object) -> None:
        if key[0] == SCORERS:
            status = {name: value for name, value in item["status"].items() if name in KNOWN}
            item = {**item, "status": status}
        super()._keep(key, item)

    def stored(self, name: str) -> dict[str, Any]:
        item = self.get(SCORERS, name, namespace=NAMESPACE)
        assert item is not None
        return dict(item["status"])

    def kept(self, name: str) -> dict[str, Any]:
        """What the ConfigMap of statuses has of a scorer."""
        stored = self.get("configmaps", "gitops-dsf-status", namespace=NAMESPACE)
        return dict(json.loads(stored["data"][name])) if stored else {}

    def reason(self, name: str, kind: str) -> str:
        [condition] = [item for item in self.kept(name)["conditions"] if item["type"] == kind]
        return str(condition["reason"])


@pytest.fixture
async def foreign(pages: ConfigPageServer) -> AsyncIterator[ForeignCrdHub]:
    """A hub with a scorer with an API, and one by query, which has no object."""
    async with ForeignCrdHub(pages.url) as hub:
        hub.scorer("cpu")
        hub.lists_scorers = False
        scorers = [item for (plural, _, _), item in hub.objects.items() if plural == SCORERS]
        specs = {**specs_of(scorers), "query": {"scoring": QUERY, "scoreTTLSeconds": 900}}
        hub.put_list(config_maps(specs), namespace=NAMESPACE)
        hub.joined("c1")
        hub.masks("[]")
        yield hub


async def test_objects_get_what_their_crd_has_and_a_configmap_the_rest(
    foreign: ForeignCrdHub,
) -> None:
    async with leading(foreign, delivery=EXISTING) as leader:
        await leader.once()
        assert foreign.stored("cpu") == {"healthStatus": "Active"}
        assert foreign.reason("cpu", "Healthy") == "Answers"
        assert foreign.reason("cpu", "Scored") == "NoScores"
        assert foreign.reason("query", "Scored") == "NoScores"
        assert foreign.kept("query")["healthStatus"] == "Inactive"
        assert foreign.events_about("DynamicScorer") == [("cpu", "NoScores", 1)]
        assert foreign.events_about("ConfigMap") == [("gitops-dsf-scorers", "NoScores", 1)]
        writes = len(foreign.writes)
        await leader.once()
        assert len(foreign.writes) == writes, "what the API server drops is not written again"
        foreign.score("c1", "query")
        foreign.score("c1", "cpu")
        await leader.once()
        assert foreign.reason("query", "Scored") == "Fresh"
        assert leader.metric("scored_clusters", scorer="query", state="fresh") == 1


async def test_the_next_leader_goes_on_from_the_configmap(foreign: ForeignCrdHub) -> None:
    async with leading(foreign, delivery=EXISTING) as first:
        await first.once()
        before = foreign.kept("query")["conditions"]
    async with leading(foreign, delivery=EXISTING) as second:
        await second.once()
    assert foreign.kept("query")["conditions"] == before
    assert foreign.events_about("ConfigMap") == [("gitops-dsf-scorers", "NoScores", 1)]


async def test_a_scorer_that_git_removes_leaves_the_configmap(foreign: ForeignCrdHub) -> None:
    async with leading(foreign, delivery=EXISTING) as leader:
        await leader.once()
        assert foreign.kept("query")
        foreign.put_list(config_maps({}), namespace=NAMESPACE)
        await leader.once()
    stored = foreign.get("configmaps", "gitops-dsf-status", namespace=NAMESPACE)
    assert stored is not None
    assert stored["data"] == {}


@pytest.mark.parametrize("config", [{}, {"lastSyncedConfig": PAGE}])
async def test_another_writer_of_the_same_field_is_overwritten_once_a_minute(
    foreign: ForeignCrdHub, config: Object
) -> None:
    """Upstream's controller writes healthStatus, too: the two must not take turns all the time."""
    theirs = {"healthStatus": "Inactive", **config}
    async with leading(foreign, delivery=EXISTING) as leader:
        await leader.once()
        for _ in range(5):
            foreign.objects[SCORERS, NAMESPACE, "cpu"]["status"] = theirs
            await asyncio.sleep(10)
            await leader.once()
            assert foreign.stored("cpu") == theirs
        await asyncio.sleep(10)
        await leader.once()
        assert foreign.stored("cpu") == {"healthStatus": "Active", **config}


async def test_a_page_that_the_crd_would_refuse_is_not_written(
    foreign: ForeignCrdHub, pages: ConfigPageServer
) -> None:
    """Upstream's CRD requires every field of lastSyncedConfig, and refuses a whole status."""
    specs = {
        "cpu": {
            "configURL": f"{pages.url}/config",
            "configSyncMode": "Full",
            "scoring": {"params": {"name": "cpu", "interval": 5}},
            "scoreTTLSeconds": 900,
        }
    }
    foreign.put_list(config_maps(specs), namespace=NAMESPACE)
    incomplete = {key: value for key, value in PAGE.items() if key != "description"}
    pages.pages["/config"] = says(**incomplete)
    async with leading(foreign, delivery=EXISTING) as leader:
        await leader.once()
        assert foreign.stored("cpu") == {"healthStatus": "Active"}
        assert foreign.reason("cpu", "ConfigSynced") == "Drifted"
        pages.pages["/config"] = says(**PAGE)
        await leader.once()
    assert foreign.stored("cpu") == {"healthStatus": "Active", "lastSyncedConfig": PAGE}
