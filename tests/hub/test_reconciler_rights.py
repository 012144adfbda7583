"""The reconciler's account on a real hub: every act that it needs works, and nothing else does, by RBAC or by
an admission policy.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from dsf_wire.constants import SUSPENDED_CONFIGMAP
from gitops_dsf.hub.names import MASKS_CONFIGMAP
from gitops_dsf.render.reconciler.deployment import reconciler
from gitops_dsf.render.reconciler.names import NAME
from gitops_dsf.render.reconciler.rights import RIGHTS, Where
from gitops_dsf.repository.model.repository import FleetRepository
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import SCORER, Fleet, write_fleet
from tests.hub.scenario.installation import DECISION, PLACEMENT_LABEL, SCORE, WORK, installed

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

HUB, ARGOCD = "open-cluster-management", "argocd"
NAMESPACES = {Where.HUB: HUB, Where.ARGOCD: ARGOCD}
CONFIG_MAP, EVENT, SECRET = "v1/ConfigMap", "v1/Event", "v1/Secret"
LEASE = "coordination.k8s.io/v1/Lease"
DYNAMIC_SCORER = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScorer"
PLACEMENT = "cluster.open-cluster-management.io/v1beta1/Placement"
POLICY = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
BINDING = f"{POLICY}Binding"
REFRESH = "argocd.argoproj.io/application-set-refresh"
APPLICATION_REFRESH = "argocd.argoproj.io/refresh"
SET = "guarded"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}

Held = set[tuple[str, str, str]]


@dataclass(kw_only=True)
class Guarded:
    """An installed fleet, an ApplicationSet that generates nothing, and the reconciler's account."""

    hub: Client
    account: Client
    stranger: Client
    made: list[tuple[str, str, str]] = field(default_factory=list)

    def application_set(self) -> Object:
        return self.hub.get(APPLICATION_SET, SET, namespace=ARGOCD)

    def patch_set(self, change: Object) -> None:
        self.account.patch(APPLICATION_SET, SET, change, namespace=ARGOCD)

    def application(
        self, name: str, *, labels: Object | None = None, owned: bool = True, controls: bool = True
    ) -> str:
        """Makes an Application as the ApplicationSet controller would; its UID."""
        meta: Object = {
            "name": name,
            "namespace": ARGOCD,
            "labels": {"gitops-dsf.io/application": SET} if labels is None else labels,
        }
        if owned:
            owner = self.application_set()
            meta["ownerReferences"] = [
                {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "ApplicationSet",
                    "name": SET,
                    "uid": owner["metadata"]["uid"],
                    "controller": controls,
                    "blockOwnerDeletion": True,
                }
            ]
        spec = {
            "project": "default",
            "source": {"repoURL": "http://127.0.0.1:9/none.git", "path": ".", "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
        }
        made = self.hub.create(
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": meta, "spec": spec}
        )
        self.made.append((APPLICATION, name, ARGOCD))
        return str(made["metadata"]["uid"])

    def score(self, name: str, labels: Object) -> None:
        api, _, kind = SCORE.rpartition("/")
        self.hub.create(
            {
                "apiVersion": api,
                "kind": kind,
                "metadata": {"name": name, "namespace": "cluster1", "labels": labels},
            }
        )
        self.made.append((SCORE, name, "cluster1"))

    def delete(self, kind: str, name: str, *, namespace: str, uid: str | None = None) -> None:
        """With the UID as a precondition, where one is given."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        self.account.request("DELETE", self.account.path(kind, name, namespace=namespace), body=options)

    def clean(self) -> None:
        for kind, name, namespace in self.made:
            self.hub.delete(kind, name, namespace=namespace)
        self.made.clear()


@pytest.fixture(scope="module")
def guarded(
    control_plane: ControlPlane, argocd: object, git_server: GitServer, hub: Client
) -> Iterator[Guarded]:
    fleet = Fleet(repository=git_server.create("guarded"), name="guarded")
    write_fleet(fleet, clusters=["cluster1"])
    fleet.render()
    with ExitStack() as stack:
        stack.enter_context(installed(fleet, control_plane, clusters=("cluster1",)))
        hub.apply(application_set())
        stack.callback(hub.delete, APPLICATION_SET, SET, namespace=ARGOCD)
        stack.callback(hub.delete, CONFIG_MAP, SUSPENDED_CONFIGMAP, namespace=HUB)
        stack.callback(hub.delete, LEASE, NAME, namespace=HUB)
        server = control_plane.hub
        account = stack.enter_context(Client(server.service_account_kubeconfig(HUB, NAME)))
        stranger = stack.enter_context(Client(server.service_account_kubeconfig(HUB, "default")))
        found = Guarded(hub=hub, account=account, stranger=stranger)
        wait_for(lambda: refused_by_every_policy(found), what="the policies are in force")
        yield found


@pytest.fixture(autouse=True)
def _leave_nothing(guarded: Guarded) -> Iterator[None]:
    yield
    guarded.clean()


def refused_by_every_policy(found: Guarded) -> bool:
    """By a dry run of one forbidden act for each: a policy counts a moment after it is written, and a role,
    too.
    """
    found.score("probe", {})
    found.application("probe", labels={})
    elsewhere = {"name": "probe", "namespace": HUB}
    acts: tuple[tuple[str, str, Object], ...] = (
        (
            "PATCH",
            found.account.path(APPLICATION_SET, SET, namespace=ARGOCD),
            {"metadata": {"labels": {"probe": "yes"}}},
        ),
        (
            "PATCH",
            found.account.path(APPLICATION, "probe", namespace=ARGOCD),
            {"metadata": {"labels": {"probe": "yes"}}},
        ),
        (
            "DELETE",
            found.account.path(APPLICATION, "probe", namespace=ARGOCD),
            {"apiVersion": "v1", "kind": "DeleteOptions"},
        ),
        (
            "DELETE",
            found.account.path(SCORE, "probe", namespace="cluster1"),
            {"apiVersion": "v1", "kind": "DeleteOptions"},
        ),
        (
            "POST",
            found.account.path(CONFIG_MAP, namespace=HUB),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": elsewhere},
        ),
        (
            "POST",
            found.account.path(LEASE, namespace=HUB),
            {"apiVersion": LEASE.rpartition("/")[0], "kind": "Lease", "metadata": elsewhere},
        ),
    )
    try:
        for method, path, body in acts:
            media = "application/merge-patch+json" if method == "PATCH" else "application/json"
            try:
                found.account.request(
                    method, path, body=body, content_type=media, parameters={"dryRun": "All"}
                )
            except ApiError as error:
                if "ValidatingAdmissionPolicy" not in str(error):
                    return False
            else:
                return False
        return True
    finally:
        found.clean()


def application_set() -> Object:
    """Generates nothing and would delete nothing: what is in the namespace is the test's."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {
            "name": SET,
            "namespace": ARGOCD,
            "labels": {"team": "a"},
            "annotations": {"gitops-dsf.io/moves-strategy": "MakeBeforeBreak"},
        },
        "spec": {
            "generators": [{"list": {"elements": []}}],
            "syncPolicy": {"applicationsSync": "create-update"},
            "template": {
                "metadata": {"name": "{{name}}"},
                "spec": {
                    "project": "default",
                    "source": {
                        "repoURL": "http://127.0.0.1:9/none.git",
                        "path": ".",
                        "targetRevision": "main",
                    },
                    "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
                },
            },
        },
    }


