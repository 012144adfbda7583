"""What `import --adopt` writes for ApplicationSets and Placements that run, without a hub.

tests/hub/test_adoption.py applies the same ones and compares every Application.
"""

from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.errors import RepositoryError
from gitops_dsf.importer.adoption.manifests import TRACKING_ANNOTATION
from gitops_dsf.importer.plan import plan_import
from gitops_dsf.importer.planned import Import
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.pipeline import check, produce
from gitops_dsf.render.objects import SYNC_WAVE
from gitops_dsf.repository.files import write_files
from tests.support import adoption, yamlfast
from tests.support.rendering import objects

CLAIMS = "its predicate has a claimSelector"
EVERY_SET = "without spec.clusterSets it chooses from every set that is bound to the namespace"
SCORED = "ScoredApplication"
EXPECTED: dict[str, dict[str, str]] = {
    "acm-wizard-helm": {"billing": SCORED, "billing-placement": "ScoredPlacement"},
    "acm-wizard-pull": {"catalog": SCORED, "catalog-placement": "ScoredPlacement"},
    "braces-for-others": {"rules": SCORED, "rules-placement": "ScoredPlacement"},
    "destination-by-name": {"search": SCORED},
    "failover-by-score": {"chat": SCORED, "chat-placement": "ScoredPlacement"},
    "go-template": {"storage": SCORED, "storage-placement": "ScoredPlacement"},
    "ignored-differences": {"api": SCORED, "api-placement": "ScoredPlacement"},
    "kustomize-and-finalizer": {"web": SCORED, "web-placement": "ScoredPlacement"},
    "multi-source-values": {"metrics": SCORED, "metrics-placement": "ScoredPlacement"},
    "ocm-guestbook": {"guestbook-app-set": SCORED, "guestbook-placement": "ScoredPlacement"},
    "one-placement-for-two": {
        "back": SCORED,
        "front": SCORED,
        "shared-placement": "ScoredPlacement",
    },
    "resource-usage-score": {"batch": SCORED, "batch-placement": "ScoredPlacement"},
    "values-of-the-generator": {"portal": SCORED, "portal-placement": "ScoredPlacement"},
    "matrix-of-folders": {
        "addons": "its generators are not one clusterDecisionResource with the label"
        " cluster.open-cluster-management.io/placement alone",
        "addons-placement": "ScoredPlacement",
    },
    "merge-with-a-list": {
        "streams": "its generators are not one clusterDecisionResource with the label"
        " cluster.open-cluster-management.io/placement alone",
        "streams-placement": "ScoredPlacement",
    },
    "rolling-sync": {
        "ledger": "spec.strategy has no place in a ScoredApplication",
        "ledger-placement": "ScoredPlacement",
    },
    "template-patch": {
        "gateway": "spec.templatePatch has no place in a ScoredApplication",
        "gateway-placement": "ScoredPlacement",
    },
    "project-by-cluster": {
        "tenants": "left: DSF404 a templated project lets whoever controls the parameters choose"
        " the permissions",
        "tenants-placement": "left: the ApplicationSet tenants, which follows it, is not taken",
    },
    "decision-by-name": {
        "duck": "left: its generator does not name a Placement by the label"
        " cluster.open-cluster-management.io/placement: it reads one page of a decision, or the"
        " decisions of all Placements",
    },
    "acm-wizard-git": {"orders": SCORED, "orders-placement": "ScoredPlacement"},
    "by-claims": {
        "region": f"the Placement region-placement, which it follows, stays as it is: {CLAIMS}",
        "region-placement": CLAIMS,
    },
    "every-cluster": {
        "day-two": "the Placement day-two-placement, which it follows, stays as it is:"
        f" {EVERY_SET}",
        "day-two-placement": EVERY_SET,
    },
}
"""For each case, what becomes of its objects: a kind of ours, or why it stays as it is."""


def adopt(root: Path, *objects_of_hub: dict[str, Any], names: tuple[str, ...] = ("*",)) -> Import:
    """Adopts from what `kubectl get -o yaml` printed, and writes the files."""
    stored = [adoption.stored(item) for item in objects_of_hub]
    planned = plan_import(root, stored, selection=ImportSelection(), adopted=names)
    write_files(planned.root, planned.files)
    return planned


def forms(planned: Import) -> dict[str, str]:
    """What became of each object."""
    told = {line.name: line.kind for line in planned.added}
    told |= {line.name: "; ".join(line.changes) for line in planned.carried}
    told |= {line.name: f"left: {'; '.join(line.changes)}" for line in planned.left}
    return told


def test_the_cases_are_all_expected() -> None:
    assert sorted(EXPECTED) == sorted(adoption.CASES)
    assert len(EXPECTED) >= 20


