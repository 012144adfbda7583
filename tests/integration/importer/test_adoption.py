"""`gitops-dsf import --adopt` as a program: what it prints, and what `diff` says of the result."""

from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.gitrepository import git
from tests.support import adoption
from tests.support.apiserver import FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.kubectl import cluster_set, managed_cluster, printed
from tests.support.served import serving

DECLARED = "spec.externalScores declares site-preference/preference, which 1 cluster has"
OCM = "cluster.open-cluster-management.io"


def decision(placement: str, *clusters: str) -> dict[str, Any]:
    metadata = {
        "name": f"{placement}-decision-1",
        "namespace": adoption.NAMESPACE,
        "labels": {f"{OCM}/placement": placement},
    }
    decisions = [{"clusterName": cluster, "reason": ""} for cluster in clusters]
    return {
        "apiVersion": f"{OCM}/v1beta1",
        "kind": "PlacementDecision",
        "metadata": metadata,
        "status": {"decisions": decisions},
    }


def score(cluster: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": f"{OCM}/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": "cpu", "namespace": cluster},
        "status": {"scores": [{"name": "cpu", "value": value}]},
    }


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet in a git repository, before anything is adopted."""
    root = adoption.fleet(tmp_path / "fleet")
    git("init", "-q", "-b", "main", folder=root)
    git("add", "-A", folder=root)
    git("commit", "-q", "-m", "Inventory", folder=root)
    return root


def hub_file(tmp_path: Path, *more: dict[str, Any]) -> str:
    cases = ("acm-wizard-helm", "rolling-sync", "project-by-cluster")
    items = [adoption.stored(item) for name in cases for item in adoption.case(name)]
    file = tmp_path / "hub.yaml"
    file.write_text(printed([*items, *more]), encoding="utf-8")
    return str(file)


def test_what_an_operator_sees(fleet: Path, tmp_path: Path) -> None:
    done = gitops_dsf("import", "--from", hub_file(tmp_path), "--adopt", "*", cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout
        == """\
apps/billing.yaml: ScoredApplication billing added
apps/billing-placement.yaml: ScoredPlacement billing-placement added
apps/ledger-placement.yaml: ScoredPlacement ledger-placement added
apps/ledger.yaml: ApplicationSet ledger added as it is: spec.strategy has no place in a \
ScoredApplication
4 added, 0 changed, 0 unchanged
2 ApplicationSets adopted; the first sync changes none of their Applications
"""
    )
    assert (
        done.stderr
        == """\