def granted(client: Client, namespace: str) -> Held:
    """(group/resource, verb, object name or "") that an account holds in a namespace, as the hub's authorizer
    says.
    """
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    answer = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body=review)
    return {
        (f"{group}/{resource}", verb, name)
        for rule in answer["status"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or [""]
    }


def listed(*places: Where) -> Held:
    """The same, as RIGHTS says."""
    return {
        (f"{right.group}/{right.resource}", verb, name)
        for right in RIGHTS
        if right.where in places
        for verb in right.verbs
        for name in right.names or ("",)
    }


def test_it_holds_exactly_what_the_list_says(guarded: Guarded) -> None:
    for namespace, wanted in {
        HUB: listed(Where.EVERYWHERE, Where.HUB),
        ARGOCD: listed(Where.EVERYWHERE, Where.ARGOCD),
        "cluster1": listed(Where.EVERYWHERE),
        "kube-system": listed(Where.EVERYWHERE),
    }.items():
        assert granted(guarded.account, namespace) - granted(guarded.stranger, namespace) == wanted, namespace


def test_it_lists_and_follows_what_it_must(guarded: Guarded) -> None:
    """Every right to list, and to watch, by a request."""
    for right in RIGHTS:
        prefix = (
            "/api/v1"
            if not right.group
            else f"/apis/{right.group}/{version_of(guarded, right.group, right.resource)}"
        )
        where = f"/namespaces/{NAMESPACES[right.where]}" if right.where in NAMESPACES else ""
        path = f"{prefix}{where}/{right.resource}"
        if "list" in right.verbs:
            assert "items" in guarded.account.request("GET", path)
        if "watch" in right.verbs:
            latest = guarded.account.request("GET", path)["metadata"]["resourceVersion"]
            answer = guarded.account._http.get(
                path, params={"watch": "1", "timeoutSeconds": "1", "resourceVersion": latest}
            )
            assert answer.status_code == 200, answer.text


def version_of(guarded: Guarded, group: str, resource: str) -> str:
    for version in guarded.hub.request("GET", f"/apis/{group}")["versions"]:
        names = {
            entry["name"]
            for entry in guarded.hub.request("GET", f"/apis/{version['groupVersion']}")["resources"]
        }
        if resource in names:
            return str(version["version"])
    raise AssertionError(f"{group} has no {resource}")


class TestAllowed:
    def test_the_status_of_a_scorer(self, guarded: Guarded) -> None:
        guarded.account.patch_status(DYNAMIC_SCORER, SCORER, {"healthStatus": "Active"}, namespace=HUB)
        assert guarded.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB)["status"]["healthStatus"] == "Active"

    def test_its_lease(self, guarded: Guarded) -> None:
        guarded.hub.delete(LEASE, NAME, namespace=HUB)
        lease = guarded.account.create(named(LEASE, NAME, spec={"holderIdentity": "a"}))
        lease["spec"]["holderIdentity"] = "b"
        path = guarded.account.path(LEASE, NAME, namespace=HUB)
        guarded.account.request("PUT", path, body=lease)
        assert guarded.account.get(LEASE, NAME, namespace=HUB)["spec"]["holderIdentity"] == "b"

    def test_what_is_suspended(self, guarded: Guarded) -> None:
        guarded.hub.delete(CONFIG_MAP, SUSPENDED_CONFIGMAP, namespace=HUB)
        written = guarded.account.create(named(CONFIG_MAP, SUSPENDED_CONFIGMAP, data={"scorers": "[]"}))
        written["data"] = {"scorers": '["a"]'}
        guarded.account.request(
            "PUT", guarded.account.path(CONFIG_MAP, SUSPENDED_CONFIGMAP, namespace=HUB), body=written
        )
        assert guarded.account.get(CONFIG_MAP, SUSPENDED_CONFIGMAP, namespace=HUB)["data"] == {
            "scorers": '["a"]'
        }

    def test_what_is_masked(self, guarded: Guarded) -> None:
        assert guarded.account.get(CONFIG_MAP, MASKS_CONFIGMAP, namespace=HUB)["data"] == {"masks": "[]"}

    @pytest.mark.parametrize(("namespace", "about"), [(HUB, DYNAMIC_SCORER), (ARGOCD, APPLICATION_SET)])
    def test_events(self, guarded: Guarded, namespace: str, about: str) -> None:
        api, _, kind = about.rpartition("/")
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{NAME}-test", "namespace": namespace},
            "involvedObject": {"apiVersion": api, "kind": kind, "name": "x", "namespace": namespace},
            "reason": "Tested",
            "type": "Normal",
        }
        guarded.account.create(event)
        guarded.made.append((EVENT, f"{NAME}-test", namespace))
        guarded.account.patch(EVENT, f"{NAME}-test", {"count": 2}, namespace=namespace)
        assert guarded.hub.get(EVENT, f"{NAME}-test", namespace=namespace)["count"] == 2

    def test_a_decision(self, guarded: Guarded) -> None:
        wait_for(
            lambda: guarded.account.list(DECISION, namespace=ARGOCD, labels=f"{PLACEMENT_LABEL}={GUESTBOOK}"),
            what="OCM decided",
        )

    def test_asking_argocd_to_look(self, guarded: Guarded) -> None:
        before = guarded.application_set()
        asked = guarded.account.patch(
            APPLICATION_SET, SET, {"metadata": {"annotations": {REFRESH: "true"}}}, namespace=ARGOCD
        )
        assert (asked["spec"], asked["metadata"]["labels"]) == (before["spec"], before["metadata"]["labels"])
        # Argo CD takes it away when it has looked; the reconciler might as well.
        wait_for(
            lambda: REFRESH not in guarded.application_set()["metadata"]["annotations"], what="Argo CD looked"
        )
        guarded.patch_set({"metadata": {"annotations": {REFRESH: None}}})
        assert guarded.account.get(APPLICATION_SET, SET, namespace=ARGOCD)

    def test_asking_argocd_to_refresh_a_copy_changes_its_version_each_time(self, guarded: Guarded) -> None:
        """Removals rest on that: a deletion that names the version of before is refused."""
        uid = guarded.application("copy")
        before = guarded.hub.get(APPLICATION, "copy", namespace=ARGOCD)["metadata"]["resourceVersion"]
        versions = [before]
        for value in ("one", "two"):
            change = {"metadata": {"uid": uid, "annotations": {APPLICATION_REFRESH: value}}}
            answer = guarded.account.patch(APPLICATION, "copy", change, namespace=ARGOCD)
            versions.append(answer["metadata"]["resourceVersion"])
        assert len(set(versions)) == 3
        conditions = {"uid": uid, "resourceVersion": before}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        with pytest.raises(ApiError, match="409 Conflict"):
            guarded.account.request(
                "DELETE", guarded.account.path(APPLICATION, "copy", namespace=ARGOCD), body=body
            )
        change = {"metadata": {"uid": "another", "annotations": {APPLICATION_REFRESH: "three"}}}
        with pytest.raises(ApiError, match=r"422 Invalid: .*metadata.uid: Invalid value"):
            guarded.account.patch(APPLICATION, "copy", change, namespace=ARGOCD)
        wait_for(
            lambda: (
                APPLICATION_REFRESH
                not in guarded.hub.get(APPLICATION, "copy", namespace=ARGOCD)["metadata"].get(
                    "annotations", {}
                )
            ),
            what="Argo CD takes the annotation away, whatever its value",
        )

    def test_removing_the_old_copy_by_its_uid(self, guarded: Guarded) -> None:
        uid = guarded.application("old-copy")
        assert uid in {
            item["metadata"]["uid"] for item in guarded.account.list(APPLICATION, namespace=ARGOCD)
        }
        with pytest.raises(ApiError, match="409 Conflict"):
            guarded.delete(
                APPLICATION, "old-copy", namespace=ARGOCD, uid="00000000-0000-0000-0000-000000000000"
            )
        guarded.delete(APPLICATION, "old-copy", namespace=ARGOCD, uid=uid)
        wait_for(
            lambda: guarded.hub.find(APPLICATION, "old-copy", namespace=ARGOCD) is None, what="it is gone"
        )

    def test_removing_a_dead_score(self, guarded: Guarded) -> None:
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
        "suspend": {"enabled": True},
        "proposals": {"kinds": ["Locks", "Inventory"]},
        "state": {"enabled": True},
        "gitSecret": {"name": "fleet-push"},
    }
    git = {"url": "https://git.example.com/platform/fleet.git"}
    repository = FleetRepository.model_validate(
        {"metadata": {"name": "guarded"}, "spec": {"git": git, "reconciler": spec}}
    )
    parameters = {
        "fieldManager": "argocd-controller",
        "fieldValidation": "Strict",
        "force": "true",
        "dryRun": "All",
    }
    kinds = set()
    for item in reconciler(repository):
        kind, meta = f"{item['apiVersion']}/{item['kind']}", item["metadata"]
        path = guarded.hub.path(kind, meta["name"], namespace=meta.get("namespace"))
        guarded.hub.request(
            "PATCH", path, body=item, content_type="application/apply-patch+yaml", parameters=parameters
        )
        kinds.add(item["kind"])
    assert kinds >= {"Deployment", "ConfigMap", "ValidatingAdmissionPolicy", "NetworkPolicy"}