@pytest.mark.parametrize("name", adoption.CASES)
def test_each_case_is_taken_in_its_best_form(tmp_path: Path, name: str) -> None:
    root = adoption.fleet(tmp_path / "fleet")
    planned = adopt(root, *adoption.case(name))
    assert forms(planned) == EXPECTED[name]
    assert produce(root).tree is not None
    again = adopt(root, *adoption.case(name))
    assert (again.files, again.added, again.carried) == ({}, [], [])


def test_all_cases_together(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet")
    everything = [item for name in adoption.CASES for item in adoption.case(name)]
    planned = adopt(root, *everything)
    assert forms(planned) == {
        name: form for case in EXPECTED.values() for name, form in case.items()
    }
    assert planned.adopted == sum(item["kind"] == "ApplicationSet" for item in everything) - len(
        ["tenants", "duck"]
    )


def test_only_what_is_named_is_adopted(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet")
    everything = [*adoption.case("one-placement-for-two"), *adoption.case("go-template")]
    planned = adopt(root, *everything, names=("fro*",))
    assert sorted(forms(planned)) == ["front", "shared-placement"]
    assert planned.skipped == ["2 ApplicationSet that --adopt does not name"]
    # The rest of a Placement's followers can come later.
    later = adopt(root, *everything, names=("back",))
    assert forms(later) == {"back": "ScoredApplication"}


def test_a_name_that_nothing_has(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet")
    with pytest.raises(RepositoryError, match="there is no ApplicationSet shpo in the input"):
        adopt(root, *adoption.case("go-template"), names=("shpo",))


def test_without_being_asked_nothing_is_adopted(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet")
    with pytest.raises(RepositoryError, match="it holds 1 ApplicationSet, 1 Placement"):
        adopt(root, *adoption.case("go-template"), names=())


def test_a_repository_with_errors_adopts_nothing(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet", platform={"namespaces": 3})
    with pytest.raises(RepositoryError, match="so nothing can be adopted"):
        adopt(root, *adoption.case("go-template"))


def score(resource: str, cluster: str, *names: str, **labels: str) -> dict[str, Any]:
    """A score that is on the hub."""
    metadata = {"name": resource, "namespace": cluster, "labels": labels}
    scores = [{"name": name, "value": 7} for name in names]
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": metadata,
        "status": {"scores": scores},
    }


def declared(root: Path) -> Any:
    """What the settings declare."""
    settings = yamlfast.load((root / "gitops-dsf.yaml").read_text("utf-8"))
    return settings["spec"].get("externalScores")


USAGE = "resource-usage-score/cpuAvailable"
PREFERENCE = tuple(
    score("site-preference", cluster, "preference", "other") for cluster in adoption.CLUSTERS
)


def test_a_score_that_nobody_publishes_is_not_declared(tmp_path: Path) -> None:
    """Declared, a misspelt name would never be found."""
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    misspelt = score("site-preference", "cluster1", "preferred")
    planned = adopt(root, *adoption.case("failover-by-score"), misspelt)
    found = forms(planned)
    assert found["chat-placement"].startswith("DSF")
    assert (
        "spec.externalScores of gitops-dsf.yaml has no site-preference/preference"
        in (found["chat-placement"])
    )
    assert check(root).fleet is not None
    assert declared(root) == []
    assert planned.undeclared == ["site-preference/preference"]


def test_a_score_of_another_add_on_is_declared(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    usage = score("resource-usage-score", "cluster2", "memAvailable", "cpuAvailable")
    running = [*adoption.case("failover-by-score"), *adoption.case("resource-usage-score")]
    planned = adopt(root, *running, *PREFERENCE, usage)
    assert forms(planned) == EXPECTED["failover-by-score"] | EXPECTED["resource-usage-score"]
    # Of these alone is known that they rank. No range: what is published now does not bound it.
    assert declared(root) == [
        {"resource": "resource-usage-score", "names": ["cpuAvailable"]},
        {"resource": "site-preference", "names": ["preference"]},
    ]
    assert [(line.kind, line.name, line.file, line.changes) for line in planned.changed] == [
        (
            "FleetRepository",
            "fleet",
            "gitops-dsf.yaml",
            (
                f"spec.externalScores declares {USAGE}, which 1 cluster has",
                "spec.externalScores declares site-preference/preference, which 2 clusters have",
            ),
        )
    ]
    assert planned.undeclared == []
    codes = {finding.code for finding in check(root).diagnostics}
    assert not codes & {"DSF214", "DSF323", "DSF377"}
    again = adopt(root, *running, *PREFERENCE, usage)
    assert (again.files, again.changed) == ({}, [])


def test_a_score_is_declared_for_a_placement_that_stays_as_it_is(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    [_, application_set] = adoption.case("by-claims")
    [ranked, _] = adoption.case("failover-by-score")
    [claims, _] = adoption.case("by-claims")
    claims["spec"]["prioritizerPolicy"] = ranked["spec"]["prioritizerPolicy"]
    planned = adopt(root, claims, application_set, *PREFERENCE)
    assert forms(planned) == EXPECTED["by-claims"]
    assert declared(root) == [{"resource": "site-preference", "names": ["preference"]}]
    assert "DSF323" not in {finding.code for finding in check(root).diagnostics}


def test_a_score_is_not_declared_for_a_placement_that_is_left(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    [placement, application_set] = adoption.case("project-by-cluster")
    [ranked, _] = adoption.case("failover-by-score")
    placement["spec"]["prioritizerPolicy"] = ranked["spec"]["prioritizerPolicy"]
    planned = adopt(root, placement, application_set, *PREFERENCE)
    assert forms(planned) == EXPECTED["project-by-cluster"]
    assert (declared(root), planned.changed, planned.undeclared) == ([], [], [])


def test_what_is_declared_stays_as_people_wrote_it(tmp_path: Path) -> None:
    entry = {"resource": "site-preference", "names": ["other"], "range": {"min": 0, "max": 10}}
    root = adoption.fleet(tmp_path / "fleet", externalScores=[entry])
    file = root / "gitops-dsf.yaml"
    file.write_text(f"# Ours.\n{file.read_text('utf-8')}", "utf-8")
    adopt(root, *adoption.case("failover-by-score"), *PREFERENCE)
    # The range of `other` says nothing about `preference`.
    assert declared(root) == [entry, {"resource": "site-preference", "names": ["preference"]}]
    assert file.read_text("utf-8").startswith("# Ours.\n")


def test_scores_of_our_agents_are_not_those_of_another_add_on(tmp_path: Path) -> None:
    """A scorer that git lacks publishes it. Imported, it would be there twice."""
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    ours = score(
        "site-preference",
        "cluster1",
        "preference",
        **{"app.kubernetes.io/managed-by": "gitops-dsf-agent"},
    )
    planned = adopt(root, *adoption.case("failover-by-score"), ours)
    assert declared(root) == []
    assert planned.undeclared == ["site-preference/preference"]


def test_a_scorers_score_is_not_declared(tmp_path: Path) -> None:
    root = adoption.fleet(tmp_path / "fleet", externalScores=[])
    planned = adopt(root, *adoption.case("go-template"), score("cpu", "cluster1", "cpu"))
    assert (declared(root), planned.changed, planned.undeclared) == ([], [], [])


def test_a_placement_without_prioritizers_ranks_as_ocm_does(tmp_path: Path) -> None:
    """OCM's mode Additive adds Balance and Steady, each with weight 1."""
    planned = adopt(adoption.fleet(tmp_path / "fleet"), *adoption.case("acm-wizard-git"))
    written = yamlfast.load((planned.root / "apps/orders-placement.yaml").read_text("utf-8"))
    assert written["spec"]["scores"] == [{"builtIn": "Balance"}]
    assert written["spec"]["stickiness"] == 100
    [rendered] = [
        item for item in objects(produce(planned.root)).values() if item["kind"] == "Placement"
    ]
    assert rendered["spec"]["prioritizerPolicy"] == {
        "mode": "Exact",
        "configurations": [
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"}, "weight": 1},
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 1},
        ],
    }


def test_a_prioritizer_that_ocm_does_not_know(tmp_path: Path) -> None:
    [placement, application_set] = adoption.case("go-template")
    policy = placement["spec"]["prioritizerPolicy"]["configurations"]
    policy[0] = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Spread"}, "weight": 5}
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set))
    assert found["storage-placement"] == (
        "left: DSF321 spec.prioritizerPolicy.configurations[0].scoreCoordinate.builtIn must be one"
        " of Balance, ResourceAllocatableCPU, ResourceAllocatableMemory, Steady"
    )


def test_weights_that_no_stickiness_gives(tmp_path: Path) -> None:
    [placement, application_set] = adoption.case("go-template")
    policy = placement["spec"]["prioritizerPolicy"]["configurations"]
    policy[0]["weight"] = 3
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set))
    assert found["storage-placement"] == (
        "its weights hold a decision by 33.3333 points, which no stickiness gives"
    )


def test_a_score_that_is_listed_twice_counts_twice(tmp_path: Path) -> None:
    """OCM 1.2.1 keeps both entries of an add-on score, and of a built-in one the last."""
    [placement, application_set] = adoption.case("go-template")
    policy = placement["spec"]["prioritizerPolicy"]
    score, steady = policy["configurations"]
    load = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"}, "weight": 2}
    policy["configurations"] = [score, {**score, "weight": 2}, {**steady, "weight": 9}, load]
    policy["configurations"] += [{**steady, "weight": 2}]
    score["weight"] = 6
    planned = adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set)
    assert forms(planned)["storage-placement"] == "ScoredPlacement"
    written = yamlfast.load((planned.root / "apps/storage-placement.yaml").read_text("utf-8"))
    assert written["spec"]["scores"] == [
        {"scorer": "cpu", "weight": 4},
        {"builtIn": "Balance"},
    ]
    assert written["spec"]["stickiness"] == 20


def test_a_score_whose_weights_cancel_each_other_out(tmp_path: Path) -> None:
    [placement, application_set] = adoption.case("go-template")
    policy = placement["spec"]["prioritizerPolicy"]
    score, steady = policy["configurations"]
    policy["configurations"] = [score, {**score, "weight": -5}, steady]
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set))
    # As it is, `validate` refuses it.
    assert found["storage-placement"] == (
        "left: DSF308 cpu/cpu is listed twice; the weights add up"
    )