ApplicationSet tenants is left as it is: DSF404 a templated project lets whoever controls the \
parameters choose the permissions
Placement tenants-placement is left as it is: the ApplicationSet tenants, which follows it, is not \
taken
"""
    )
    assert gitops_dsf("validate", cwd=fleet).returncode == 0
    again = gitops_dsf("import", "--from", hub_file(tmp_path), "--adopt", "*", cwd=fleet)
    assert again.stdout == "0 added, 0 changed, 2 unchanged\n"


def test_a_dry_run_writes_nothing(fleet: Path, tmp_path: Path) -> None:
    asked = ("import", "--from", hub_file(tmp_path), "--adopt", "bill*", "--dry-run")
    done = gitops_dsf(*asked, cwd=fleet)
    assert done.stdout.splitlines()[-2:] == [
        "2 would be added, 0 would be changed, 0 unchanged",
        "1 ApplicationSet adopted; the first sync changes none of its Applications",
    ]
    assert not (fleet / "apps/billing.yaml").exists()


def test_diff_says_that_nothing_moves(fleet: Path, tmp_path: Path) -> None:
    scores = (score("cluster1", 90), score("cluster2", 80))
    decided = (
        decision("billing-placement", "cluster2"),
        decision("ledger-placement", "cluster1", "cluster2"),
    )
    file = hub_file(tmp_path, *scores, *decided)
    gitops_dsf("import", "--from", file, "--adopt", "*", cwd=fleet)
    # Stickiness holds the decision of billing-placement against a lead of 10 points.
    found = gitops_dsf("diff", "--base", "main", "--scores", file, cwd=fleet)
    assert "**No application moves**" in found.stdout
    assert (
        "- **Adopted:** openshift-gitops/billing-placement, openshift-gitops/ledger-placement stay"
        " where the hub has decided already"
    ) in found.stdout
    failing = ("--fail-on", "move", "--fail-on", "eviction")
    assert (
        gitops_dsf("diff", "--base", "main", "--scores", file, *failing, cwd=fleet).returncode == 0
    )


def test_diff_says_what_moves_all_the_same(fleet: Path, tmp_path: Path) -> None:
    """OCM may be about to decide otherwise, or somebody changed a weight after the import."""
    scores = (score("cluster1", 90), score("cluster2", 30))
    file = hub_file(tmp_path, *scores, decision("billing-placement", "cluster2"))
    gitops_dsf("import", "--from", file, "--adopt", "billing", cwd=fleet)
    found = gitops_dsf("diff", "--base", "main", "--scores", file, cwd=fleet)
    assert "**1 application moves**" in found.stdout
    assert "**cluster2 → cluster1**" in found.stdout
    assert "**Adopted:**" not in found.stdout


def listed(item: dict[str, Any]) -> dict[str, Any]:
    """An item of a typed list, in which the API server omits apiVersion and kind."""
    return {key: value for key, value in item.items() if key not in {"apiVersion", "kind"}}


def test_from_a_hub(fleet: Path, tmp_path: Path) -> None:
    """Without --adopt they are not asked for: nobody needs the right to read them."""
    with serving(FakeApiServer(serves={})) as hub:
        words = ("import", "--context", "hub", "--kubeconfig", hub.kubeconfig(tmp_path / "config"))
        hub.serve(f"/apis/{OCM}/v1/managedclusters", listed(managed_cluster("ber-1")))
        hub.serve(f"/apis/{OCM}/v1beta2/managedclustersets", listed(cluster_set("fleet")))
        plain = gitops_dsf(*words, "--dry-run", cwd=fleet)
        assert plain.returncode == 0, plain.stderr
        refused = gitops_dsf(*words, "--adopt", "billing", cwd=fleet)
        assert refused.returncode == 1
        assert "applicationsets" in refused.stderr
        [placement, application_set] = adoption.case("acm-wizard-helm")
        hub.serve(f"/apis/{OCM}/v1beta1/placements", listed(adoption.stored(placement)))
        hub.serve(
            "/apis/argoproj.io/v1alpha1/applicationsets", listed(adoption.stored(application_set))
        )
        unread = gitops_dsf(*words, "--adopt", "billing", cwd=fleet)
        assert unread.returncode == 1
        assert "addonplacementscores" in unread.stderr
        hub.serve(f"/apis/{OCM}/v1alpha1/addonplacementscores", listed(score("cluster1", 90)))
        done = gitops_dsf(*words, "--adopt", "billing", cwd=fleet)
    assert "apps/billing.yaml: ScoredApplication billing added" in done.stdout.splitlines()
    assert (fleet / "clusters/ber-1.yaml").exists()


def test_scores_of_other_add_ons_from_a_hub(tmp_path: Path) -> None:
    """Only scores by which Placements rank are asked for, each by its name."""
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    preference = score("cluster1", 10)
    preference["metadata"]["name"] = "site-preference"
    preference["status"]["scores"][0]["name"] = "preference"
    with serving(FakeApiServer(serves={})) as hub:
        hub.serve(f"/apis/{OCM}/v1/managedclusters", listed(managed_cluster("ber-1")))
        hub.serve(f"/apis/{OCM}/v1beta2/managedclustersets", listed(cluster_set("fleet")))
        [placement, application_set] = adoption.case("failover-by-score")
        hub.serve(f"/apis/{OCM}/v1beta1/placements", listed(adoption.stored(placement)))
        hub.serve(
            "/apis/argoproj.io/v1alpha1/applicationsets", listed(adoption.stored(application_set))
        )
        hub.serve(f"/apis/{OCM}/v1alpha1/addonplacementscores", listed(preference))
        kubeconfig = hub.kubeconfig(tmp_path / "config")
        words = ("import", "--context", "hub", "--kubeconfig", kubeconfig, "--adopt", "*")
        done = gitops_dsf(*words, cwd=root)
        asked = [path for path in hub.requests if "addonplacementscores" in path]
    told = done.stdout.splitlines()
    assert "apps/chat-placement.yaml: ScoredPlacement chat-placement added" in told
    assert f"gitops-dsf.yaml: FleetRepository fleet: {DECLARED}" in told
    assert (
        "spec.externalScores says nothing of the range of site-preference/preference, nor of"
        " measuredAfterSeconds: what is published now does not show them; without them, validation"
        " expects -100 to 100\n"
    ) in done.stderr
    assert len(asked) == 1
    assert "fieldSelector=metadata.name%3Dsite-preference" in asked[0]
    assert gitops_dsf("validate", cwd=root).returncode == 0


def test_a_score_that_no_add_on_publishes(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    file = tmp_path / "hub.yaml"
    running = [adoption.stored(item) for item in adoption.case("failover-by-score")]
    file.write_text(printed([*running, score("cluster1", 10)]), encoding="utf-8")
    done = gitops_dsf("import", "--from", str(file), "--adopt", "*", cwd=root)
    assert (
        "site-preference/preference is not declared in spec.externalScores: no AddOnPlacementScore"
        " in the input has it, so its name may be misspelt; declare it if its add-on comes later\n"
    ) in done.stderr
    assert "site-preference" not in (root / "gitops-dsf.yaml").read_text("utf-8")