CHANGES: dict[str, Object] = {
    "policy": {"spec": {"syncPolicy": {"applicationsSync": "sync"}}},
    "source": {
        "spec": {"template": {"spec": {"source": {"repoURL": "https://elsewhere.example.com/x.git"}}}}
    },
    "label changed": {"metadata": {"labels": {"team": "b"}}},
    "label removed": {"metadata": {"labels": {"team": None}}},
    "label added": {"metadata": {"labels": {"more": "x"}}},
    "annotation changed": {"metadata": {"annotations": {"gitops-dsf.io/moves-strategy": "Replace"}}},
    "annotation removed": {"metadata": {"annotations": {"gitops-dsf.io/moves-strategy": None}}},
    "another beside the one": {"metadata": {"annotations": {REFRESH: "true", "other": "x"}}},
    "finalizer": {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}},
    "owner": {
        "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}]}
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


class TestRefusedByPolicy:
    @pytest.mark.parametrize("change", COPY_CHANGES)
    def test_a_copy_keeps_everything_but_one_annotation(self, guarded: Guarded, change: str) -> None:
        uid = guarded.application("kept")
        with pytest.raises(
            ApiError,
            match=f"403 Forbidden.*change the annotation {APPLICATION_REFRESH} of an Application and nothing",
        ):
            guarded.account.patch(APPLICATION, "kept", COPY_CHANGES[change], namespace=ARGOCD)
        assert guarded.hub.get(APPLICATION, "kept", namespace=ARGOCD)["metadata"]["uid"] == uid

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [({"labels": {}}, "with the label"), ({"owned": False}, "that an ApplicationSet controls")],
    )
    def test_an_application_that_is_not_a_copy_of_ours_is_not_refreshed(
        self, guarded: Guarded, arguments: dict[str, Any], message: str
    ) -> None:
        guarded.application("kept", **arguments)
        change = {"metadata": {"annotations": {APPLICATION_REFRESH: "x"}}}
        with pytest.raises(ApiError, match=f"403 Forbidden.*may change Applications {message}"):
            guarded.account.patch(APPLICATION, "kept", change, namespace=ARGOCD)

    @pytest.mark.parametrize("change", CHANGES)
    def test_an_application_set_keeps_everything_but_one_annotation(
        self, guarded: Guarded, change: str
    ) -> None:
        before = guarded.application_set()["metadata"]["generation"]
        with pytest.raises(
            ApiError,
            match=f"403 Forbidden.*may change the annotation {REFRESH} of an ApplicationSet and nothing else",
        ):
            guarded.patch_set(CHANGES[change])
        assert guarded.application_set()["metadata"]["generation"] == before

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"labels": {}}, "with the label gitops-dsf.io/application and no others"),
            (
                {"labels": {"gitops-dsf.io/application": ""}},
                "with the label gitops-dsf.io/application and no others",
            ),
            ({"owned": False}, "that an ApplicationSet controls and no others"),
            ({"controls": False}, "that an ApplicationSet controls and no others"),
        ],
    )
    def test_an_application_that_is_not_a_copy_of_ours_stays(
        self, guarded: Guarded, arguments: dict[str, Any], message: str
    ) -> None:
        uid = guarded.application("kept", **arguments)
        with pytest.raises(ApiError, match=f"403 Forbidden.*{message}"):
            guarded.delete(APPLICATION, "kept", namespace=ARGOCD, uid=uid)
        assert "deletionTimestamp" not in guarded.hub.get(APPLICATION, "kept", namespace=ARGOCD)["metadata"]

    def test_no_application_goes_without_its_uid(self, guarded: Guarded) -> None:
        guarded.application("kept")
        with pytest.raises(ApiError, match=r"403 Forbidden.*by its UID only"):
            guarded.delete(APPLICATION, "kept", namespace=ARGOCD)
        assert guarded.hub.find(APPLICATION, "kept", namespace=ARGOCD)

    @pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/managed-by": "somebody"}])
    def test_a_score_that_no_agent_of_ours_wrote_stays(self, guarded: Guarded, labels: Object) -> None:
        guarded.score("theirs", labels)
        with pytest.raises(
            ApiError, match=r"403 Forbidden.*app.kubernetes.io/managed-by=gitops-dsf-agent and no others"
        ):
            guarded.delete(SCORE, "theirs", namespace="cluster1")
        assert guarded.hub.find(SCORE, "theirs", namespace="cluster1")

    @pytest.mark.parametrize(
        ("kind", "only"),
        [
            (CONFIG_MAP, f"{HUB}/{SUSPENDED_CONFIGMAP}"),
            (LEASE, f"{HUB}/{NAME}"),
        ],
    )
    @pytest.mark.parametrize("meta", [{"name": "other"}, {"generateName": "gitops-dsf-"}])
    def test_no_other_object_is_made(self, guarded: Guarded, kind: str, only: str, meta: Object) -> None:
        item = named(kind, "")
        item["metadata"] = {**meta, "namespace": HUB}
        with pytest.raises(
            ApiError,
            match=f"403 Forbidden.*may write the {kind.rpartition('/')[2]} {only} and no other",
        ):
            guarded.account.create(item)

    def test_everybody_else_may_do_what_they_could(self, guarded: Guarded) -> None:
        guarded.hub.patch(APPLICATION_SET, SET, {"metadata": {"labels": {"team": "b"}}}, namespace=ARGOCD)
        guarded.hub.patch(APPLICATION_SET, SET, {"metadata": {"labels": {"team": "a"}}}, namespace=ARGOCD)
        guarded.application("theirs", labels={}, owned=False)
        guarded.hub.delete(APPLICATION, "theirs", namespace=ARGOCD)
        guarded.score("theirs", {})
        guarded.hub.delete(SCORE, "theirs", namespace="cluster1")


