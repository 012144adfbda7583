"""The AppProjects.

They allow what is rendered, and nothing else, matched as Argo CD matches (app_project_types.go,
types.go).
"""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.views.preview.applied import applied
from tests.support.rendering import application, objects, on_hub, placement, rendered, scorer

Object = dict[str, Any]
EVERYTHING = {"monitoring": {"serviceMonitor": True, "rules": True, "dashboard": True}}


def allows(project: Object, item: Object) -> bool:
    spec, meta = project["spec"], item["metadata"]
    group, kind, namespace = (
        item["apiVersion"].rpartition("/")[0],
        item["kind"],
        meta.get("namespace"),
    )
    if namespace is None:
        return any(
            (entry["group"], entry["kind"]) == (group, kind)
            and fnmatchcase(meta["name"], entry["name"])
            for entry in spec["clusterResourceWhitelist"]
        )
    if {"group": group, "kind": kind} not in spec["namespaceResourceWhitelist"]:
        return False
    patterns = [entry["namespace"] for entry in spec["destinations"]]
    denied = any(
        fnmatchcase(namespace, pattern[1:]) for pattern in patterns if pattern.startswith("!")
    )
    return not denied and any(
        fnmatchcase(namespace, pattern) for pattern in patterns if not pattern.startswith("!")
    )


class Tree:
    def __init__(self, root: Path, **settings: Any) -> None:
        training = placement("training", namespace="kueue-system")
        documents = [scorer("cpu"), application("web"), training]
        if settings.get("delivery", {}).get("mode") != "UpstreamController":
            documents.append(on_hub("headroom"))
        self.files = objects(rendered(root, *documents, **settings))
        self.projects = {
            item["metadata"]["name"]: item
            for item in self.files.values()
            if item["kind"] == "AppProject"
        }

    def applied(self) -> Iterator[tuple[Object, Object]]:
        """Every object that Argo CD applies, with the project of its Application."""
        of = {
            item["spec"]["source"]["path"].rpartition("/")[2]: self.projects[
                item["spec"]["project"]
            ]
            for item in self.files.values()
            if item["kind"] == "Application"
        }
        for path, item in self.files.items():
            directory = path.partition("/")[0]
            if directory != "argocd":
                yield of[directory], item


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path, reconciler=EVERYTHING)


@pytest.mark.parametrize(
    "delivery", [{}, {"crds": "Existing"}, {"mode": "UpstreamController"}], ids=str
)
def test_everything_that_is_rendered_is_allowed(tmp_path: Path, delivery: Object) -> None:
    tree = Tree(tmp_path, reconciler=EVERYTHING, delivery=delivery)
    assert [
        item["metadata"]["name"] for project, item in tree.applied() if not allows(project, item)
    ] == []


@pytest.mark.parametrize(
    ("delivery", "count"),
    [({}, 2), ({"crds": "Existing"}, 0), ({"mode": "UpstreamController"}, 0)],
    ids=str,
)
def test_the_crds_are_allowed_where_they_are_rendered(
    tmp_path: Path, delivery: Object, count: int
) -> None:
    """Those of another program stay as they are, also after an earlier render of ours."""
    project = Tree(tmp_path, delivery=delivery).projects["gitops-dsf"]
    allowed = [
        entry["name"]
        for entry in project["spec"]["clusterResourceWhitelist"]
        if entry["kind"] == "CustomResourceDefinition"
    ]
    assert len(allowed) == count


def test_no_kind_and_no_name_is_allowed_that_is_not_rendered(tree: Tree) -> None:
    applied = list(tree.applied())
    for name, project in tree.projects.items():
        ours = [item for owner, item in applied if owner is project]
        kinds = {
            (item["apiVersion"].rpartition("/")[0], item["kind"])
            for item in ours
            if "namespace" in item["metadata"]
        }
        allowed = {
            (entry["group"], entry["kind"])
            for entry in project["spec"]["namespaceResourceWhitelist"]
        }
        # delivery.mode UpstreamController renders the DynamicScoringConfig itself.
        assert allowed - kinds <= {
            ("dynamic-scoring.open-cluster-management.io", "DynamicScoringConfig")
        }, name
        for entry in project["spec"]["clusterResourceWhitelist"]:
            assert any(
                item["kind"] == entry["kind"]
                and fnmatchcase(item["metadata"]["name"], entry["name"])
                for item in ours
            ), f"{name} allows {entry}"


