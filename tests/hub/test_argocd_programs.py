"""The real Argo CD of the test control plane: it generates, syncs, heals, waits for git, and judges with our
health checks.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.schema.crd import crds
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.applications import (
    APPLICATION,
    APPLICATION_SET,
    refresh,
    state,
    wait_until_settled,
)
from tests.hub.controlplane.argocd import (
    ArgoCD,
)
from tests.hub.controlplane.gitrepository import GitRepository
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.support.health_cases import ARGOCD, Case, cases

pytestmark = pytest.mark.family("argocd", "kubernetes")

NAMESPACE = "argocd-test"
HEALTH = ARGOCD / "install/argocd-cm-health.yaml"


@pytest.fixture
def repository(git_server: GitServer, request: pytest.FixtureRequest) -> GitRepository:
    return git_server.create(re.sub(r"\W+", "-", request.node.name))


@pytest.fixture
def health_checks(argocd: ArgoCD) -> Iterator[None]:
    """Our checks in argocd-cm for one test, as people put them there; a manager of its own leaves other
    owners alone.
    """
    argocd.configure(
        yaml.safe_load(HEALTH.read_text(encoding="utf-8"))["data"], manager="health-checks-of-a-test"
    )
    yield
    argocd.configure({}, manager="health-checks-of-a-test")


@pytest.fixture
def applications(argocd: ArgoCD, hub: Client, repository: GitRepository) -> Iterator[None]:
    """Remove what a test made of its repository, with the objects that came from there."""

    def ours(kind: str) -> list[str]:
        found = hub.list(kind, namespace=argocd.namespace)
        return [item["metadata"]["name"] for item in found if repository.url in json.dumps(item["spec"])]

    yield
    for kind in (APPLICATION_SET, APPLICATION):
        for name in ours(kind):
            hub.delete(kind, name, namespace=argocd.namespace)
    wait_for(lambda: not ours(APPLICATION), what="the test's Applications are gone", timeout=90)


def application(name: str, repository: GitRepository, *, cluster: str = "in-cluster") -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": "argocd",
            "finalizers": ["resources-finalizer.argocd.argoproj.io"],
        },
        "spec": {
            "project": "default",
            "source": {"repoURL": repository.url, "path": "rendered", "targetRevision": "main"},
            "destination": {"namespace": NAMESPACE, "name": cluster},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": ["CreateNamespace=true", "ServerSideApply=true"],
            },
        },
    }


def value(client: Client, name: str) -> str | None:
    found = client.find("v1/ConfigMap", name, namespace=NAMESPACE)
    return None if found is None else str(found["data"]["value"])


@pytest.mark.usefixtures("applications", "health_checks")
def test_a_scorer_is_healthy_with_the_facts_in_its_message(
    argocd: ArgoCD, hub: Client, repository: GitRepository
) -> None:
    files: dict[str, str | None] = {
        f"rendered/{crd['metadata']['name']}.yaml": json.dumps(kept(crd)) for crd in crds()
    }
    head = repository.commit({**files, "rendered/scorer.yaml": json.dumps(scorer())})
    hub.apply(application("scorers", repository))
    wait_for(
        lambda: state(hub, "scorers").sync == "Synced",
        what="the scorer is synced",
        seen=lambda: state(hub, "scorers"),
    )
    # Argo CD looks again by itself when a health status changes, but not when only its message does.
    refresh(hub, "scorers")
    settled = wait_until_settled(hub, "scorers", revision=head)
    assert settled.resources["DynamicScorer/cpu-predictor"] == (
        "Synced",
        "Healthy",
        "no status yet: no reconciler has looked at the scoring API",
    )
    status = {
        "healthStatus": "Inactive",
        "conditions": [condition("Healthy", "False", "ProbeFailed", "GET /healthz: 503")],
    }
    hub.patch_status(f"{scorer()['apiVersion']}/DynamicScorer", "cpu-predictor", status, namespace=NAMESPACE)
    refresh(hub, "scorers")
    wanted = ("Synced", "Healthy", "scoring API Inactive; Healthy is False (ProbeFailed): GET /healthz: 503")
    wait_for(
        lambda: state(hub, "scorers").resources["DynamicScorer/cpu-predictor"] == wanted,
        what="the new status shows",
        seen=lambda: state(hub, "scorers"),
    )
    assert state(hub, "scorers").health == "Healthy"


@pytest.mark.family("ocm")
@pytest.mark.usefixtures("applications", "health_checks", "control_plane")
def test_ocms_own_verdicts_are_understood(argocd: ArgoCD, hub: Client, repository: GitRepository) -> None:
    cluster = "cluster.open-cluster-management.io"
    binding = {
        "apiVersion": f"{cluster}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "spec": {"clusterSet": "global"},
    }
    placement = {"apiVersion": f"{cluster}/v1beta1", "kind": "Placement", "metadata": {"name": "wrong"}}
    nowhere = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": "nowhere"}}}}
    files: dict[str, Any] = {
        "binding": {**binding, "metadata": {"name": "global"}},
        "wrong": {**placement, "spec": {"clusterSets": ["global"], "prioritizerPolicy": {"mode": "Wrong"}}},
        "empty": {
            **placement,
            "metadata": {"name": "empty"},
            "spec": {
                "clusterSets": ["global"],
                "predicates": [{"requiredClusterSelector": nowhere["requiredClusterSelector"]}],
            },
        },
    }
    repository.commit({f"rendered/{name}.yaml": json.dumps(item) for name, item in files.items()})
    hub.apply(application("placements", repository))
    wait_until_settled(hub, "placements", health="Degraded")
    wanted = {
        "Placement/wrong": (
            "Degraded",
            "Misconfigured, no decisions are made. :incorrect prioritizer policy mode: Wrong",
        ),
        "Placement/empty": (
            "Healthy",
            (
                "No cluster selected. NoManagedClusterMatched: No ManagedCluster matches any of the cluster"
                " predicate"
            ),
        ),
    }

    def verdicts() -> dict[str, tuple[str, str]]:
        """By now; OCM may have looked at one of them when Argo CD judged the other."""
        refresh(hub, "placements")
        return {
            name: verdict[1:]
            for name, verdict in state(hub, "placements").resources.items()
            if name in wanted
        }

    wait_for(lambda: verdicts() == wanted, what="both verdicts show", seen=verdicts)
    head = repository.commit({"rendered/wrong.yaml": None})
    refresh(hub, "placements")
    wait_until_settled(hub, "placements", revision=head)


def test_argocd_itself_gives_the_verdicts_of_our_cases(argocd: ArgoCD) -> None:
    """The offline command runs the script of the ConfigMap in Argo CD's own Lua: what the contract tests
    assert of ours.
    """

    def verdict(case: Case) -> str:
        return run_argocd(
            argocd,
            "admin",
            "settings",
            "resource-overrides",
            "health",
            str(case.input),
            "--argocd-cm-path",
            str(HEALTH),
        )

    found = cases()
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = dict(zip([str(case.input) for case in found], pool.map(verdict, found), strict=True))
    for case in found:
        assert answers[str(case.input)] == f"STATUS: {case.status}\nMESSAGE: {case.message}\n", case.input


def test_the_applicationset_controller_has_no_more_rights_than_its_role(
    argocd: ArgoCD, control_plane: ControlPlane
) -> None:
    """Argo CD's own roles do not let it read decisions; that right is for our rendered Role to give, in one
    namespace.
    """
    kubeconfig = control_plane.hub.service_account_kubeconfig(
        argocd.namespace, "argocd-applicationset-controller"
    )
    with Client(kubeconfig) as controller:
        assert controller.list("v1/ConfigMap", namespace=argocd.namespace)
        for path in (
            "/apis/cluster.open-cluster-management.io/v1beta1/placementdecisions",
            "/apis/rbac.authorization.k8s.io/v1/roles",
        ):
            with pytest.raises(ApiError, match="403 Forbidden"):
                controller.request("GET", path)


def kept(crd: Object) -> Object:
    """As we render CRDs: deleting the Application leaves them, and with them everybody's objects."""
    annotations = {
        **crd["metadata"].get("annotations", {}),
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    }
    return {**crd, "metadata": {**crd["metadata"], "annotations": annotations}}


def scorer() -> Object:
    return {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {"name": "cpu-predictor"},
        "spec": {
            "description": "CPU load of the next hour",
            "configURL": "http://cpu-predictor.scoring.svc:8080/config",
            "configSyncMode": "None",
        },
    }


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-09-14T07:15:20Z",
    }


def run_argocd(argocd: ArgoCD, *arguments: str) -> str:
    """Standard output of the argocd command line; it needs no server for what is asked here."""
    home = argocd.folder / "cli"
    Path(home).mkdir(exist_ok=True)
    answer = subprocess.run(
        [str(argocd.binaries.path("argocd")), *arguments],
        capture_output=True,
        text=True,
        env={"HOME": str(home), "ARGOCD_BINARY_NAME": "argocd", "PATH": "/usr/bin:/bin"},
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout
