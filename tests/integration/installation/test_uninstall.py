"""gitops-dsf uninstall: what it deletes and in which order, and what stays."""

import io
import re
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import main
from tests.integration.installation.conftest import Run, Serve
from tests.support.apiserver import KINDS, ApiTarget, FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.hubobjects import ARGOCD, HUB

Object = dict[str, Any]
LABELS = {"app.kubernetes.io/managed-by": "gitops-dsf", "app.kubernetes.io/part-of": "gitops-dsf"}
PATHS = {kind: path for path, kind in KINDS.items()}


def put(
    hub: FakeApiServer, kind: str, name: str, namespace: str = ARGOCD, **metadata: Any
) -> Object:
    place = {"namespace": namespace} if namespace else {}
    item: Object = {"metadata": {"name": name, **place, "labels": LABELS, **metadata}, "spec": {}}
    hub.objects[ApiTarget.of(PATHS[kind]).plural, namespace, name] = item
    return item


@pytest.fixture
def hub(serve: Serve) -> FakeApiServer:
    """A hub with one object of each kind of ours, and a generated Application."""
    found = serve()
    found.objects.clear()
    put(
        found,
        "Application",
        "gitops-dsf-platform",
        finalizers=["resources-finalizer.argocd.argoproj.io"],
    )
    put(found, "AppProject", "gitops-dsf")
    put(found, "ApplicationSet", "guestbook")
    put(found, "Placement", "guestbook")
    put(found, "Deployment", "gitops-dsf-reconciler", HUB)
    put(found, "Service", "gitops-dsf-reconciler", HUB)
    put(found, "ManagedClusterAddOn", "gitops-dsf-agent", "cluster1")
    put(found, "ManifestWork", "gitops-dsf-config", "cluster1")
    put(found, "ClusterManagementAddOn", "gitops-dsf-agent", "")
    put(found, "ValidatingAdmissionPolicy", "gitops-dsf-applications", "")
    put(found, "ValidatingAdmissionPolicyBinding", "gitops-dsf-applications", "")
    put(
        found,
        "Application",
        "guestbook-cluster1",
        labels={"gitops-dsf.io/application": "guestbook"},
    )
    put(found, "Service", "of-somebody-else", HUB, labels={})
    return found


def test_it_deletes_what_is_ours_in_an_order_in_which_nothing_moves(
    hub: FakeApiServer, run: Run
) -> None:
    """A dry run before it and a second run after it delete nothing."""
    told = run(hub, "uninstall", "--dry-run")
    assert (told.returncode, hub.writes) == (0, [])
    assert "ApplicationSet argocd/guestbook: would be deleted" in told.stdout
    done = run(hub, "uninstall")
    assert done.returncode == 0, done.stderr
    assert hub.writes == [
        "PATCH Application gitops-dsf-platform",
        "DELETE Application gitops-dsf-platform",
        "DELETE Deployment gitops-dsf-reconciler",
        "DELETE ApplicationSet guestbook",
        "DELETE ManagedClusterAddOn gitops-dsf-agent",
        "DELETE ManifestWork gitops-dsf-config",
        "DELETE Service gitops-dsf-reconciler",
        "DELETE ClusterManagementAddOn gitops-dsf-agent",
        "DELETE ValidatingAdmissionPolicy gitops-dsf-applications",
        "DELETE ValidatingAdmissionPolicyBinding gitops-dsf-applications",
        "DELETE Placement guestbook",
        "DELETE AppProject gitops-dsf",
    ]
    assert hub.bodies["DELETE ApplicationSet guestbook"]["propagationPolicy"] == "Orphan"
    assert hub.bodies["PATCH Application gitops-dsf-platform"] == {"metadata": {"finalizers": None}}
    assert "Application argocd/guestbook-cluster1: they keep running where they are" in done.stdout
    assert [item["metadata"]["name"] for item in hub.items(PATHS["Service"])] == [
        "of-somebody-else"
    ]
    hub.writes.clear()
    again = run(hub, "uninstall")
    assert (again.returncode, hub.writes) == (0, [])
    assert "no object of gitops-dsf is on this hub" in again.stdout


