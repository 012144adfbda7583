"""Facts of a hub that several programs judge.

Each test asks two of them about the same hub, or the same page, over HTTP.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError
from gitops_dsf.cli.main import main
from gitops_dsf.errors import HubError
from gitops_dsf.hub.resources import CLUSTERS
from gitops_dsf.hubreader.hub import HubClient
from gitops_dsf.pipeline import produce
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import cluster
from tests.integration.reconciler.replica import from_now
from tests.integration.reconciler.scorerhub import ARGOCD, NAMESPACE, ScorerHub, leading
from tests.integration.sync.conftest import Repository
from tests.integration.sync.conftest import repository as repository  # noqa: PLC0414 - a fixture
from tests.support import yamlfast
from tests.support.agent.http import HttpFake, SentReply
from tests.support.apiserver import kubeconfig
from tests.support.objecthub import ObjectHub
from tests.support.pageserver import ConfigPageServer, says
from tests.support.withouttls import PLAIN

Status = Callable[[ObjectHub], Any]


@pytest.fixture
def status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Status:
    """What `gitops-dsf status` says of the scorer cpu: its cells by cluster."""

    async def run(hub: ObjectHub) -> dict[str, Any]:
        where = ["--context", "hub", "--kubeconfig", str(hub.kubeconfig(tmp_path / "kubeconfig"))]
        namespaces = ["--hub-namespace", NAMESPACE, "--argocd-namespace", ARGOCD]
        assert await asyncio.to_thread(main, ["status", *where, *namespaces, "-o", "json"]) == 0
        page = json.loads(capsys.readouterr().out)
        scorer = next(item for item in page["scorers"] if item["name"] == "cpu")
        return {**scorer, "unread": page["hub"]["unread"]}

    return run


def states(found: dict[str, Any]) -> dict[str, str]:
    return {cell["cluster"]: cell["state"] for cell in found["scores"]}


PAGE: dict[str, Any] = {
    "name": "cpu",
    "source": {"type": "Prometheus", "params": {"query": "up", "range": 3600, "step": 60}},
    "scoring": {"path": "/scoring", "params": {"name": "cpu", "interval": 60}},
}


def rendered(repository: Repository) -> dict[str, Any]:
    """The DynamicScorer as Argo CD would apply it."""
    tree = produce(repository.root).tree
    assert tree is not None
    path = next(
        path for path in tree.files if path.endswith("cpu.yaml") and "dynamicscorer" in path
    )
    found: dict[str, Any] = yamlfast.load(tree.read(path))
    return found


INTERVAL = {"path": "/scoring", "params": {"name": "cpu", "interval": 30}}
NO_RANGE = {"type": "Prometheus", "params": {"query": "up", "step": 60}}
AS_WRITTEN = {**PAGE["source"], "host": "http://prometheus.monitoring.svc:9090"}


@pytest.mark.parametrize(
    ("page", "differs"),
    [
        (PAGE, None),
        ({**PAGE, "scoring": INTERVAL}, "scoring.params.interval"),
        ({**PAGE, "source": NO_RANGE}, "source.params.range"),
        ({**PAGE, "source": AS_WRITTEN}, None),
    ],
    ids=["equal", "changed", "dropped", "what-the-author-wrote"],
)
async def test_drift_is_drift_for_sync_and_for_the_reconciler(
    repository: Repository,
    pages: ConfigPageServer,
    capsys: pytest.CaptureFixture[str],
    page: dict[str, Any],
    differs: str | None,
) -> None:
    pages.pages["/config"] = says(**PAGE)
    repository.scorer("cpu", f"{pages.url}/config")
    assert await asyncio.to_thread(repository.sync) == 0
    async with ScorerHub(pages.url, on_wire=True) as hub, leading(hub) as leader:
        hub.put(
            "dynamicscorers",
            "cpu",
            namespace=NAMESPACE,
            metadata={"generation": 1},
            spec=rendered(repository)["spec"],
            status={},
        )
        await leader.once()
        assert hub.condition("cpu", "ConfigSynced")[1] == "InSync"
        pages.pages["/config"] = says(**page)
        for _ in range(2):
            # Twice: what was read before must not hide a field that is gone.
            await leader.once()
        sync = await asyncio.to_thread(repository.sync, "--check", "-o", "json")
        changes = json.loads(capsys.readouterr().out.rpartition("\n[")[2].join(("[", "")))[0][
            "changes"
        ]
        condition = hub.condition("cpu", "ConfigSynced")
        if differs is None:
            # A field that the page adds with the author's own value: a lock that is written anew,
            # and the same scorer.
            assert condition[1] == "InSync"
            assert all(
                rendered_value(repository, change["field"]) == change["after"] for change in changes
            )
        else:
            assert sync == 1
            assert [change["field"] for change in changes] == [f"config.{differs}"]
            assert condition[1] == "Drifted"
            assert differs in condition[2]


def rendered_value(repository: Repository, field: str) -> Any:
    value: Any = rendered(repository)["spec"]
    for part in field.removeprefix("config.").split("."):
        value = value[part]
    return value


async def test_a_score_without_an_end_is_endless_and_never_fresh(
    pages: ConfigPageServer, status: Status
) -> None:
    async with ScorerHub(pages.url, on_wire=True) as hub, leading(hub) as leader:
        hub.scorer("cpu")
        hub.joined("c1", "c2")
        hub.masks("[]")
        hub.score("c1")
        hub.score("c2")
        score = hub.get("addonplacementscores", "cpu", namespace="c2")
        assert score is not None
        del score["status"]["validUntil"]
        await leader.once()
        assert states(await status(hub)) == {"c1": "fresh", "c2": "endless"}
        words = (
            "fresh on 1 cluster; without validUntil, so that OCM counts it forever, on 1"
            " cluster (c2)"
        )
        assert hub.condition("cpu") == ("False", "NoExpiry", words)
        assert leader.metric("scored_clusters", scorer="cpu", state="fresh") == 1
        assert leader.metric("score_not_fresh", scorer="cpu", cluster="c2", state="endless") == 1


@pytest.mark.parametrize(("interval", "ttl", "grace"), [(5, 900, 120), (200, 2000, 400)])
async def test_expiry_and_grace_follow_the_interval(
    pages: ConfigPageServer, status: Status, interval: int, ttl: int, grace: int
) -> None:
    """Just before and just after the last quarter of the TTL begins, and the time ends in which a
    new cluster misses nothing, both programs say the same.
    """
    async with ScorerHub(pages.url, on_wire=True) as hub, leading(hub) as leader:
        hub.scorer("cpu", scoring={"params": {"name": "cpu", "interval": interval}})
        item = hub.get("dynamicscorers", "cpu", namespace=NAMESPACE)
        assert item is not None
        del item["spec"]["scoreTTLSeconds"]
        hub.list_scorers(NAMESPACE)
        hub.joined("c1", "c2")
        hub.joined("new", created=from_now(60 - grace))
        hub.joined("old", created=from_now(-grace - 1))
        hub.masks("[]")
        hub.score("c1", seconds=ttl / 4 + 60)
        hub.score("c2", seconds=ttl / 4 - 60)
        await leader.once()
        found = await status(hub)
        assert found["ttlSeconds"] == ttl
        assert states(found) == {
            "c1": "fresh",
            "c2": "expiring",
            "new": "waiting",
            "old": "missing",
        }
        words = (
            "fresh on 2 clusters, about to expire on 1 cluster (c2); missing on 1 cluster"
            " (old); not"
            " published yet on 1 cluster (new)"
        )
        assert hub.condition("cpu") == ("False", "Missing", words)


async def test_a_configmap_without_its_key_does_not_say_which_clusters_are_masked(
    pages: ConfigPageServer, status: Status
) -> None:
    async with ScorerHub(pages.url, on_wire=True) as hub, leading(hub) as leader:
        hub.scorer("cpu")
        hub.joined("c1", "c2")
        hub.score("c1")
        hub.masks("[]")
        del hub.objects["configmaps", NAMESPACE, "gitops-dsf-masks"]["data"]
        await leader.once()
        assert hub.condition("cpu")[2].endswith(
            "missing or masked on 1 cluster (c2): ConfigMap gitops-dsf-masks is missing"
            " or unreadable"
        )
        found = await status(hub)
        assert states(found) == {"c1": "fresh", "c2": "missing"}
        assert any("gitops-dsf-masks" in text for text in map(str, found["unread"]))


async def test_an_object_that_is_no_list_is_not_a_hub_without_clusters(tmp_path: Path) -> None:
    """As a proxy before the API server may answer."""
    async with HttpFake(lambda _seen: SentReply(body=b'{"status": "ok"}')) as server:

        def asked() -> list[msgspec.Raw]:
            with HubClient(
                context="hub", kubeconfig=kubeconfig(tmp_path / "kubeconfig", server=server.url)
            ) as hub:
                return list(hub.items(CLUSTERS.path))

        async with HubApi(load=lambda: Access(host=server.url, trust=PLAIN)) as api:
            with pytest.raises(ApiError, match="the answer is not a list"):
                await api.listed(CLUSTERS.path, cluster)
        with pytest.raises(HubError, match="the answer is not that of an API server"):
            await asyncio.to_thread(asked)