def test_a_mode_that_ocm_does_not_know(tmp_path: Path) -> None:
    """OCM decides nothing then."""
    [placement, application_set] = adoption.case("go-template")
    placement["spec"]["prioritizerPolicy"]["mode"] = "exact"
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set))
    assert found["storage-placement"].startswith("left: DSF")
    assert "mode" in found["storage-placement"]


def test_another_namespace_than_argo_cds(tmp_path: Path) -> None:
    objects_of_hub = adoption.case("go-template", namespace="elsewhere")
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), *objects_of_hub))
    assert found["storage"] == (
        "left: it is in the namespace elsewhere, and spec.argocd.namespace of gitops-dsf.yaml is"
        " openshift-gitops"
    )


def test_a_placement_that_is_not_in_the_input(tmp_path: Path) -> None:
    [_, application_set] = adoption.case("go-template")
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), application_set))
    assert found == {
        "storage": "left: the Placement storage-placement, which it follows, is not in the input"
    }


@pytest.mark.parametrize("policy", ["create-only", "create-delete"])
def test_a_policy_that_no_strategy_has(tmp_path: Path, policy: str) -> None:
    [placement, application_set] = adoption.case("go-template")
    application_set["spec"]["syncPolicy"] = {"applicationsSync": policy}
    found = forms(adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set))
    assert found["storage"] == f"its syncPolicy.applicationsSync is {policy}"


