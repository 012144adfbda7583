"""Which ManagedClusterSetBindings are rendered, and what `diff` and `simulate` say of them."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.preview.gitfleet import (
    FLEET,
    SET,
    GitFleet,
    Run,
    application,
    save,
    snapshot,
)
from tests.support import hubobjects
from tests.support.commandline import gitops_dsf
from tests.support.hubobjects import Object, cluster, hub_with
from tests.support.served import serving

OCM = "cluster.open-cluster-management.io"
HUB_SET = hubobjects.of(
    "ManagedClusterSet",
    hubobjects.meta("fleet"),
    spec={"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
)


def placement(name: str, namespace: str | None = None, **spec: Any) -> Object:
    place = {} if namespace is None else {"namespace": namespace}
    steady = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 1}
    policy = {"mode": "Exact", "configurations": [steady]}
    return {
        "apiVersion": f"{OCM}/v1beta1",
        "kind": "Placement",
        "metadata": {"name": name, **place},
        "spec": {"numberOfClusters": 1, "prioritizerPolicy": policy, **spec},
    }


def binding(name: str = "fleet", namespace: str | None = None) -> Object:
    place = {} if namespace is None else {"namespace": namespace}
    return {
        "apiVersion": f"{OCM}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": name, **place},
        "spec": {"clusterSet": name},
    }


def rendered(fleet: GitFleet, run: Run) -> list[str]:
    run("render", fleet.path)
    folder = fleet.path / "rendered/delivery"
    return sorted(path.name for path in folder.glob("managedclustersetbinding.*"))


def test_an_application_leaves_the_bindings_to_others(fleet: GitFleet, run: Run) -> None:
    assert rendered(fleet, run) == ["managedclustersetbinding.fleet.yaml"]
    fleet.write("apps/guestbook.yaml", application("guestbook", bindings="Existing", stickiness=20))
    assert rendered(fleet, run) == []
    run("validate", "--strict", fleet.path)
    fleet.write("apps/second.yaml", application("second"))
    assert rendered(fleet, run) == ["managedclustersetbinding.fleet.yaml"]
    text = run("validate", fleet.path)
    assert "apps/guestbook.yaml" in text
    assert "DSF371" in text
    assert "is rendered for ScoredApplication second, so Argo CD takes it over" in text


def test_a_binding_written_by_hand_is_rendered_once(fleet: GitFleet, run: Run) -> None:
    """It stays when the last application that needs it goes."""
    fleet.write("apps/binding.yaml", binding())
    fleet.remove("apps/guestbook.yaml")
    assert rendered(fleet, run) == ["managedclustersetbinding.fleet.yaml"]
    text = (fleet.path / "rendered/delivery/managedclustersetbinding.fleet.yaml").read_text()
    assert 'argocd.argoproj.io/sync-wave: "0"' in text
    fleet.write("apps/guestbook.yaml", application("guestbook"))
    assert rendered(fleet, run) == ["managedclustersetbinding.fleet.yaml"]


def test_a_placement_in_another_namespace_has_its_binding_beside_it(
    fleet: GitFleet, run: Run
) -> None:
    there = binding(namespace="policies")
    fleet.write("apps/raw.yaml", placement("raw", "policies", clusterSets=["fleet"]), there)
    fleet.write("apps/guestbook.yaml", application("guestbook", stickiness=20))
    run("validate", "--strict", fleet.path)
    assert rendered(fleet, run) == [
        "managedclustersetbinding.fleet.yaml",
        "managedclustersetbinding.fleet_in_policies.yaml",
    ]
    verdict = run("explain", "policies/raw", "eu-1", fleet.path)
    assert "eu-1: it passes the filters" in verdict
    assert "assumed" not in verdict


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            {**binding(), "spec": {"clusterSet": "global"}},
            (
                "OCM refuses the binding fleet of the ManagedClusterSet global: both need the same"
                " name"
            ),
        ),
        (binding("flet"), "there is no ManagedClusterSet flet in clusters/"),
        ({**binding(), "spec": {}}, "spec.clusterSet"),
    ],
)
def test_a_binding_that_binds_nothing_is_an_error(
    fleet: GitFleet, run: Run, written: Object, message: str
) -> None:
    fleet.write("apps/binding.yaml", written)
    text = run("validate", fleet.path, code=1)
    assert "apps/binding.yaml" in text
    assert message in text


def test_bindings_that_come_and_go_are_named(fleet: GitFleet, run: Run, scores: Path) -> None:
    """Of Argo CD's namespace others use them, too: the Placement of a GitOpsCluster of ACM."""
    fleet.write("apps/guestbook.yaml", application("guestbook", bindings="Existing"))
    found = run.compared(fleet, "--scores", scores)
    gone = {
        "kind": "ManagedClusterSetBinding",
        "names": ["argocd/fleet"],
        "change": "removed",
        "fields": [],
    }
    assert found["bindings"] == [gone]
    text = run.shown(fleet)
    assert "ManagedClusterSetBinding **`argocd/fleet`** removed" in text
    assert (
        "Argo CD deletes the ManagedClusterSetBinding of fleet in argocd: Placements of"
        " others there, such as"
        " that of a GitOpsCluster, can no longer choose from this set; to keep it, write it as a"
        " ManagedClusterSetBinding into apps/" in text
    )
    fleet.write("apps/binding.yaml", binding())
    fleet.write("apps/guestbook.yaml", application("guestbook"))
    assert run.compared(fleet)["bindings"] == []
    fleet.write("apps/more.yaml", binding("global", "policies"))
    [new] = run.compared(fleet)["bindings"]
    assert (new["names"], new["change"]) == (["policies/global"], "added")


