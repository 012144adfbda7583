"""The reconciler's account on a real hub.

Every act that it needs works, and nothing else does, by RBAC or by an admission policy.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from gitops_dsf.hub.names import (
    MAINTENANCE_CONFIGMAP,
    MAINTENANCE_TAINT,
    MASKS_CONFIGMAP,
    MOVES_CONFIGMAP,
)
from gitops_dsf.hub.names import RECONCILER as NAME
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.render.reconciler import reconciler
from gitops_dsf.render.reconciler_rights import RIGHTS, Where
from gitops_dsf.repository.model.repository import FleetRepository
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_gone
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import new_fleet
from tests.hub.scenario.installation import POLICY_BINDING, WORK, installed
from tests.hub.scenario.placements import MANAGED_CLUSTER, PLACEMENT, SCORE

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

HUB, ARGOCD = "gitops-dsf", "argocd"
CONFIG_MAP, LEASE = "v1/ConfigMap", "coordination.k8s.io/v1/Lease"
REFRESH = "argocd.argoproj.io/application-set-refresh"
APPLICATION_REFRESH = "argocd.argoproj.io/refresh"
SET = "guarded"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}

Held = set[tuple[str, str, str]]


@dataclass(kw_only=True)
class Guarded:
    """An installed fleet, an ApplicationSet that generates nothing, and the reconciler's
    account.
    """

    hub: Client
    account: Client
    stranger: Client
    made: list[tuple[str, str, str]] = field(default_factory=list)

    def application_set(self) -> Object:
        return self.hub.get(APPLICATION_SET, SET, namespace=ARGOCD)

    def granted(self, namespace: str) -> Held:
        """What the account may do there and a stranger may not."""
        return self.account.granted(namespace) - self.stranger.granted(namespace)

    def application(
        self, name: str, *, labels: Object | None = None, owned: bool = True, controls: bool = True
    ) -> str:
        """Makes an Application as the ApplicationSet controller would; its UID."""
        meta: Object = {"labels": {"gitops-dsf.io/application": SET} if labels is None else labels}
        if owned:
            owner = self.application_set()
            identity = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": SET}
            rest = {
                "uid": owner["metadata"]["uid"],
                "controller": controls,
                "blockOwnerDeletion": True,
            }
            meta["ownerReferences"] = [{**identity, **rest}]
        made = self.hub.create(
            manifest(APPLICATION, name, namespace=ARGOCD, meta=meta, spec=PLACED)
        )
        self.made.append((APPLICATION, name, ARGOCD))
        return str(made["metadata"]["uid"])

    def score(self, name: str, labels: Object) -> None:
        self.hub.create(manifest(SCORE, name, namespace="cluster1", meta={"labels": labels}))
        self.made.append((SCORE, name, "cluster1"))

    def delete(self, kind: str, name: str, *, namespace: str, **preconditions: str) -> None:
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        self.account.request(
            "DELETE", self.account.path(kind, name, namespace=namespace), body=options
        )

    def clean(self) -> None:
        for kind, name, namespace in self.made:
            self.hub.delete(kind, name, namespace=namespace)
        self.made.clear()


@pytest.fixture(scope="module")
def guarded(
    control_plane: ControlPlane, argocd: object, git_server: GitServer, hub: Client
) -> Iterator[Guarded]:
    fleet = new_fleet(git_server, "guarded", clusters=["cluster1"])
    with ExitStack() as stack:
        installation = stack.enter_context(installed(fleet, control_plane))
        hub.apply(application_set())
        stack.callback(hub.delete, APPLICATION_SET, SET, namespace=ARGOCD)
        stack.callback(hub.delete, LEASE, NAME, namespace=HUB)
        server = control_plane.hub
        account = stack.enter_context(Client(server.service_account_kubeconfig(HUB, NAME)))
        stranger = stack.enter_context(Client(server.service_account_kubeconfig(HUB, "default")))
        found = Guarded(hub=hub, account=account, stranger=stranger)
        wait_for(
            lambda: all(found.granted(at) >= held for at, held in HELD.items()), what="its rights"
        )
        installation.wait_for_policies()
        yield found


@pytest.fixture(autouse=True)
def _leave_nothing(guarded: Guarded) -> Iterator[None]:
    yield
    guarded.clean()


SOURCE = {"repoURL": "http://127.0.0.1:9/none.git", "path": ".", "targetRevision": "main"}
PLACED = {
    "project": "default",
    "source": SOURCE,
    "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
}


def application_set() -> Object:
    """Generates nothing and would delete nothing: what is in the namespace is the test's."""
    annotations = {"gitops-dsf.io/moves-strategy": "MakeBeforeBreak"}
    meta = {"labels": {"team": "a"}, "annotations": annotations}
    spec = {
        "generators": [{"list": {"elements": []}}],
        "syncPolicy": {"applicationsSync": "create-update"},
        "template": {"metadata": {"name": "{{name}}"}, "spec": PLACED},
    }
    return manifest(APPLICATION_SET, SET, namespace=ARGOCD, meta=meta, spec=spec)


