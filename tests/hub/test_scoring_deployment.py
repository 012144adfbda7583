"""The real API servers take what `scorer new` and docs/scores/scoring-apis.md write, and OCM brings it to
a cluster.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsf_scorer.command import create
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.installation import WORK
from tests.support import yamlfast

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

PAGE = (Path(__file__).parents[2] / "docs/scores/scoring-apis.md").read_text(encoding="utf-8")
CLUSTER = "cluster1"
APPLY = "application/apply-patch+yaml"
DEPLOYMENT, SERVICE, NAMESPACE = "apps/v1/Deployment", "v1/Service", "v1/Namespace"


def documents(title: str) -> list[Object]:
    (block,) = re.findall(rf"```yaml {title}\n(.*?)```", PAGE, re.DOTALL)
    return yamlfast.load_all(block)


@pytest.fixture(scope="module")
def spoke(control_plane: ControlPlane) -> Iterator[Client]:
    client = control_plane.spokes[CLUSTER].admin
    yield client
    client.delete(NAMESPACE, "scoring")
    wait_for(lambda: client.find(NAMESPACE, "scoring") is None, what="the namespace is gone")


def dry_run(client: Client, item: Object) -> Object:
    """The object as the server would store it: strictly validated, with its defaults."""
    meta = item["metadata"]
    path = client.path(f"{item['apiVersion']}/{item['kind']}", meta["name"], namespace=meta.get("namespace"))
    parameters = {"fieldManager": "kubectl", "fieldValidation": "Strict", "dryRun": "All"}
    return client.request("PATCH", path, body=item, content_type=APPLY, parameters=parameters)


def test_the_hub_takes_the_placement_and_the_application_set(argocd: object, hub: Client) -> None:
    for item in documents("fleet"):
        stored = dry_run(hub, {**item, "metadata": {**item["metadata"], "namespace": "argocd"}})
        assert stored["metadata"]["name"] == "cpu-headroom-api"


def test_ocm_brings_the_work_to_the_cluster_and_leaves_the_namespace(
    spoke: Client, hub: Client, tmp_path: Path
) -> None:
    (work,) = documents("work")
    create("cpu-headroom", tmp_path)
    items = yamlfast.load_all((tmp_path / "deploy/api.yaml").read_text("utf-8"))
    spoke.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "scoring"}})
    assert [dry_run(spoke, item)["kind"] for item in items] == ["Deployment", "Service"]
    work["spec"]["workload"]["manifests"] += items
    name = work["metadata"]["name"]
    hub.apply(work)
    for kind in (DEPLOYMENT, SERVICE):
        wait_for(
            lambda kind=kind: spoke.find(kind, "cpu-headroom", namespace="scoring"),  # type: ignore[misc]
            what=f"the {kind} is on the cluster",
            seen=lambda: hub.find(WORK, name, namespace=CLUSTER),
        )
    hub.delete(WORK, name, namespace=CLUSTER)
    wait_for(
        lambda: (
            hub.find(WORK, name, namespace=CLUSTER) is None
            and spoke.find(DEPLOYMENT, "cpu-headroom", namespace="scoring") is None
        ),
        what="the work and its Deployment are gone",
    )
    assert "deletionTimestamp" not in spoke.get(NAMESPACE, "scoring")["metadata"]