def test_who_applies_it_today_is_said(tmp_path: Path) -> None:
    """Two Applications of Argo CD that apply one object undo what the other does."""
    [placement, application_set] = adoption.case("go-template")
    application_set["metadata"]["annotations"] = {
        "argocd.argoproj.io/tracking-id": "platform:argoproj.io/ApplicationSet:x/storage",
        "example.com/owner": "storage team",
    }
    planned = adopt(adoption.fleet(tmp_path / "fleet"), placement, application_set)
    [line] = planned.applied_elsewhere
    assert (line.name, line.changes) == ("storage", ("platform",))
    written = yamlfast.load((planned.root / "apps/storage.yaml").read_text("utf-8"))
    assert written["metadata"]["annotations"] == {"example.com/owner": "storage team"}


def test_what_was_carried_is_adopted_once_its_placement_can_be_expressed(tmp_path: Path) -> None:
    """As docs/start/adopt.md describes it. Our own Application applies what it carried."""
    root = adoption.fleet(tmp_path / "fleet")
    placement, application_set = adoption.case("by-claims")
    adopt(root, placement, application_set)
    for item in (placement, application_set):
        annotations = item["metadata"].setdefault("annotations", {})
        annotations[SYNC_WAVE] = "6"
        annotations[TRACKING_ANNOTATION] = "gitops-dsf-delivery:x/y:z/w"
    required = {"labelSelector": {"matchLabels": {"env": "prod"}}}
    placement["spec"]["predicates"] = [{"requiredClusterSelector": required}]
    for file in ("region.yaml", "region-placement.yaml"):
        (root / "apps" / file).unlink()
    planned = adopt(root, placement, application_set)
    assert forms(planned) == {"region": SCORED, "region-placement": "ScoredPlacement"}
    assert planned.applied_elsewhere == []


def test_a_pace_of_the_fleet_leaves_the_placement_as_it_is(tmp_path: Path) -> None:
    """A paced Placement has other weights, and could decide otherwise."""
    pace = {"settleSeconds": 600}
    root = adoption.fleet(tmp_path / "fleet", pace=pace)
    [placement, application_set] = adoption.case("destination-by-name")
    planned = adopt(root, placement, application_set)
    assert forms(planned) == {"search": "ScoredApplication"}
    rendered = [item for item in objects(produce(root)).values() if item["kind"] == "Placement"]
    assert rendered[0]["spec"]["prioritizerPolicy"] == placement["spec"]["prioritizerPolicy"]