def test_placed_applications_are_deleted_on_request(hub: FakeApiServer, run: Run) -> None:
    for item in hub.items(PATHS["Application"]):
        item["spec"] = {"project": "gitops-dsf"}
    told = run(hub, "uninstall", "--delete-applications", "--dry-run")
    assert "AppProject argocd/gitops-dsf: would be deleted" in told.stdout
    assert "Application argocd/guestbook-cluster1: would be deleted" in told.stdout
    assert "they keep running where they are" not in told.stdout
    done = run(hub, "uninstall", "--delete-applications")
    assert done.returncode == 0
    assert "DELETE Application guestbook-cluster1" in hub.writes
    assert hub.writes.index("DELETE ApplicationSet guestbook") < hub.writes.index(
        "DELETE Application guestbook-cluster1"
    )


@pytest.mark.parametrize(
    ("kind", "name", "metadata", "owner"),
    [
        (
            "Application",
            "gitops-dsf-delivery",
            {
                "annotations": {
                    "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/x"
                }
            },
            "the Application root",
        ),
        (
            "ManifestWork",
            "gitops-dsf-config",
            {"labels": {**LABELS, "kustomize.toolkit.fluxcd.io/name": "works"}},
            "the Kustomization works of Flux",
        ),
    ],
)
def test_what_another_program_would_bring_back_is_left_alone(
    hub: FakeApiServer, run: Run, kind: str, name: str, metadata: Object, owner: str
) -> None:
    put(hub, kind, name, "argocd", **metadata)
    done = run(hub, "uninstall")
    assert (done.returncode, hub.writes) == (1, [])
    assert f"{kind} argocd/{name} is applied by {owner}, which would bring it back" in done.stderr


@pytest.mark.usefixtures("hasty")
def test_agents_that_do_not_go_are_named_and_keep_their_rights(
    hub: FakeApiServer, run: Run
) -> None:
    hub.stuck = {"ManagedClusterAddOn"}
    done = run(hub, "uninstall")
    assert done.returncode == 1
    assert "after 300 s still there: ManagedClusterAddOn cluster1/gitops-dsf-agent" in done.stderr
    assert "DELETE ClusterManagementAddOn gitops-dsf-agent" not in hub.writes
    assert run(hub, "uninstall", "--no-wait").returncode == 0
    assert "DELETE ClusterManagementAddOn gitops-dsf-agent" in hub.writes


def test_what_stays_is_told_with_a_reason(hub: FakeApiServer, run: Run) -> None:
    crd = "dynamicscorers.dynamic-scoring.open-cluster-management.io"
    put(hub, "CustomResourceDefinition", crd, "")
    labels = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}
    put(hub, "AddOnPlacementScore", "cpu", "cluster1", labels=labels)
    platform = hub.items(PATHS["Application"])[0]
    made = {"group": "argoproj.io", "kind": "ApplicationSet", "namespace": ARGOCD}
    platform["status"] = {
        "resources": [{**made, "name": name} for name in ("guestbook", "by-hand")]
    }
    done = run(hub, "uninstall")
    assert done.returncode == 0
    assert "ApplicationSet argocd/by-hand: copied from your repository" in done.stdout
    assert "ApplicationSet argocd/guestbook: copied" not in done.stdout
    assert re.search(rf"kubectl delete crd {crd} --kubeconfig \S+ --context hub", done.stdout)
    assert re.search(r"-l \S+=gitops-dsf-agent --kubeconfig \S+ --context hub", done.stdout)
    assert "1 AddOnPlacementScore: Placements ignore them once they expire" in done.stdout


@pytest.fixture
def current(hub: FakeApiServer, tmp_path: Path) -> Path:
    """A kubeconfig whose current context is the hub."""
    return hub.kubeconfig(tmp_path / "current")


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            (),
            "everything in it: kubectl delete namespace gitops-dsf --kubeconfig ",
        ),
        (
            ("--hub-namespace", "open-cluster-management"),
            "Namespace open-cluster-management with its Secrets: others use it, too",
        ),
        (("--hub-namespace", ARGOCD), "Namespace argocd with its Secrets: others use it, too"),
    ],
)
def test_the_hub_namespace_stays_with_the_command_that_deletes_it_if_it_is_ours(
    hub: FakeApiServer, run: Run, flags: tuple[str, ...], line: str
) -> None:
    done = run(hub, "uninstall", *flags)
    assert done.returncode == 0, done.stderr
    assert line in done.stdout
    assert ("delete namespace gitops-dsf" in done.stdout) == (not flags)


