"""`import` and `init --context` write where a hub has its Argo CD, and say why."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.cli.scaffold import scaffold
from tests.support.apiserver import FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.kubectl import managed_cluster
from tests.support.served import serving

CLUSTERS = "/apis/cluster.open-cluster-management.io"
DEPLOYMENTS = "/apis/apps/v1/deployments"
IMPORTERS = "/apis/apps.open-cluster-management.io/v1beta1/gitopsclusters"
READERS = ["openshift-gitops-applicationset-controller", "openshift-gitops-argocd-server"]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet")
    return tmp_path / "fleet"


@pytest.fixture
def hub() -> Iterator[FakeApiServer]:
    """It has a cluster, and no Argo CD."""
    with serving(FakeApiServer(serves={})) as server:
        server.serve(f"{CLUSTERS}/v1/managedclusters", managed_cluster("ber-1"))
        server.serve(f"{CLUSTERS}/v1beta2/managedclustersets")
        server.serve(DEPLOYMENTS)
        server.serve("/api/v1/configmaps")
        yield server


def deployment(namespace: str, name: str, account: str) -> dict[str, Any]:
    pod = {"serviceAccountName": account, "containers": [{"name": "main"}]}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": pod}},
    }


def argocd_in(namespace: str, prefix: str = "") -> list[dict[str, Any]]:
    """The Deployments that OpenShift GitOps (with a prefix) and Argo CD's own manifests make."""
    parts = ("applicationset-controller", "repo-server", "dex-server", "redis")
    found = [
        deployment(namespace, f"{prefix or 'argocd-'}{part}", f"{prefix or 'argocd-'}{part}")
        for part in parts
    ]
    server = f"{prefix}argocd-server" if prefix else "argocd-server"
    shown = f"{prefix}server" if prefix else server
    return [*found, deployment(namespace, shown, server)]


def settings(fleet: Path) -> dict[str, Any]:
    content = yaml.safe_load((fleet / "gitops-dsf.yaml").read_text(encoding="utf-8"))
    section: dict[str, Any] = content["spec"]["argocd"]
    return section


def words(hub: FakeApiServer, tmp_path: Path, *more: str) -> tuple[str, ...]:
    return ("import", "--context", "hub", "--kubeconfig", hub.kubeconfig(tmp_path / "k"), *more)


def test_import_finds_openshift_gitops_and_says_why(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    namespace = "openshift-gitops"
    hub.serve(DEPLOYMENTS, *argocd_in(namespace, "openshift-gitops-"))
    duck_type = {"metadata": {"name": "acm-placement", "namespace": namespace}}
    hub.serve("/api/v1/configmaps", duck_type)
    importer = {
        "metadata": {"name": "argo-acm-importer", "namespace": namespace},
        "spec": {
            "argoServer": {"argoNamespace": namespace},
            "placementRef": {"kind": "Placement", "name": "all-clusters"},
        },
    }
    hub.serve(IMPORTERS, importer)
    before = (fleet / "gitops-dsf.yaml").read_text(encoding="utf-8")

    dry = gitops_dsf(*words(hub, tmp_path, "--dry-run"), cwd=fleet)
    assert (fleet / "gitops-dsf.yaml").read_text(encoding="utf-8") == before

    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == dry.stdout.splitlines()[:2]
    namespace_line, readers_line, *_ = done.stdout.splitlines()
    assert namespace_line == (
        "gitops-dsf.yaml: spec.argocd.namespace: openshift-gitops, because Deployment"
        " openshift-gitops-applicationset-controller is there"
    )
    assert readers_line == (
        f"gitops-dsf.yaml: spec.argocd.decisionReaders: {', '.join(READERS)}, the ServiceAccounts"
        " of the ApplicationSet controller and of the server there"
    )
    assert (
        "GitOpsCluster openshift-gitops/argo-acm-importer imports the clusters that its Placement"
        " all-clusters chooses into Argo CD" in done.stderr
    )
    assert "ConfigMap openshift-gitops/acm-placement stays its owner's" in done.stderr
    assert settings(fleet) == {"namespace": namespace, "decisionReaders": READERS}
    after = (fleet / "gitops-dsf.yaml").read_text(encoding="utf-8")
    lost = set(before.splitlines()) - set(after.splitlines())
    assert lost == {"    namespace: argocd"}
    assert gitops_dsf("validate", cwd=fleet).returncode == 0

    again = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert again.stdout == "0 added, 0 changed, 1 unchanged\n"


def test_a_gitopscluster_names_an_argocd_of_another_namespace(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    hub.serve(DEPLOYMENTS, *argocd_in("team-gitops", "team-"))
    importer = {
        "metadata": {"name": "importer", "namespace": "team-gitops"},
        "spec": {"argoServer": {"argoNamespace": "team-gitops"}, "placementRef": {"name": "all"}},
    }
    hub.serve(IMPORTERS, importer)
    assert gitops_dsf(*words(hub, tmp_path), cwd=fleet).returncode == 0
    assert settings(fleet) == {
        "namespace": "team-gitops",
        "decisionReaders": ["team-applicationset-controller", "team-argocd-server"],
    }


def test_an_argocd_where_the_settings_say_stays(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    """Also beside OpenShift's."""
    both = (*argocd_in("openshift-gitops", "openshift-gitops-"), *argocd_in("argocd"))
    hub.serve(DEPLOYMENTS, *both)
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.stdout.splitlines()[-1] == "1 added, 0 changed, 0 unchanged"
    assert settings(fleet) == {"namespace": "argocd"}


def test_readers_that_people_wrote_stay(fleet: Path, hub: FakeApiServer, tmp_path: Path) -> None:
    file = fleet / "gitops-dsf.yaml"
    text = file.read_text(encoding="utf-8")
    mine = "    namespace: argocd\n    decisionReaders: [mine]\n"
    file.write_text(text.replace("    namespace: argocd\n", mine), encoding="utf-8")
    hub.serve(DEPLOYMENTS, *argocd_in("openshift-gitops", "openshift-gitops-"))
    gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert settings(fleet) == {"namespace": "openshift-gitops", "decisionReaders": ["mine"]}


def test_a_hub_without_argocd_changes_nothing(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert settings(fleet) == {"namespace": "argocd"}


def test_what_may_not_be_read_is_said(fleet: Path, hub: FakeApiServer, tmp_path: Path) -> None:
    hub.refused = {DEPLOYMENTS: 403}
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert (
        "gitops-dsf.yaml: spec.argocd was not compared with the hub: needs the right to list"
        " deployments.apps in namespace argocd" in done.stderr
    )


def test_init_with_a_context_writes_it_into_a_new_fleet(hub: FakeApiServer, tmp_path: Path) -> None:
    hub.serve(DEPLOYMENTS, *argocd_in("openshift-gitops", "openshift-gitops-"))
    kubeconfig = hub.kubeconfig(tmp_path / "k")
    done = gitops_dsf(
        "init", "new", "--empty", "--context", "hub", "--kubeconfig", kubeconfig, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "gitops-dsf.yaml: spec.argocd.namespace: openshift-gitops, because" in done.stdout
    assert settings(tmp_path / "new")["decisionReaders"] == READERS