WRITES: dict[str, Callable[[Guarded], object]] = {
    "read settings of Argo CD": lambda it: it.account.get(CONFIG_MAP, "argocd-cm", namespace=ARGOCD),
    "change masks": lambda it: it.account.patch(
        CONFIG_MAP, MASKS_CONFIGMAP, {"data": {"masks": ""}}, namespace=HUB
    ),
    "delete the suspensions": lambda it: it.account.delete(CONFIG_MAP, SUSPENDED_CONFIGMAP, namespace=HUB),
    "delete the lease": lambda it: it.account.delete(LEASE, NAME, namespace=HUB),
    "change a scorer": lambda it: it.account.patch(
        DYNAMIC_SCORER, SCORER, {"spec": {"suspend": True}}, namespace=HUB
    ),
    "delete a scorer": lambda it: it.account.delete(DYNAMIC_SCORER, SCORER, namespace=HUB),
    "change a work": lambda it: it.account.patch(
        WORK, "gitops-dsf-config", {"metadata": {"labels": {"a": "b"}}}, namespace="cluster1"
    ),
    "delete a work": lambda it: it.account.delete(WORK, "gitops-dsf-config", namespace="cluster1"),
    "change a Placement": lambda it: it.account.patch(
        PLACEMENT, GUESTBOOK, {"spec": {"numberOfClusters": 2}}, namespace=ARGOCD
    ),
    "make an ApplicationSet": lambda it: it.account.create(
        {**application_set(), "metadata": {"name": "mine", "namespace": ARGOCD}}
    ),
    "delete an ApplicationSet": lambda it: it.account.delete(APPLICATION_SET, SET, namespace=ARGOCD),
    "delete all Applications": lambda it: it.account.request(
        "DELETE", it.account.path(APPLICATION, namespace=ARGOCD)
    ),
    "make a score": lambda it: it.account.create(named(SCORE, "mine", namespace="cluster1")),
    "change a score": lambda it: it.account.patch_status(SCORE, "any", {"scores": []}, namespace="cluster1"),
    "delete a cluster": lambda it: it.account.delete(
        "cluster.open-cluster-management.io/v1/ManagedCluster", "cluster1"
    ),
    "delete a policy": lambda it: it.account.delete(POLICY, f"{NAME}-applications"),
    "delete a policy's binding": lambda it: it.account.delete(BINDING, f"{NAME}-applications"),
    "be somebody else": lambda it: it.account.token(HUB, "default"),
}


