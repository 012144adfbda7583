"""What the reconciler may do with MultiKueueConfigs on a real API server.

Write those that ScoredPlacements name, if they are its own, and of them only the list of clusters.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from gitops_dsf.plan.fleet import MultiKueueUse
from gitops_dsf.render.reconciler import reconciler
from gitops_dsf.repository.model.repository import FleetRepository
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import CRD, remove_kinds, wait_for, wait_until_served
from tests.hub.scenario.installation import wait_for_policies

pytestmark = [pytest.mark.family("kubernetes")]

NAME = "gitops-dsf-reconciler"
HUB = "multikueue-rights"
CONFIG = "kueue.x-k8s.io/v1beta2/MultiKueueConfig"
OURS = {"labels": {"app.kubernetes.io/managed-by": NAME}}
NEEDED = ("ServiceAccount", "ClusterRole", "ValidatingAdmissionPolicy")
KIND_SPEC = {
    "group": "kueue.x-k8s.io",
    "scope": "Cluster",
    "names": {"kind": "MultiKueueConfig", "plural": "multikueueconfigs"},
    "versions": [
        {
            "name": "v1beta2",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                    },
                }
            },
        }
    ],
}
KIND = manifest(CRD, "multikueueconfigs.kueue.x-k8s.io", spec=KIND_SPEC)
"""The kind without Kueue's rules about it, so that only ours can refuse."""


@dataclass(kw_only=True)
class Guarded:
    hub: Client
    account: Client

    def config(self, name: str, **meta: object) -> Object:
        """Made by an administrator."""
        return self.hub.create(config(name, **meta))

    def replace(self, item: Object) -> Object:
        """Written by the reconciler's account, at the version that was read."""
        path = self.account.path(CONFIG, item["metadata"]["name"])
        return self.account.request("PUT", path, body=item)


def config(name: str, **meta: object) -> Object:
    spec = {"clusters": ["cluster1", "cluster2"]}
    return manifest(CONFIG, name, meta=dict(meta), spec=spec)


@pytest.fixture(scope="module")
def guarded(control_plane: ControlPlane, hub: Client) -> Iterator[Guarded]:
    spec = {"git": {"url": "https://git.example.com/fleet.git"}, "hubNamespace": HUB}
    repository = FleetRepository.model_validate({"metadata": {"name": "jobs"}, "spec": spec})
    use = MultiKueueUse(configs=("gpu-jobs", "other-jobs"), namespaces=("kueue-system",))
    with ExitStack() as stack:
        hub.apply(KIND)
        stack.callback(remove_kinds, hub, [KIND["metadata"]["name"]])
        objects = [manifest("v1/Namespace", HUB)]
        objects += [
            item
            for item in reconciler(repository, multi_kueue=use)
            if item["kind"].startswith(NEEDED)
        ]
        for item in objects:
            hub.apply(item)
            meta = item["metadata"]
            kind = f"{item['apiVersion']}/{item['kind']}"
            stack.callback(hub.delete, kind, meta["name"], namespace=meta.get("namespace"))
        wait_until_served(hub, [KIND])
        server = control_plane.hub
        account = stack.enter_context(Client(server.service_account_kubeconfig(HUB, NAME)))
        right = ("kueue.x-k8s.io/multikueueconfigs", "update", "gpu-jobs")
        wait_for(lambda: right in account.granted(HUB), what="its rights")
        wait_for_policies(hub)
        yield Guarded(hub=hub, account=account)


@pytest.fixture(autouse=True)
def _leave_nothing(guarded: Guarded) -> Iterator[None]:
    yield
    for item in guarded.hub.list(CONFIG):
        guarded.hub.delete(CONFIG, item["metadata"]["name"])


def test_it_holds_what_the_list_says(guarded: Guarded) -> None:
    """To write MultiKueueConfigs by name, and to read the rest."""
    rights = {held for held in guarded.account.granted(HUB) if held[0].startswith("kueue.x-k8s.io")}
    assert rights == {
        ("kueue.x-k8s.io/multikueueconfigs", "create", ""),
        *(
            ("kueue.x-k8s.io/multikueueconfigs", verb, name)
            for verb in ("get", "update")
            for name in ("gpu-jobs", "other-jobs")
        ),
        *(
            (f"kueue.x-k8s.io/{resource}", verb, "")
            for resource in ("multikueueclusters", "admissionchecks", "workloads")
            for verb in ("list", "watch")
        ),
    }