@pytest.mark.parametrize(
    ("api", "kind", "metadata"),
    [
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {"name": "admin"}),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", {"name": "gitops-dsf:other"}),
        ("v1", "Namespace", {"name": "other"}),
        ("v1", "Secret", {"name": "x", "namespace": "argocd"}),
        ("argoproj.io/v1alpha1", "AppProject", {"name": "x", "namespace": "argocd"}),
        ("argoproj.io/v1alpha1", "Application", {"name": "x", "namespace": "argocd"}),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", {"name": "x", "namespace": "kube-system"}),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", {"name": "x", "namespace": "default"}),
        ("apps/v1", "Deployment", {"name": "x", "namespace": "c0"}),
        (
            "work.open-cluster-management.io/v1",
            "ManifestWork",
            {"name": "x", "namespace": "open-cluster-management-hub"},
        ),
    ],
)
def test_a_file_that_somebody_adds_is_allowed_nowhere(
    tree: Tree, api: str, kind: str, metadata: Object
) -> None:
    item = {"apiVersion": api, "kind": kind, "metadata": metadata}
    assert not [name for name, project in tree.projects.items() if allows(project, item)]


def test_a_work_may_not_bring_rights_into_the_namespaces_of_the_hub(tree: Tree) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "x"},
    }
    works = tree.projects["gitops-dsf-works"]
    for namespace, allowed in (("c0", True), ("argocd", False), ("gitops-dsf", False)):
        assert (
            allows(works, {**binding, "metadata": {"name": "x", "namespace": namespace}}) is allowed
        )


@pytest.mark.parametrize("mode", ["ManifestWork", "UpstreamController"])
def test_the_paths_of_a_tree_are_known_without_rendering_it(tmp_path: Path, mode: str) -> None:
    result = rendered(
        tmp_path, scorer("cpu"), application("web"), delivery={"mode": mode}, output={"shards": 3}
    )
    assert result.fleet is not None
    assert result.tree is not None
    assert applied(result.fleet).paths == result.tree.files.keys()


def test_the_projects_take_applications_of_argocds_namespace_only(tree: Tree) -> None:
    assert {
        name: project["spec"]["sourceNamespaces"] for name, project in tree.projects.items()
    } == {
        "gitops-dsf": ["argocd"],
        "gitops-dsf-works": ["argocd"],
    }


def test_the_policy_knows_every_application_and_no_other(tmp_path: Path) -> None:
    """What it refuses is tested on a real API server, in tests/hub/test_platform_projects.py."""
    git = {
        "url": "https://git.example.com/fleet.git",
        "targetRevision": "live",
        "path": "fleets/eu",
    }
    tree = Tree(
        tmp_path, reconciler=EVERYTHING, git=git, output={"shards": 2}, argocd={"project": "fleet"}
    )
    policy = tree.files["argocd/validatingadmissionpolicy.gitops-dsf-applications.yaml"]["spec"]
    paths = {variable["name"]: variable["expression"] for variable in policy["variables"]}["path"]
    assert json.loads(paths.partition("[?")[0]) == {
        "gitops-dsf-platform": "fleets/eu/rendered/platform",
        "gitops-dsf-works-00": "fleets/eu/rendered/works-00",
        "gitops-dsf-works-01": "fleets/eu/rendered/works-01",
        "gitops-dsf-delivery": "fleets/eu/rendered/delivery",
        "gitops-dsf-reconciler": "fleets/eu/rendered/reconciler",
    }
    conditions = {item["name"]: item["expression"] for item in policy["matchConditions"]}
    assert conditions["of-the-platform"].startswith(
        'object.spec.?project.orValue("") in ["fleet","fleet-works"] ||'
    )
    names = conditions["of-the-platform"].partition(" || ")[2].partition(" in ")[2]
    assert set(json.loads(names)) == set(json.loads(paths.partition("[?")[0]))
    [_, ours] = policy["validations"]
    for value in ('"https://git.example.com/fleet.git"', '"live"'):
        assert f'orValue("") == {value}' in ours["expression"]
    binding = tree.files["argocd/validatingadmissionpolicybinding.gitops-dsf-applications.yaml"][
        "spec"
    ]
    assert binding == {"policyName": "gitops-dsf-applications", "validationActions": ["Deny"]}
