"""status and doctor on a hub where a Placement orders clusters for Kueue's jobs."""

import json
from datetime import UTC, datetime

import pytest

from tests.integration.hubverbs.conftest import Run, Serve
from tests.integration.hubverbs.test_doctor import with_every_kind
from tests.support.apiserver import FakeApiServer
from tests.support.hubobjects import Object, binding, decision, fleet, meta, placement

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
SETTINGS = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue:
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig:
    stepSize: 3
"""


def ordering() -> list[Object]:
    """The Placement kueue-system/gpu-jobs, which orders gpu-jobs."""
    item = placement("gpu-jobs", "cpu", namespace="kueue-system")
    term = {"resource": "cpu", "dimension": "cpu", "weight": 1}
    order = {"config": "gpu-jobs", "reorderSeconds": 60, "terms": [term], "stickiness": 10}
    item["metadata"]["annotations"] = {"gitops-dsf.io/multikueue": json.dumps(order)}
    return [
        item,
        decision("gpu-jobs", "cluster1", "cluster2", namespace="kueue-system"),
        binding("kueue-system"),
    ]


@pytest.fixture
def hub(serve: Serve) -> FakeApiServer:
    """A hub with Kueue, as its manifests install it, and a list that the reconciler wrote."""
    hub = with_every_kind(serve([*fleet(now=datetime.now(UTC)), *ordering()]))
    labels = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
    container = {"name": "manager", "image": "registry.k8s.io/kueue/kueue:v0.19.2"}
    hub.serve(
        "/apis/apps/v1/deployments",
        {
            "metadata": meta("kueue-controller-manager", "kueue-system", labels=labels),
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
    )
    hub.serve(
        "/api/v1/configmaps",
        {
            "metadata": meta("kueue-manager-config", "kueue-system"),
            "data": {"controller_manager_config.yaml": SETTINGS},
        },
    )
    written = {
        "placement": "kueue-system/gpu-jobs",
        "clusters": ["cluster2", "cluster1"],
        "points": {"cluster2": 81.5, "cluster1": 70},
        "reason": "cluster2 joined",
    }
    hub.serve(
        f"{KUEUE}/multikueueconfigs",
        {
            "metadata": {
                "name": "gpu-jobs",
                "labels": {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"},
                "annotations": {"gitops-dsf.io/order": json.dumps(written)},
            },
            "spec": {"clusters": ["cluster2", "cluster1"]},
        },
    )
    hub.serve(f"{KUEUE}/multikueueclusters", {"metadata": {"name": "cluster1"}})
    parameters = {"kind": "MultiKueueConfig", "name": "gpu-jobs"}
    hub.serve(
        f"{KUEUE}/admissionchecks",
        {
            "metadata": {"name": "gpu-jobs"},
            "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
        },
    )
    return hub


def test_doctor_reads_the_configuration_of_kueue(hub: FakeApiServer, run: Run) -> None:
    """It is YAML in a ConfigMap, and the version is in the image."""
    findings = json.loads(run(hub, "doctor", "-o", "json").stdout)["findings"]
    said = {item["check"]: item["message"] for item in findings}
    assert said["kueue"] == (
        "Kueue offers each job to the 3 best clusters at once, and it runs where it is admitted"
        " first; with stepSize 1 the order decides alone"
    )
    assert said["multikueue-configs"] == (
        "cluster2 of Placement kueue-system/gpu-jobs has no MultiKueueCluster, so it gets no jobs"
    )


def test_status_shows_the_list(hub: FakeApiServer, run: Run) -> None:
    """As it is on the hub."""
    shown = run(hub, "status", "--placement", "gpu-jobs").stdout
    assert "\n    jobs of gpu-jobs go to cluster2 (81.5), then cluster1 (70)\n" in shown
    assert "\n    last change of that order: cluster2 joined\n" in shown


def test_a_hub_without_such_a_placement_is_not_asked_for_kueue(serve: Serve, run: Run) -> None:
    """Nor does anybody need rights for it."""
    hub = with_every_kind(serve())
    findings = json.loads(run(hub, "doctor", "-o", "json").stdout)["findings"]
    said = {item["check"]: (item["state"], item["message"]) for item in findings}
    none = ("ok", "no Placement orders clusters for jobs")
    assert (said["kueue"], said["multikueue-configs"]) == (none, none)