def listed(*places: Where) -> Held:
    """The same, as RIGHTS says."""
    return {
        (f"{right.group}/{right.resource}", verb, name)
        for right in RIGHTS
        if right.where in places
        for verb in right.verbs
        for name in right.names or ("",)
    }


HELD = {
    HUB: listed(Where.EVERYWHERE, Where.HUB),
    ARGOCD: listed(Where.EVERYWHERE, Where.ARGOCD),
    "cluster1": listed(Where.EVERYWHERE),
    "kube-system": listed(Where.EVERYWHERE),
}


def test_it_holds_exactly_what_the_list_says(guarded: Guarded) -> None:
    assert {namespace: guarded.granted(namespace) for namespace in HELD} == HELD


def test_a_copy_goes_by_the_uid_and_version_that_were_read(guarded: Guarded) -> None:
    """Removals rest on that: asking Argo CD to look changes the version of a copy each time."""
    uid = guarded.application("copy")
    before = guarded.hub.get(APPLICATION, "copy", namespace=ARGOCD)["metadata"]["resourceVersion"]
    versions = {before}
    for value in ("one", "two"):
        change = {"metadata": {"uid": uid, "annotations": {APPLICATION_REFRESH: value}}}
        answer = guarded.account.patch(APPLICATION, "copy", change, namespace=ARGOCD)
        versions.add(answer["metadata"]["resourceVersion"])
    assert len(versions) == 3
    for wrong in (
        {"uid": uid, "resourceVersion": before},
        {"uid": "00000000-0000-0000-0000-000000000000"},
    ):
        with pytest.raises(ApiError, match="409 Conflict"):
            guarded.delete(APPLICATION, "copy", namespace=ARGOCD, **wrong)
    change = {"metadata": {"uid": "another", "annotations": {APPLICATION_REFRESH: "three"}}}
    with pytest.raises(ApiError, match=r"422 Invalid: .*metadata.uid: Invalid value"):
        guarded.account.patch(APPLICATION, "copy", change, namespace=ARGOCD)

    def answered() -> bool:
        found = guarded.hub.get(APPLICATION, "copy", namespace=ARGOCD)["metadata"]
        return APPLICATION_REFRESH not in found.get("annotations", {})

    wait_for(answered, what="Argo CD takes the annotation away, whatever its value")
    guarded.delete(APPLICATION, "copy", namespace=ARGOCD, uid=uid)
    wait_until_gone(guarded.hub, APPLICATION, "copy", namespace=ARGOCD)


def test_a_dead_score_goes(guarded: Guarded) -> None:
    guarded.score("dead", OURS)
    guarded.delete(SCORE, "dead", namespace="cluster1")
    assert guarded.hub.find(SCORE, "dead", namespace="cluster1") is None


def test_the_hub_takes_it_with_everything_switched_on(guarded: Guarded) -> None:
    """By a dry run with strict validation; what needs the CRDs of the Prometheus operator apart."""
    spec = {
        "image": "registry.example.com/reconciler:1",
        "replicas": 3,
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "monitoring": {"dashboard": True},
        "proposals": {"kinds": ["Locks", "Inventory"]},
        "state": {"enabled": True},
        "gitSecret": {"name": "fleet-push"},
    }
    git = {"url": "https://git.example.com/platform/fleet.git"}
    repository = FleetRepository.model_validate(
        {"metadata": {"name": "guarded"}, "spec": {"git": git, "reconciler": spec}}
    )
    kinds = {
        guarded.hub.apply(item, manager="argocd-controller", dry_run=True)["kind"]
        for item in reconciler(repository)
    }
    assert kinds >= {"Deployment", "ConfigMap", "ValidatingAdmissionPolicy", "NetworkPolicy"}