class TestRefusedByRoles:
    @pytest.mark.parametrize(
        ("kind", "namespace"),
        [
            (SECRET, HUB),
            (SECRET, ARGOCD),
            (SECRET, "cluster1"),
            (CONFIG_MAP, HUB),
            (CONFIG_MAP, ARGOCD),
            (WORK, "cluster1"),
            (WORK, None),
            (APPLICATION, None),
            (APPLICATION, "default"),
            (PLACEMENT, "default"),
            (DYNAMIC_SCORER, None),
            (POLICY, None),
            ("rbac.authorization.k8s.io/v1/ClusterRole", None),
        ],
    )
    def test_nothing_else_is_read(self, guarded: Guarded, kind: str, namespace: str | None) -> None:
        with pytest.raises(ApiError, match="403 Forbidden"):
            guarded.account.list(kind, namespace=namespace)

    @pytest.mark.parametrize("act", WRITES)
    def test_nothing_else_is_written(self, guarded: Guarded, act: str) -> None:
        with pytest.raises(ApiError, match="403 Forbidden"):
            WRITES[act](guarded)


def named(kind: str, name: str, *, namespace: str = HUB, **fields: Any) -> Object:
    api, _, short = kind.rpartition("/")
    return {"apiVersion": api, "kind": short, "metadata": {"name": name, "namespace": namespace}, **fields}