def test_a_hub_that_was_not_named_is_left_alone(hub: FakeApiServer, current: Path) -> None:
    done = gitops_dsf("uninstall", "--kubeconfig", current)
    assert (done.returncode, hub.writes) == (2, [])
    assert "uninstall needs the name of the hub: write --context hub, or --yes" in done.stderr
    looked = gitops_dsf("uninstall", "--kubeconfig", current, "--dry-run")
    assert (looked.returncode, hub.writes) == (0, [])
    done = gitops_dsf("uninstall", "--kubeconfig", current, "--yes")
    assert done.returncode == 0, done.stderr
    assert "hub: hub (the current context)" in done.stderr
    assert hub.writes


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1)]
)
def test_a_person_is_asked_for_the_current_context(
    hub: FakeApiServer,
    current: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    code: int,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert main(["uninstall", "--kubeconfig", str(current)]) == code
    assert "Remove gitops-dsf from hub? [y/N]" in capsys.readouterr().err
    assert bool(hub.writes) is (code == 0)


def test_a_project_of_other_applications_stays(hub: FakeApiServer, run: Run) -> None:
    """Argo CD neither syncs nor deletes an Application without its project."""
    other = put(hub, "Application", "by-hand", labels={})
    other["spec"] = {"project": "gitops-dsf"}
    told = run(hub, "uninstall", "--dry-run")
    assert "AppProject argocd/gitops-dsf: Application argocd/by-hand belongs to it" in told.stdout
    done = run(hub, "uninstall")
    assert done.returncode == 0
    assert "DELETE AppProject gitops-dsf" not in hub.writes
    assert "AppProject argocd/gitops-dsf: Application argocd/by-hand belongs to it" in done.stdout


def test_health_checks_in_argocd_cm_are_given_up(hub: FakeApiServer, run: Run) -> None:
    applied = {"manager": "gitops-dsf", "operation": "Apply"}
    put(hub, "ConfigMap", "argocd-cm", labels={}, managedFields=[applied])
    hub.items(PATHS["ConfigMap"])[0]["data"] = {"url": "https://argocd.example.com"}
    done = run(hub, "uninstall")
    assert done.returncode == 0
    assert "ConfigMap argocd/argocd-cm: our health checks removed" in done.stdout
    assert "data" not in hub.bodies.get("PATCH ConfigMap argocd-cm", {})


MOVES = "gitops-dsf-moves"
MAINTENANCE = {"key": "gitops-dsf.io/maintenance", "effect": "NoSelectIfNew"}
UNREACHABLE = {
    "key": "cluster.open-cluster-management.io/unreachable",
    "effect": "NoSelect",
    "timeAdded": "2026-06-01T11:58:30Z",
}


@pytest.fixture
def moved(hub: FakeApiServer) -> FakeApiServer:
    """A hub on which the reconciler has moved an application, and a maintenance has closed two
    clusters.
    """
    put(hub, "Lease", "gitops-dsf-reconciler", HUB, labels={})
    put(hub, "ConfigMap", "gitops-dsf-suspended", HUB, labels={})
    put(hub, "ConfigMap", MOVES, HUB, labels={})
    put(hub, "ConfigMap", MOVES, "of-somebody-else", labels={})
    for cluster in ("cluster1", "cluster2"):
        put(hub, "AddOnPlacementScore", MOVES, cluster, labels={})
        put(hub, "AddOnPlacementScore", "of-somebody-else", cluster, labels={})
    for name, taints in (("cluster1", [UNREACHABLE, MAINTENANCE]), ("cluster2", [MAINTENANCE])):
        put(hub, "ManagedCluster", name, "", labels={})["spec"] = {"taints": taints}
    put(hub, "ManagedCluster", "cluster3", "", labels={})["spec"] = {"taints": [UNREACHABLE]}
    return hub


def taints_of(hub: FakeApiServer) -> dict[str, Any]:
    clusters = hub.items(PATHS["ManagedCluster"])
    return {item["metadata"]["name"]: item["spec"].get("taints") for item in clusters}


def test_what_the_reconciler_wrote_goes_with_it(moved: FakeApiServer, run: Run) -> None:
    """Its scores have no validUntil, so OCM would count them for ever.

    Nobody else opens the clusters.
    """
    told = run(moved, "uninstall", "--dry-run")
    assert (told.returncode, moved.writes) == (0, [])
    assert (
        f"AddOnPlacementScore cluster1/{MOVES}, AddOnPlacementScore cluster2/{MOVES}:"
        " would be deleted"
    ) in told.stdout
    assert (
        f"ConfigMap {HUB}/gitops-dsf-suspended, ConfigMap {HUB}/{MOVES}: would be deleted"
        in told.stdout
    )
    taint = (
        "the taint gitops-dsf.io/maintenance would be removed, so that applications may be"
        " placed there"
    )
    assert f"ManagedCluster cluster1, ManagedCluster cluster2: {taint}" in told.stdout

    done = run(moved, "uninstall")
    assert done.returncode == 0, done.stderr
    assert (
        f"AddOnPlacementScore cluster1/{MOVES}, AddOnPlacementScore cluster2/{MOVES}: deleted"
        in done.stdout
    )
    assert f"ConfigMap {HUB}/gitops-dsf-suspended, ConfigMap {HUB}/{MOVES}: deleted" in done.stdout
    assert f"Lease {HUB}/gitops-dsf-reconciler: deleted" in done.stdout
    assert (
        "ManagedCluster cluster1, ManagedCluster cluster2: the taint"
        " gitops-dsf.io/maintenance removed"
    ) in done.stdout
    left = {(kind, space, name) for kind, space, name in moved.objects if "reconciler" in name}
    assert left == set()
    assert [key for key in moved.objects if key[2] in {MOVES, "gitops-dsf-suspended"}] == [
        ("configmaps", "of-somebody-else", MOVES)
    ]
    assert len(moved.items(PATHS["AddOnPlacementScore"])) == 2
    assert taints_of(moved) == {
        "cluster1": [UNREACHABLE],
        "cluster2": None,
        "cluster3": [UNREACHABLE],
    }
    # The last Placement is gone before, so that no decision changes for an application of ours.
    first = moved.writes.index("DELETE Placement guestbook")
    assert first < moved.writes.index(f"DELETE AddOnPlacementScore {MOVES}")
    assert first < moved.writes.index("PATCH ManagedCluster cluster1")

    moved.writes.clear()
    again = run(moved, "uninstall")
    assert (again.returncode, moved.writes) == (0, [])
    assert "no object of gitops-dsf is on this hub" in again.stdout


def test_what_only_the_reconciler_left_is_found(moved: FakeApiServer, run: Run) -> None:
    """Another run, after one that removed what has our labels, and then failed."""
    for key in [key for key, item in moved.objects.items() if item["metadata"]["labels"]]:
        del moved.objects[key]
    done = run(moved, "uninstall")
    assert done.returncode == 0, done.stderr
    assert "no object of gitops-dsf is on this hub" not in done.stdout
    assert (
        f"AddOnPlacementScore cluster1/{MOVES}, AddOnPlacementScore cluster2/{MOVES}: deleted"
        in done.stdout
    )


@pytest.mark.usefixtures("hasty")
def test_a_policy_that_is_on_its_way_out_is_waited_for(moved: FakeApiServer, run: Run) -> None:
    moved.refusals["DELETE addonplacementscores"] = [403, 422, 403]
    done = run(moved, "uninstall")
    assert done.returncode == 0, done.stderr
    assert len(moved.items(PATHS["AddOnPlacementScore"])) == 2


@pytest.mark.usefixtures("hasty")
def test_scores_that_nobody_may_delete_are_named(moved: FakeApiServer, run: Run) -> None:
    moved.refused = {f"DELETE AddOnPlacementScore {MOVES}": 403}
    done = run(moved, "uninstall")
    assert done.returncode == 1
    assert "DELETE AddOnPlacementScore" in done.stderr


def test_a_cluster_that_ocm_writes_meanwhile_keeps_its_other_taints(
    moved: FakeApiServer, run: Run
) -> None:
    moved.refusals["PATCH managedclusters"] = [409, 409]
    done = run(moved, "uninstall")
    assert done.returncode == 0, done.stderr
    assert taints_of(moved)["cluster1"] == [UNREACHABLE]


def test_the_order_of_jobs_stays(hub: FakeApiServer, run: Run) -> None:
    """Kueue takes jobs away from a check whose MultiKueueConfig is gone. Those of others are not
    named.
    """
    ours = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}
    put(hub, "MultiKueueConfig", "gpu-jobs", "", labels=ours)
    put(hub, "MultiKueueConfig", "by-hand", "", labels={})
    done = run(hub, "uninstall")
    assert done.returncode == 0, done.stderr
    assert not [write for write in hub.writes if "MultiKueueConfig" in write]
    [line] = [line for line in done.stdout.splitlines() if "MultiKueueConfig" in line]
    assert line.startswith(
        "  MultiKueueConfig gpu-jobs: jobs go on by the last order. When no AdmissionCheck names"
        " them any more: kubectl "
    )
    assert " delete multikueueconfigs gpu-jobs " in line