CHANGES: dict[str, Object] = {
    "policy": {"spec": {"syncPolicy": {"applicationsSync": "sync"}}},
    "source": {
        "spec": {
            "template": {"spec": {"source": {"repoURL": "https://elsewhere.example.com/x.git"}}}
        }
    },
    "label changed": {"metadata": {"labels": {"team": "b"}}},
    "label removed": {"metadata": {"labels": {"team": None}}},
    "label added": {"metadata": {"labels": {"more": "x"}}},
    "annotation changed": {
        "metadata": {"annotations": {"gitops-dsf.io/moves-strategy": "Replace"}}
    },
    "annotation removed": {"metadata": {"annotations": {"gitops-dsf.io/moves-strategy": None}}},
    "another beside the one": {"metadata": {"annotations": {REFRESH: "true", "other": "x"}}},
    "finalizer": {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}},
    "owner": {
        "metadata": {
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}]
        }
    },
}
COPY_CHANGES: dict[str, Object] = {
    "destination": {"spec": {"destination": {"namespace": "kube-system"}}},
    "source": {"spec": {"source": {"repoURL": "https://elsewhere.example.com/x.git"}}},
    "status": {"status": {"health": {"status": "Suspended"}}},
    "sync now": {"operation": {"sync": {"revision": "elsewhere"}}},
    "label changed": {"metadata": {"labels": {"gitops-dsf.io/application": "other"}}},
    "another annotation": {"metadata": {"annotations": {APPLICATION_REFRESH: "x", "other": "x"}}},
    "finalizer": {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}},
    "owner": {"metadata": {"ownerReferences": None}},
}
THEIRS = {"key": "example.com/broken", "effect": "NoSelect", "value": "disk"}
OUR_TAINT = {"key": MAINTENANCE_TAINT, "effect": "NoSelectIfNew", "value": "Drain"}


CLUSTER_CHANGES: dict[str, Object] = {
    "taint of others removed": {"spec": {"taints": [OUR_TAINT]}},
    "all taints removed": {"spec": {"taints": None}},
    "taint of others changed": {
        "spec": {"taints": [{**THEIRS, "effect": "PreferNoSelect"}, OUR_TAINT]}
    },
    "another taint": {"spec": {"taints": [THEIRS, {**OUR_TAINT, "key": "other"}]}},
    "another effect": {"spec": {"taints": [THEIRS, {**OUR_TAINT, "effect": "NoSelect"}]}},
    "lease": {"spec": {"leaseDurationSeconds": 7200}},
    "accepted": {"spec": {"hubAcceptsClient": False}},
    "label": {"metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": "other"}}},
    "annotation": {"metadata": {"annotations": {"other": "x"}}},
    "finalizer": {"metadata": {"finalizers": ["example.com/kept"]}},
}
KEPT = {
    APPLICATION_SET: (
        (SET, ARGOCD, CHANGES),
        f"403 Forbidden.*may change the annotation {REFRESH} of an ApplicationSet and nothing else",
    ),
    APPLICATION: (
        ("kept", ARGOCD, COPY_CHANGES),
        f"403 Forbidden.*change the annotation {APPLICATION_REFRESH} of an Application and nothing",
    ),
    MANAGED_CLUSTER: (("cluster1", None, CLUSTER_CHANGES), r"403 Forbidden|denied the request"),
}
"""Name, namespace and forbidden changes of an object, and what the refusal says."""


@pytest.fixture
def tainted(guarded: Guarded) -> Iterator[list[Object]]:
    """The taints of a cluster that somebody else has tainted."""
    guarded.hub.patch(MANAGED_CLUSTER, "cluster1", {"spec": {"taints": [THEIRS]}})
    yield guarded.hub.get(MANAGED_CLUSTER, "cluster1")["spec"]["taints"]
    guarded.hub.patch(MANAGED_CLUSTER, "cluster1", {"spec": {"taints": None}})


@pytest.mark.parametrize(
    ("kind", "change"),
    [(kind, change) for kind, ((*_, changes), _) in KEPT.items() for change in changes],
)
def test_everything_stays_but_one_annotation_or_taint(
    guarded: Guarded, tainted: list[Object], kind: str, change: str
) -> None:
    guarded.application("kept")
    (name, namespace, changes), said = KEPT[kind]

    def kept() -> list[object]:
        item = guarded.hub.get(kind, name, namespace=namespace)
        meta = item["metadata"]
        return [item["spec"], *(meta.get(field) for field in ("uid", "labels", "finalizers"))]

    before = kept()
    with pytest.raises(ApiError, match=said):
        guarded.account.patch(kind, name, changes[change], namespace=namespace)
    assert kept() == before