def hub(*namespaces: str) -> Any:
    """A hub with the set `fleet`, and its bindings in these namespaces."""
    members = [cluster(name, **{SET: "fleet"}) for name in ("eu-1", "eu-2", "us-1")]
    bound = [
        hubobjects.of(
            "ManagedClusterSetBinding", hubobjects.meta("fleet", one), spec={"clusterSet": "fleet"}
        )
        for one in namespaces
    ]
    return serving(hub_with([*members, HUB_SET, *bound, hubobjects.decision("guestbook", "eu-1")]))


def test_an_application_stays_where_a_binding_goes_that_the_hub_has_now(
    fleet: GitFleet, run: Run, tmp_path: Path
) -> None:
    """The preview must not count on a binding that Argo CD deletes with this change."""
    fleet.write("apps/guestbook.yaml", application("guestbook", bindings="Existing"))
    with hub("argocd") as server:
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        text = run.shown(fleet, "--context", "hub", "--kubeconfig", kubeconfig)
    assert "argocd/guestbook is left with no cluster" in text


ASSUMED = (
    "is assumed: this repository does not render it, and the bindings of the hub are not known"
    " (--context reads them)"
)


@pytest.mark.parametrize("listed", [{"clusterSets": ["fleet"]}, {}], ids=["with sets", "without"])
def test_what_the_hub_may_have_is_not_denied(
    fleet: GitFleet, run: Run, tmp_path: Path, listed: Object, scores: Path
) -> None:
    fleet.write("apps/raw.yaml", placement("raw", "policies", **listed))
    fleet.write("clusters/set.yaml", {**FLEET, "metadata": {"name": "other"}})
    every = "policies/default, policies/fleet, policies/global, policies/other"
    names = "policies/fleet" if listed else every
    assumed = f"ManagedClusterSetBinding {names} {ASSUMED}"
    if not listed:
        several = ASSUMED.replace("is assumed", "are assumed").replace("render it", "render them")
        assumed = f"ManagedClusterSetBindings {names} {several}"
    told = run("explain", "policies/raw", "eu-1", fleet.path)
    assert assumed in told
    assert "it passes the filters; without scores its rank is unknown" in told
    found = run.json("explain", "policies/raw", "eu-1", fleet.path)
    assert found["assumedBindings"] == names.split(", ")
    # The state branch and files of scores do not tell bindings either.
    assert assumed in run("simulate", "--placement", "policies/raw", fleet.path, "--scores", scores)
    assert assumed in run("explain", "policies/raw", fleet.path)
    assert "is left with no cluster" not in run.shown(fleet)
    assert "assumedBindings" not in run.json("explain", "guestbook", "eu-1", fleet.path)

    with hub("argocd") as server:
        seen = ("--context", "hub", "--kubeconfig", server.kubeconfig(tmp_path / "kubeconfig"))
        told = run("explain", "policies/raw", "eu-1", fleet.path, *seen)
    assert (
        "the Placement has no eligible ManagedClusterSet: No valid ManagedClusterSetBindings found"
        in told
    )
    assert "assumed" not in told
    with hub("argocd", "policies") as server:
        seen = ("--context", "hub", "--kubeconfig", server.kubeconfig(tmp_path / "kubeconfig"))
        told = run("explain", "policies/raw", "eu-1", fleet.path, *seen)
    assert "rank 1 of 3" in told


def test_a_preview_by_the_state_branch_does_not_deny_bindings(
    fleet: GitFleet, run: Run, tmp_path: Path
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", bindings="Existing"))
    fleet.commit("theirs")
    fleet.write("apps/guestbook.yaml", application("guestbook", bindings="Existing", stickiness=10))
    found = run.compared(fleet, "--scores", save(snapshot(), tmp_path / "state"))
    assert found["moves"] == []
    assert not any("no cluster" in line for line in found["warnings"])


def test_bindings_beside_a_reference_have_no_effect(fleet: GitFleet) -> None:
    shared = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": "shared"},
        "spec": {"scores": [{"scorer": "cpu"}], "placement": {"clusterSets": ["fleet"]}},
    }
    item = application("guestbook")
    item["spec"] = {
        "application": item["spec"]["application"],
        "placement": {"ref": "shared"},
        "bindings": "Existing",
    }
    fleet.write("apps/guestbook.yaml", item, shared)
    done = gitops_dsf("validate", fleet.path)
    assert done.returncode == 1
    assert "spec.bindings has no effect: the ScoredPlacement shared decides" in done.stdout
