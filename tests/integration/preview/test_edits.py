"""What `diff` says of edits and of foreign files in rendered/, and which effects it refuses."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.cli.main import main
from gitops_dsf.hub.names import PLACEMENT_LABEL
from tests.integration.preview.gitfleet import GitFleet, Run, application, save, scorer, snapshot


def edit(fleet: GitFleet, name: str, **spec: Any) -> None:
    """Changes fields of an application."""
    file = f"apps/{name}.yaml"
    [item] = yaml.safe_load_all((fleet.path / file).read_text(encoding="utf-8"))
    fleet.write(file, {**item, "spec": {**item["spec"], **spec}})


@pytest.fixture
def fleet(fleet: GitFleet) -> GitFleet:
    """The application has a stickiness of 20."""
    edit(fleet, "guestbook", stickiness=20)
    fleet.commit("calm")
    return fleet


def test_the_edited_field_comes_before_what_is_rendered(fleet: GitFleet, run: Run) -> None:
    edit(fleet, "guestbook", stickiness=10)
    formats = run.formats(fleet)
    text, comment = formats.text, formats.comment
    written = "ScoredApplication **`guestbook`** changed\n\n- `spec.stickiness`: `20` → `10`\n"
    assert written in text
    assert text.index(written) < text.index("Placement **`argocd/guestbook`** changed")
    assert "<details><summary>Applications and placements as written (1)</summary>" in comment
    assert "- `spec.stickiness`: `20` → `10`" in comment


def test_a_score_is_named_by_its_scorer(fleet: GitFleet, run: Run) -> None:
    edit(fleet, "guestbook", scores=[{"scorer": "cpu", "weight": 2}])
    assert "- `spec.scores[cpu].weight`: `1` → `2`\n" in run.shown(fleet)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({}, {"dimension": "cpu"}, ".dimension`: `(absent)` → `cpu`"),
        ({"dimension": "cpu"}, {}, ".dimension`: `cpu` → `(absent)`"),
        (None, {"dimension": "cpu"}, "`: added, weight 1"),
        ({"dimension": "cpu"}, None, "`: removed, weight 1"),
    ],
)
def test_a_score_that_stays_is_not_added_with_a_field(
    fleet: GitFleet,
    run: Run,
    before: dict[str, str] | None,
    after: dict[str, str] | None,
    shown: str,
) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    net: list[dict[str, Any]] = [{"scorer": "net"}]
    edit(fleet, "guestbook", scores=net if before is None else [*net, {"scorer": "cpu", **before}])
    fleet.commit("before")
    edit(fleet, "guestbook", scores=net if after is None else [*net, {"scorer": "cpu", **after}])
    assert f"changed\n\n- `spec.scores[cpu]{shown}\n" in run.shown(fleet)


def test_a_prioritizer_that_stays_is_not_added_with_its_weight(fleet: GitFleet, run: Run) -> None:
    coordinate = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"}}
    policy: dict[str, Any] = {"mode": "Exact", "configurations": [coordinate]}
    placement = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "by-hand"},
        "spec": {"prioritizerPolicy": policy},
    }
    fleet.write("apps/by-hand.yaml", placement)
    fleet.commit("before")
    policy["configurations"] = [{**coordinate, "weight": 3}]
    fleet.write("apps/by-hand.yaml", placement)
    path = "spec.prioritizerPolicy.configurations[Balance].weight"
    assert f"changed\n\n- `{path}`: `(absent)` → `3`\n" in run.shown(fleet)


def test_equal_edits_of_many_applications_are_one(fleet: GitFleet, run: Run) -> None:
    names = [f"app-{number:02}" for number in range(30)]
    for name in names:
        fleet.write(f"apps/{name}.yaml", application(name, stickiness=20))
    fleet.commit("more")
    for name in names:
        edit(fleet, name, stickiness=10)
    edit(fleet, "guestbook", stickiness=50)
    formats = run.formats(fleet)
    text = formats.text
    listed = ", ".join(f"**`{name}`**" for name in names[:10])
    edited = f"ScoredApplication {listed} and 20 more changed"
    assert f"{edited}\n\n- `spec.stickiness`: `20` → `10`\n" in text
    assert "ScoredApplication **`guestbook`** changed\n\n- `spec.stickiness`: `20` → `50`\n" in text
    assert text.count("ScoredApplication") == 2
    assert text.count("\nPlacement ") == 2
    found = formats.comparison
    alike = [(len(item["names"]), item["change"]) for item in found["sources"]]
    assert alike == [(30, "changed"), (1, "changed")]
    assert len(found["placements"]) == 31, "JSON has every Placement"


@pytest.mark.parametrize(
    ("effect", "reason"),
    [
        ("move", "1 decision would or may move: argocd/guestbook"),
        ("eviction", None),
        ("rescore", None),
    ],
)
def test_a_move_can_be_refused(
    fleet: GitFleet, tmp_path: Path, run: Run, effect: str, reason: str | None
) -> None:
    hub = save(snapshot(values={"eu-1": 60, "eu-2": 75, "us-1": 20}), tmp_path / "hub")
    edit(fleet, "guestbook", stickiness=10)
    arguments = ("diff", fleet.path, "--base", "main", "--scores", hub, "--fail-on", effect)
    run(*arguments, code=0 if reason is None else 1)
    assert run.err == ("" if reason is None else f"--fail-on: {reason}\n")


def test_an_eviction_can_be_refused(fleet: GitFleet, scores: Path, run: Run) -> None:
    edit(fleet, "guestbook", placement={"numberOfClusters": 1, "clusterSets": ["default"]})
    fleet.allow_unmatched_selectors()
    run("diff", fleet.path, "--base", "main", "--scores", scores, "--fail-on", "eviction", code=1)
    assert "1 decision would or may lose a cluster without another: argocd/guestbook" in run.err


def test_new_scores_can_be_refused(fleet: GitFleet, run: Run) -> None:
    item = scorer("cpu")
    item["spec"]["scoreRange"] = {"min": 0, "max": 50}
    fleet.write("scorers/cpu.yaml", item)
    run("diff", fleet.path, "--base", "main", "--fail-on", "rescore", code=1)
    assert run.err == "--fail-on: scores of 3 clusters would change: cpu\n"


def test_what_is_not_known_is_refused(fleet: GitFleet, run: Run) -> None:
    edit(fleet, "guestbook", stickiness=10)
    run("diff", fleet.path, "--base", "main", "--fail-on", "move", code=1)
    assert "--fail-on: which applications move is unknown: no scores given" in run.err
    run.shown(fleet, "--fail-on", "rescore")


FOLLOWER = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "ApplicationSet",
    "metadata": {"name": "by-hand"},
    "spec": {
        "generators": [
            {
                "clusterDecisionResource": {
                    "configMapRef": "gitops-dsf-placement-decisions",
                    "labelSelector": {"matchLabels": {PLACEMENT_LABEL: "guestbook"}},
                }
            }
        ],
        "template": {
            "metadata": {"name": "by-hand-{{name}}"},
            "spec": {
                "project": "team",
                "source": {"repoURL": "https://git.example.com/a.git", "path": "."},
                "destination": {"name": "{{name}}", "namespace": "by-hand"},
            },
        },
        "syncPolicy": {"applicationsSync": "create-update"},
    },
}
SHARED = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "ScoredPlacement",
    "metadata": {"name": "shared"},
    "spec": {"scores": [{"scorer": "cpu"}], "placement": {"numberOfClusters": 1}},
}
BINDING = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta2",
    "kind": "ManagedClusterSetBinding",
    "metadata": {"name": "default"},
    "spec": {"clusterSet": "default"},
}


@pytest.mark.parametrize(
    ("file", "item", "name"),
    [
        ("apps/guestbook.yaml", application("guestbook"), "ScoredApplication **`guestbook`**"),
        ("apps/by-hand.yaml", FOLLOWER, "ApplicationSet **`argocd/by-hand`**"),
        ("apps/shared.yaml", SHARED, "ScoredPlacement **`argocd/shared`**"),
        ("apps/binding.yaml", BINDING, "ManagedClusterSetBinding **`argocd/default`**"),
        ("scorers/cpu.yaml", scorer("cpu"), "**`cpu`**"),
    ],
)
def test_changed_labels_and_annotations_are_shown(
    fleet: GitFleet, run: Run, file: str, item: dict[str, Any], name: str
) -> None:
    """Other programs may obey them, and nothing else about the object says so."""

    def noted(value: str) -> dict[str, Any]:
        notes = {
            "annotations": {"example.com/owner": value, "example.com/same": "a"},
            "labels": {"tier": value},
        }
        return {**item, "metadata": {**item["metadata"], **notes}}

    fleet.write(file, noted("one"))
    fleet.commit("noted")
    fleet.write(file, noted("two"))
    formats = run.formats(fleet)
    text = formats.text
    begin = text.index(f"{name} changed\n")
    assert text[begin:].startswith(
        f"{name} changed\n\n- `metadata.annotations.example.com/owner`: `one` → `two`\n"
        "- `metadata.labels.tier`: `one` → `two`\n"
    )
    assert "- `metadata.annotations.example.com/owner`: `one` → `two`" in formats.comment
    changed = [
        (field["path"], field["before"], field["after"])
        for group in ("sources", "scorers")
        for change in formats.comparison[group]
        for field in change["fields"]
    ]
    assert changed == [
        ("metadata.annotations.example.com/owner", "one", "two"),
        ("metadata.labels.tier", "one", "two"),
    ]


def test_a_binding_that_comes_is_told_once(fleet: GitFleet, run: Run) -> None:
    fleet.write("apps/binding.yaml", BINDING)
    text = run.shown(fleet)
    assert text.count("ManagedClusterSetBinding") == 1, text


ADMIN = "rendered/platform/admin.yaml"


@pytest.fixture
def attacked(fleet: GitFleet) -> GitFleet:
    """The base is rendered; the change adds a ClusterRoleBinding, also to INVENTORY."""
    assert main(["render", str(fleet.path)]) == 0
    fleet.commit("rendered")
    fleet.git("checkout", "--quiet", "-b", "change")
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    fleet.write(ADMIN, {**kind, "metadata": {"name": "admin"}})
    with (fleet.path / "rendered/INVENTORY").open("a") as inventory:
        inventory.write("platform/admin.yaml\n")
    return fleet


@pytest.mark.parametrize("head", [[], ["--head", "change"]])
def test_a_foreign_file_comes_first(attacked: GitFleet, run: Run, head: list[str]) -> None:
    attacked.commit("add an administrator")
    formats = run.formats(attacked, *head)
    text, markdown = formats.text, formats.comment
    told = (
        "**Foreign files**: 1 file that no source produces; Argo CD would apply what is in"
        " rendered/,"
    )
    assert text.splitlines()[2:5] == [f"{told} so remove them before merging", "", f"- `{ADMIN}`"]
    found = run.json("diff", attacked.path, "--base", "main", *head, "--exit-code", code=1)
    assert found["foreignFiles"] == ["platform/admin.yaml"]
    assert markdown.index(ADMIN) < markdown.index("<summary>Objects and clusters")


def test_a_tree_that_is_not_rendered_yet_is_not_foreign(fleet: GitFleet, run: Run) -> None:
    assert main(["render", str(fleet.path)]) == 0
    fleet.commit("rendered")
    fleet.write("scorers/cpu.yaml", scorer("load"))
    fleet.remove("apps/guestbook.yaml")
    assert "Foreign" not in run.shown(fleet)
