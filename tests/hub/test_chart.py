"""The Helm chart with a real Helm: its objects are those that `render` writes, and a hub takes them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.render.platform import definitions
from gitops_dsf.render.reconciler import reconciler
from gitops_dsf.repository.model.repository import FleetRepository
from tests.hub.controlplane import registry
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.registry import Registry
from tests.support.rendering import identity
from tools.images.environment import ROOT
from tools.release.__main__ import charts
from tools.version import current

pytestmark = [pytest.mark.family("helm"), pytest.mark.timeout(300)]

CHART = ROOT / "chart/gitops-dsf"
IMAGE = "registry.example.com/gitops-dsf-reconciler:1"
DEPLOYMENT = "apps/v1/Deployment"
CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"
CRDS = ("dynamicscorers", "dynamicscoringconfigs")
TOLERATION = {"key": "infra", "operator": "Exists", "effect": "NoSchedule"}
Object = dict[str, Any]

PLAIN: Object = {"image": IMAGE}
EVERYTHING: Object = {
    "image": IMAGE,
    "imagePullPolicy": "Always",
    "imagePullSecrets": [{"name": "registry"}],
    "replicas": 3,
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
    "nodeSelector": {"node-role.kubernetes.io/infra": "true"},
    "tolerations": [TOLERATION],
    "monitoring": {"serviceMonitor": True, "rules": True, "dashboard": True},
}
PUSHING: Object = {"image": IMAGE, "gitSecret": {"name": "fleet-push"}, "journal": {"enabled": True}}


@pytest.fixture(scope="module")
def helm() -> str:
    return str(obtain("helm").path("helm"))


def run(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def repository(settings: Object, **spec: Any) -> FleetRepository:
    named = {"imagePullSecrets": [one["name"] for one in settings.get("imagePullSecrets", ())]}
    return FleetRepository.model_validate(
        {
            "apiVersion": "gitops-dsf.io/v1alpha1",
            "kind": "FleetRepository",
            "metadata": {"name": "fleet"},
            "spec": {
                "git": {"url": "https://git.example.com/fleet.git"},
                "reconciler": settings | named,
                **spec,
            },
        }
    )


def by_identity(items: list[Object]) -> dict[tuple[str, ...], Object]:
    return {identity(item): item for item in items}


@pytest.mark.parametrize(
    ("settings", "spec", "values"),
    [
        (PLAIN, {}, PLAIN),
        (
            EVERYTHING,
            {"hubNamespace": "dsf-hub", "argocd": {"namespace": "openshift-gitops"}},
            {
                **EVERYTHING,
                "hubNamespace": "dsf-hub",
                "argocdNamespace": "openshift-gitops",
                # Helm merges maps with their defaults.
                "nodeSelector": {**EVERYTHING["nodeSelector"], "kubernetes.io/os": None},
            },
        ),
        (
            PUSHING,
            {},
            {
                "image": IMAGE,
                "gitSecret": "fleet-push",
                "extraArgs": [
                    "--git-url=https://git.example.com/fleet.git",
                    "--git-credentials=/etc/gitops-dsf/git",
                    "--work-dir=/tmp/gitops-dsf",
                    "--journal-branch=gitops-dsf-journal",
                ],
            },
        ),
    ],
    ids=["plain", "everything", "pushing"],
)
def test_the_chart_has_the_objects_that_are_rendered(
    helm: str, tmp_path: Path, settings: Object, spec: Object, values: Object
) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    text = run(helm, "template", "dsf", CHART, "--include-crds", "--values", tmp_path / "values.yaml")
    made = [item for item in yaml.safe_load_all(text) if item is not None]
    wanted = [*definitions(), *reconciler(repository(settings, **spec))]
    assert by_identity(made) == by_identity(wanted)
    assert len(made) == len(wanted)


def test_helm_finds_nothing_wrong(helm: str) -> None:
    assert "0 chart(s) failed" in run(helm, "lint", "--strict", CHART, "--set", f"image={IMAGE}")


def test_an_image_must_be_set(helm: str) -> None:
    done = subprocess.run([helm, "template", "dsf", str(CHART)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "set image to the reconciler's image" in done.stderr


@pytest.mark.family("kubernetes")
def test_a_hub_takes_it_and_keeps_the_crds(helm: str, control_plane: ControlPlane, hub: Client) -> None:
    for name in ("dsf-chart", "dsf-chart-argocd"):
        hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    chosen = ["--set", f"image={IMAGE},hubNamespace=dsf-chart,argocdNamespace=dsf-chart-argocd"]
    access = ["--kubeconfig", str(control_plane.hub.kubeconfig()), "--namespace", "dsf-chart"]
    # What is left in rendered/reconciler of a repository that does not render it.
    for item in reconciler(repository({"enabled": False}, hubNamespace="dsf-chart")):
        hub.apply(item, manager="argocd-controller")
    run(helm, "install", "dsf", CHART, "--take-ownership", *chosen, *access)
    try:
        [container] = hub.get(DEPLOYMENT, "gitops-dsf-reconciler", namespace="dsf-chart")["spec"]["template"][
            "spec"
        ]["containers"]
        assert container["image"] == IMAGE
        run(helm, "upgrade", "dsf", CHART, *chosen, "--set", "replicas=1", *access)
        found = hub.get(DEPLOYMENT, "gitops-dsf-reconciler", namespace="dsf-chart")
        assert found["spec"]["replicas"] == 1
    finally:
        run(helm, "uninstall", "dsf", *access, "--wait")
    assert hub.find(DEPLOYMENT, "gitops-dsf-reconciler", namespace="dsf-chart") is None
    for plural in CRDS:
        assert hub.find(CRD, f"{plural}.dynamic-scoring.open-cluster-management.io")
    for name in ("dsf-chart", "dsf-chart-argocd"):
        hub.delete("v1/Namespace", name)


@pytest.mark.family("kubernetes")
def test_helm_installs_what_a_release_pushed(
    helm: str, control_plane: ControlPlane, hub: Client, tmp_path: Path
) -> None:
    """The archive of `make release`, from a registry."""
    if reason := registry.missing():
        pytest.skip(reason)
    charts(ROOT, tmp_path, epoch=1_700_000_000)
    (archive,) = tmp_path.iterdir()
    for name in ("dsf-oci", "dsf-oci-argocd"):
        hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    chosen = ["--set", f"image={IMAGE},hubNamespace=dsf-oci,argocdNamespace=dsf-oci-argocd"]
    access = ["--kubeconfig", str(control_plane.hub.kubeconfig()), "--namespace", "dsf-oci"]
    processes = Processes(logs=tmp_path / "logs")
    with Registry(processes=processes, folder=tmp_path / "registry") as serving:
        place = f"oci://{serving.authority}/team/charts"
        run(helm, "push", archive, place, "--plain-http")
        wanted = [f"{place}/gitops-dsf", "--version", current(ROOT), "--plain-http"]
        run(helm, "install", "dsf-oci", *wanted, *chosen, *access)
    try:
        assert hub.find(DEPLOYMENT, "gitops-dsf-reconciler", namespace="dsf-oci")
        listed = json.loads(run(helm, "list", "--output", "json", *access))
        assert [(one["chart"], one["status"]) for one in listed] == [
            (f"gitops-dsf-{current(ROOT)}", "deployed")
        ]
    finally:
        run(helm, "uninstall", "dsf-oci", *access, "--wait")
    for name in ("dsf-oci", "dsf-oci-argocd"):
        hub.delete("v1/Namespace", name)