def test_a_cluster_gets_and_loses_our_taint_beside_those_of_others(
    guarded: Guarded, tainted: list[Object]
) -> None:
    """By the resourceVersion that was read."""
    before = guarded.hub.get(MANAGED_CLUSTER, "cluster1")["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": before}, "spec": {"taints": [*tainted, OUR_TAINT]}}
    answer = guarded.account.patch(MANAGED_CLUSTER, "cluster1", change)
    found = answer["spec"]["taints"]
    assert [each["key"] for each in found] == [THEIRS["key"], MAINTENANCE_TAINT]
    assert found[0] == tainted[0]
    with pytest.raises(ApiError, match="409 Conflict"):
        guarded.account.patch(MANAGED_CLUSTER, "cluster1", {**change, "spec": {"taints": tainted}})
    guarded.account.patch(MANAGED_CLUSTER, "cluster1", {"spec": {"taints": found[:1]}})
    assert guarded.hub.get(MANAGED_CLUSTER, "cluster1")["spec"]["taints"] == tainted


LABELLED, CONTROLLED = "with the label gitops-dsf.io/application", "that an ApplicationSet controls"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": {}}, LABELLED),
        ({"labels": {"gitops-dsf.io/application": ""}}, LABELLED),
        ({"owned": False}, CONTROLLED),
        ({"controls": False}, CONTROLLED),
    ],
)
def test_an_application_that_is_not_a_copy_of_ours_is_not_refreshed_and_stays(
    guarded: Guarded, arguments: dict[str, Any], message: str
) -> None:
    uid = guarded.application("kept", **arguments)
    change = {"metadata": {"annotations": {APPLICATION_REFRESH: "x"}}}
    with pytest.raises(
        ApiError, match=f"403 Forbidden.*may change Applications {message} and no others"
    ):
        guarded.account.patch(APPLICATION, "kept", change, namespace=ARGOCD)
    with pytest.raises(ApiError, match=f"403 Forbidden.*{message} and no others"):
        guarded.delete(APPLICATION, "kept", namespace=ARGOCD, uid=uid)
    assert (
        "deletionTimestamp"
        not in guarded.hub.get(APPLICATION, "kept", namespace=ARGOCD)["metadata"]
    )


def test_no_application_goes_without_its_uid(guarded: Guarded) -> None:
    guarded.application("kept")
    with pytest.raises(ApiError, match=r"403 Forbidden.*by its UID only"):
        guarded.delete(APPLICATION, "kept", namespace=ARGOCD)
    assert guarded.hub.find(APPLICATION, "kept", namespace=ARGOCD)


@pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/managed-by": "somebody"}])
def test_a_score_that_no_agent_of_ours_wrote_stays(guarded: Guarded, labels: Object) -> None:
    guarded.score("theirs", labels)
    with pytest.raises(
        ApiError,
        match=r"403 Forbidden.*app.kubernetes.io/managed-by=gitops-dsf-agent and no others",
    ):
        guarded.delete(SCORE, "theirs", namespace="cluster1")
    assert guarded.hub.find(SCORE, "theirs", namespace="cluster1")


def test_it_writes_the_items_of_moves_and_no_other_score(guarded: Guarded) -> None:
    made = guarded.account.create(manifest(SCORE, MOVES_SCORE, namespace="cluster1"))
    guarded.made.append((SCORE, MOVES_SCORE, "cluster1"))
    guarded.account.patch_status(SCORE, MOVES_SCORE, {"scores": []}, namespace="cluster1")
    change = {
        "metadata": {"resourceVersion": made["metadata"]["resourceVersion"]},
        "status": {"scores": [{"name": "argocd/web", "value": 100}]},
    }
    with pytest.raises(ApiError, match="409 Conflict"):
        guarded.account.patch(
            SCORE, MOVES_SCORE, change, namespace="cluster1", subresource="status"
        )
    guarded.score("cpu", OURS)
    message = "403 Forbidden.*with the name gitops-dsf-moves and no others"
    with pytest.raises(ApiError, match=message):
        guarded.account.patch_status(SCORE, "cpu", {"scores": []}, namespace="cluster1")
    with pytest.raises(ApiError, match=message):
        guarded.account.create(manifest(SCORE, "more", namespace="cluster1"))