def test_it_keeps_its_own_config(guarded: Guarded) -> None:
    """It creates one, orders it, and remembers when, beside the annotations of others."""
    made = guarded.account.create(config("gpu-jobs", **OURS))
    annotations = {"gitops-dsf.io/ordered-at": "2026-11-29T12:00:00Z"}
    made["metadata"]["annotations"] = annotations
    made["spec"]["clusters"] = ["cluster2", "cluster1"]
    guarded.replace(made)
    note = {"metadata": {"annotations": {"example.com/note": "kept"}}}
    noted = guarded.hub.patch(CONFIG, "gpu-jobs", note)
    noted["metadata"]["annotations"]["gitops-dsf.io/ordered-at"] = "2026-11-29T12:01:00Z"
    noted["spec"]["clusters"] = ["cluster1", "cluster2", "cluster3"]
    answer = guarded.replace(noted)
    assert answer["spec"]["clusters"] == ["cluster1", "cluster2", "cluster3"]
    assert answer["metadata"]["annotations"]["example.com/note"] == "kept"


@pytest.mark.parametrize(
    ("name", "meta", "said"),
    [
        (
            "elsewhere",
            OURS,
            "may write the MultiKueueConfigs gpu-jobs, other-jobs and no others",
        ),
        ("gpu-jobs", {}, "with the label app.kubernetes.io/managed-by=gitops-dsf-reconciler"),
        (
            "gpu-jobs",
            {"labels": {**OURS["labels"], "more": "x"}},
            r"spec.clusters and annotations gitops-dsf.io/\*",
        ),
        ("gpu-jobs", {**OURS, "finalizers": ["example.com/x"]}, "and nothing else"),
        ("gpu-jobs", {**OURS, "annotations": {"example.com/x": "y"}}, "and nothing else"),
    ],
    ids=["another name", "no label", "another label", "finalizer", "annotation"],
)
def test_it_creates_nothing_else(guarded: Guarded, name: str, meta: Object, said: str) -> None:
    """RBAC cannot bind a right to create to a name, so the policy does."""
    with pytest.raises(ApiError, match=f"403 Forbidden.*{said}"):
        guarded.account.create(config(name, **meta))
    assert guarded.hub.find(CONFIG, name) is None


CHANGES: dict[str, Object] = {
    "another field of spec": {"spec": {"clusters": ["cluster1"], "more": "x"}},
    "label": {"metadata": {"labels": {"team": "a"}}},
    "our label taken off": {"metadata": {"labels": {}}},
    "annotation of others": {"metadata": {"annotations": {"example.com/note": "x"}}},
    "annotation of others taken off": {"metadata": {"annotations": {}}},
    "finalizer": {"metadata": {"finalizers": ["example.com/kept"]}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_changes_only_the_clusters_of_its_own(guarded: Guarded, change: str) -> None:
    live = guarded.config("gpu-jobs", **OURS, annotations={"example.com/note": "kept"})
    changed = {**live, "metadata": {**live["metadata"], **CHANGES[change].get("metadata", {})}}
    changed["spec"] = CHANGES[change].get("spec", live["spec"])
    with pytest.raises(ApiError, match=r"403 Forbidden.*MultiKueueConfig"):
        guarded.replace(changed)
    assert guarded.hub.get(CONFIG, "gpu-jobs")["metadata"]["uid"] == live["metadata"]["uid"]


def test_it_takes_over_no_config_of_others(guarded: Guarded) -> None:
    """Neither by its clusters, nor by writing our label first; nor does it delete one."""
    live = guarded.config("gpu-jobs", labels={"app.kubernetes.io/managed-by": "helm"})
    said = "with the label app.kubernetes.io/managed-by=gitops-dsf-reconciler and no others"
    for changed in (
        {**live, "spec": {"clusters": ["cluster2"]}},
        {**live, "metadata": {**live["metadata"], **OURS}},
    ):
        with pytest.raises(ApiError, match=f"403 Forbidden.*{said}"):
            guarded.replace(changed)
    with pytest.raises(ApiError, match="403 Forbidden"):
        guarded.account.delete(CONFIG, "gpu-jobs")
    assert guarded.hub.get(CONFIG, "gpu-jobs")["spec"] == live["spec"]


def test_others_write_configs_as_before(guarded: Guarded) -> None:
    """The policy is about the reconciler's requests alone."""
    guarded.config("elsewhere", labels={"team": "a"})
    guarded.hub.patch(CONFIG, "elsewhere", {"spec": {"clusters": ["cluster9"]}})
    guarded.hub.delete(CONFIG, "elsewhere")
