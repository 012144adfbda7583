"""The manifests of `scorer new` and of docs/scores/scoring-apis.md on real API servers.

They are accepted, and OCM brings them to a cluster.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsf_scorer.command import create
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_until_gone, wait_until_there
from tests.hub.scenario.agents import DEPLOYMENT
from tests.hub.scenario.installation import WORK
from tests.support import yamlfast

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

PAGE = (Path(__file__).parents[2] / "docs/scores/scoring-apis.md").read_text(encoding="utf-8")
CLUSTER = "cluster1"
NAMESPACE = "v1/Namespace"


def documents(title: str) -> list[Object]:
    (block,) = re.findall(rf"```yaml {title}\n(.*?)```", PAGE, re.DOTALL)
    return yamlfast.load_all(block)


@pytest.fixture(scope="module")
def spoke(control_plane: ControlPlane) -> Iterator[Client]:
    client = control_plane.spokes[CLUSTER].admin
    yield client
    client.delete(NAMESPACE, "scoring")
    wait_until_gone(client, NAMESPACE, "scoring")


def test_the_hub_takes_the_placement_and_the_application_set(argocd: object, hub: Client) -> None:
    for item in documents("fleet"):
        item["metadata"]["namespace"] = "argocd"
        stored = hub.apply(item, dry_run=True)
        assert stored["metadata"]["name"] == "cpu-headroom-api"


def test_ocm_brings_the_work_to_the_cluster_and_leaves_the_namespace(
    spoke: Client, hub: Client, tmp_path: Path
) -> None:
    (work,) = documents("work")
    create("cpu-headroom", tmp_path)
    items = yamlfast.load_all((tmp_path / "deploy/api.yaml").read_text("utf-8"))
    spoke.apply(manifest(NAMESPACE, "scoring"))
    assert [spoke.apply(item, dry_run=True)["kind"] for item in items] == ["Deployment", "Service"]
    work["spec"]["workload"]["manifests"] += items
    name = work["metadata"]["name"]
    hub.apply(work)
    for kind in (DEPLOYMENT, "v1/Service"):
        wait_until_there(spoke, kind, "cpu-headroom", namespace="scoring")
    hub.delete(WORK, name, namespace=CLUSTER)
    wait_until_gone(hub, WORK, name, namespace=CLUSTER)
    wait_until_gone(spoke, DEPLOYMENT, "cpu-headroom", namespace="scoring")
    assert "deletionTimestamp" not in spoke.get(NAMESPACE, "scoring")["metadata"]