ADDON_ROLE = "rbac.authorization.k8s.io/v1/Role"
ADDON_BINDING = "rbac.authorization.k8s.io/v1/RoleBinding"
ONLY = (
    "403 Forbidden.*only the reconciler writes AddOnPlacementScores with the name gitops-dsf-moves"
)
ITEMS: Object = {"scores": [{"name": "argocd/web", "value": 100}]}


@pytest.fixture
def addon(guarded: Guarded, control_plane: ControlPlane) -> Iterator[Client]:
    """Another add-on, which may do everything with the AddOnPlacementScores of its cluster's
    namespace.
    """
    hub, user = guarded.hub, "system:open-cluster-management:cluster:cluster1:addon:other"
    rule = {
        "apiGroups": ["cluster.open-cluster-management.io"],
        "resources": ["addonplacementscores", "addonplacementscores/status"],
        "verbs": ["*"],
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "other-addon"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    hub.apply(manifest(ADDON_ROLE, "other-addon", namespace="cluster1", rules=[rule]))
    hub.apply(
        manifest(
            ADDON_BINDING,
            "other-addon",
            namespace="cluster1",
            roleRef=reference,
            subjects=[subject],
        )
    )
    with control_plane.hub.client(Identity(user=user, groups=())) as client:
        # Until the API server knows the rights, the list is refused, which wait_for takes as "not
        # yet".
        wait_for(
            lambda: isinstance(client.list(SCORE, namespace="cluster1"), list),
            what="the rights of the add-on",
        )
        yield client
    hub.delete(ADDON_BINDING, "other-addon", namespace="cluster1")
    hub.delete(ADDON_ROLE, "other-addon", namespace="cluster1")


def moves_of(guarded: Guarded) -> None:
    guarded.account.create(manifest(SCORE, MOVES_SCORE, namespace="cluster1"))
    guarded.made.append((SCORE, MOVES_SCORE, "cluster1"))
    guarded.account.patch_status(SCORE, MOVES_SCORE, {"scores": []}, namespace="cluster1")


def test_no_other_addon_moves_an_application(guarded: Guarded, addon: Client) -> None:
    """It may write and delete all other scores of its cluster, as before."""
    with pytest.raises(ApiError, match=ONLY):
        addon.create(manifest(SCORE, MOVES_SCORE, namespace="cluster1"))
    moves_of(guarded)
    changes: list[Object] = [
        {"metadata": {"finalizers": ["example.com/kept"]}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {
            "metadata": {
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}]
            }
        },
    ]
    for change in changes:
        with pytest.raises(ApiError, match=ONLY):
            addon.patch(SCORE, MOVES_SCORE, change, namespace="cluster1")
    with pytest.raises(ApiError, match=ONLY):
        addon.patch_status(SCORE, MOVES_SCORE, ITEMS, namespace="cluster1")
    with pytest.raises(
        ApiError, match=f"{ONLY}; only accounts that may delete the cluster's namespace"
    ):
        addon.delete(SCORE, MOVES_SCORE, namespace="cluster1")
    with pytest.raises(ApiError, match=ONLY):
        addon.request("DELETE", addon.path(SCORE, namespace="cluster1"))
    addon.create(manifest(SCORE, "theirs", namespace="cluster1"))
    addon.patch_status(SCORE, "theirs", ITEMS, namespace="cluster1")
    addon.delete(SCORE, "theirs", namespace="cluster1")
    assert guarded.hub.get(SCORE, MOVES_SCORE, namespace="cluster1")["status"] == {"scores": []}


def test_an_administrator_moves_nothing_by_mistake_and_takes_away_what_is_left(
    guarded: Guarded,
) -> None:
    """As `uninstall` and a migration of storage do."""
    moves_of(guarded)
    with pytest.raises(ApiError, match=ONLY):
        guarded.hub.patch_status(SCORE, MOVES_SCORE, ITEMS, namespace="cluster1")
    guarded.hub.patch(
        SCORE, MOVES_SCORE, {"metadata": {"labels": {"a": "b"}}}, namespace="cluster1"
    )
    guarded.hub.delete(SCORE, MOVES_SCORE, namespace="cluster1")
    assert guarded.hub.find(SCORE, MOVES_SCORE, namespace="cluster1") is None
    with pytest.raises(ApiError, match=ONLY):
        guarded.hub.create(manifest(SCORE, MOVES_SCORE, namespace="cluster1"))


def test_a_cluster_goes_with_its_namespace(guarded: Guarded) -> None:
    """The controller that empties namespaces deletes its items, and so does the garbage
    collector.
    """
    hub = guarded.hub
    hub.create(manifest("v1/Namespace", "leaving"))
    owner = hub.create(manifest(CONFIG_MAP, "owner", namespace="leaving"))
    guarded.account.create(manifest(SCORE, MOVES_SCORE, namespace="leaving"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    hub.patch(
        SCORE, MOVES_SCORE, {"metadata": {"ownerReferences": [reference]}}, namespace="leaving"
    )
    hub.delete(CONFIG_MAP, "owner", namespace="leaving")
    wait_until_gone(hub, SCORE, MOVES_SCORE, namespace="leaving")
    guarded.account.create(manifest(SCORE, MOVES_SCORE, namespace="leaving"))
    hub.delete("v1/Namespace", "leaving")
    wait_until_gone(hub, "v1/Namespace", "leaving")


def test_its_items_have_neither_finalizers_nor_owners(guarded: Guarded) -> None:
    message = "403 Forbidden.*neither finalizers nor owners"
    made = manifest(
        SCORE, MOVES_SCORE, namespace="cluster1", meta={"finalizers": ["example.com/kept"]}
    )
    with pytest.raises(ApiError, match=message):
        guarded.account.create(made)
    moves_of(guarded)
    change = {"metadata": {"finalizers": ["example.com/kept"]}}
    with pytest.raises(ApiError, match=message):
        guarded.account.patch(SCORE, MOVES_SCORE, change, namespace="cluster1")


@pytest.mark.parametrize(
    ("kind", "only"),
    [
        (CONFIG_MAP, f"ConfigMaps {MOVES_CONFIGMAP} and gitops-dsf-status in {HUB}"),
        (LEASE, f"Lease {HUB}/{NAME}"),
    ],
)
@pytest.mark.parametrize("meta", [{"name": "other"}, {"generateName": "gitops-dsf-"}])
def test_no_other_object_is_made(guarded: Guarded, kind: str, only: str, meta: Object) -> None:
    item = manifest(kind, "", namespace=HUB)
    item["metadata"] = {**meta, "namespace": HUB}
    with pytest.raises(ApiError, match=f"403 Forbidden.*may write the {only} and no other"):
        guarded.account.create(item)


def test_everybody_else_may_do_what_they_could(guarded: Guarded) -> None:
    guarded.hub.patch(
        APPLICATION_SET, SET, {"metadata": {"labels": {"team": "b"}}}, namespace=ARGOCD
    )
    guarded.hub.patch(
        APPLICATION_SET, SET, {"metadata": {"labels": {"team": "a"}}}, namespace=ARGOCD
    )
    guarded.application("theirs", labels={}, owned=False)
    guarded.hub.delete(APPLICATION, "theirs", namespace=ARGOCD)
    guarded.score("theirs", {})
    guarded.hub.delete(SCORE, "theirs", namespace="cluster1")


REFUSED: dict[str, Callable[[Guarded], object]] = {
    "read Secrets": lambda it: it.account.list("v1/Secret", namespace=ARGOCD),
    "read settings of Argo CD": lambda it: it.account.get(
        CONFIG_MAP, "argocd-cm", namespace=ARGOCD
    ),
    "read works": lambda it: it.account.list(WORK, namespace="cluster1"),
    "change masks": lambda it: it.account.patch(
        CONFIG_MAP, MASKS_CONFIGMAP, {"data": {"masks": ""}}, namespace=HUB
    ),
    "change maintenance": lambda it: it.account.patch(
        CONFIG_MAP, MAINTENANCE_CONFIGMAP, {"data": {"maintenance": "[]"}}, namespace=HUB
    ),
    "change a Placement": lambda it: it.account.patch(
        PLACEMENT, GUESTBOOK, {"spec": {"numberOfClusters": 2}}, namespace=ARGOCD
    ),
    "delete all Applications": lambda it: it.account.request(
        "DELETE", it.account.path(APPLICATION, namespace=ARGOCD)
    ),
    "delete a policy's binding": lambda it: it.account.delete(
        POLICY_BINDING, f"{NAME}-applications"
    ),
    "be somebody else": lambda it: it.account.token(HUB, "default"),
}


@pytest.mark.parametrize("act", REFUSED)
def test_nothing_else_is_allowed(guarded: Guarded, act: str) -> None:
    """By its roles. That it holds no other right says the first test."""
    with pytest.raises(ApiError, match="403 Forbidden"):
        REFUSED[act](guarded)
