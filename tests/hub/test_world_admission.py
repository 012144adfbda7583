"""The admission of the world against a real API server with the rendered policies.

It refuses the same, and nothing else.
"""

import copy
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.pipeline import produce
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_gone
from tests.hub.scenario.installation import wait_for_policies
from tests.support import yamlfast
from tests.support.apiserver import ApiTarget, merged
from tests.world import admission, fleet
from tests.world.admission import Account, AdmissionRequest, Policy

pytestmark = pytest.mark.family("kubernetes", "ocm", "argocd")

NAMESPACE = "world-admission"
HUB, MERGE = fleet.HUB, "application/merge-patch+json"
OCM = "/apis/cluster.open-cluster-management.io"
SCORES = f"{OCM}/v1alpha1/namespaces/{NAMESPACE}/addonplacementscores"
CLUSTER = f"{OCM}/v1/managedclusters/{NAMESPACE}"
ARGO = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}"
MAPS = f"/api/v1/namespaces/{HUB}/configmaps"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{HUB}/leases"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}
ON_HUB = {**OURS, "gitops-dsf.io/runs-on": "Hub"}
REQUESTS = 30
"""Of a sequence."""
ACCOUNTS = {
    "agent": admission.agent("c00"),
    "hub scorer": admission.program("hub-scorer", namespace=HUB),
    "reconciler": admission.program("reconciler-0", namespace=HUB),
}
SCORE_KIND = "cluster.open-cluster-management.io/v1alpha1/AddOnPlacementScore"
SPEC = {
    "project": "default",
    "source": {"repoURL": "http://127.0.0.1:9/none.git", "path": ".", "targetRevision": "main"},
    "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """A write that is only tried (`dryRun`)."""

    account: str
    method: str
    path: str
    body: Object = field(default_factory=dict)


def documents() -> list[Object]:
    """What is rendered of the fleet of a world: its policies and their bindings."""
    sources = fleet.sources(clusters=2, scorers=3, applications=2)
    with tempfile.TemporaryDirectory() as folder:
        fleet.write(sources.files, Path(folder))
        tree = produce(Path(folder)).tree
        assert tree is not None
        found = [yamlfast.load(tree.read(path)) for path in tree.files if path.endswith(".yaml")]
    return [
        item
        for item in found
        if item["kind"].startswith("ValidatingAdmissionPolicy")
        and item["metadata"]["name"].startswith(admission.OURS)
    ]


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """The hub with the policies, and what is there before each request."""

    admin: Client
    clients: dict[str, Client]
    policies: tuple[Policy, ...]
    stored: dict[str, Object]
    """By path."""

    def filled(self, request: Request) -> Request:
        """With the UID and the time of a taint as they are on the hub."""
        body = _copy(request.body)
        if "preconditions" in body:
            body["preconditions"] = {"uid": self.stored[request.path]["metadata"]["uid"]}
        for taint in body.get("spec", {}).get("taints", ()):
            for known in self.stored[CLUSTER]["spec"]["taints"]:
                if known["key"] == taint["key"]:
                    taint.update(known)
        return replace(request, body=body)

    def real(self, request: Request) -> str:
        """The answer of the API server: empty, or what a policy says."""
        try:
            body = request.body
            if request.method == "DELETE":
                # With a body the query of a deletion does not count.
                body = {**body, "dryRun": ["All"]}
            self.clients[request.account].request(
                request.method,
                request.path,
                body=body or None,
                content_type=MERGE if request.method == "PATCH" else "application/json",
                parameters={"dryRun": "All"},
            )
        except ApiError as error:
            if "ValidatingAdmissionPolicy" not in str(error):
                raise
            return str(error)
        return ""

    def modelled(self, request: Request) -> list[str]:
        """The names of the policies that refuse it in the world."""
        target = ApiTarget.of(request.path)
        path = request.path.removesuffix(f"/{target.sub}") if target.sub else request.path
        before = self.stored.get(path)
        after: Object | None = None
        if request.method == "POST":
            after = {key: value for key, value in request.body.items() if key != "status"}
        elif request.method == "PATCH":
            after = merged(_copy(before), _copy(request.body))
        account = ACCOUNTS[request.account]
        assert isinstance(account, Account)
        asked = AdmissionRequest(
            account=account,
            plural=target.plural,
            namespace=target.namespace,
            name=target.name or request.body.get("metadata", {}).get("name", ""),
            before=before,
            after=after,
            options=request.body if request.method == "DELETE" else None,
            subresource=target.sub,
        )
        return [policy.name for policy in self.policies if admission.refusal([policy], asked)]


def _copy(item: Any) -> Any:
    return copy.deepcopy(item)


def score(name: str, labels: Object) -> Object:
    return manifest(SCORE_KIND, name, namespace=NAMESPACE, meta={"labels": labels})


@pytest.fixture(scope="module")
def guarded(control_plane: ControlPlane, argocd: object, hub: Client) -> Iterator[Guarded]:
    del argocd  # Its kinds.
    rendered = documents()
    made: list[tuple[str, Object]] = [
        (f"{SCORES}/free0", score("free0", OURS)),
        (f"{SCORES}/free2", score("free2", ON_HUB)),
        (f"{SCORES}/gitops-dsf-moves", score("gitops-dsf-moves", {})),
        (f"{SCORES}/people", score("people", {"a": "b"})),
    ]
    namespaces = [NAMESPACE, *([] if hub.find("v1/Namespace", HUB) else [HUB])]
    for name in namespaces:
        hub.apply(manifest("v1/Namespace", name))
    # Policies of another module would refuse what is put there first. They act for a moment longer.
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        for item in hub.list(f"admissionregistration.k8s.io/v1/{kind}"):
            if item["metadata"]["name"].startswith(admission.OURS):
                hub.delete(f"admissionregistration.k8s.io/v1/{kind}", item["metadata"]["name"])
    first = score("gitops-dsf-moves", {})
    wait_for(
        lambda: hub.apply(first, dry_run=True),
        what="no policy of another module acts any more",
    )
    cluster = manifest(
        "cluster.open-cluster-management.io/v1/ManagedCluster",
        NAMESPACE,
        spec={"hubAcceptsClient": True, "taints": [{"key": "theirs", "effect": "NoSelect"}]},
    )
    made.append((CLUSTER, cluster))
    application_set = manifest(
        "argoproj.io/v1alpha1/ApplicationSet",
        "set",
        namespace=NAMESPACE,
        spec={"generators": [], "template": {"metadata": {"name": "x"}, "spec": SPEC}},
    )
    owner = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "name": "set",
        # The garbage collector deletes what belongs to nobody.
        "uid": hub.apply(application_set)["metadata"]["uid"],
        "controller": True,
    }
    label = {"labels": {"gitops-dsf.io/application": "copy"}}
    copies: dict[str, Object] = {
        "copy": {**label, "ownerReferences": [owner]},
        "labelled": dict(label),
        "other": {},
    }
    for name, meta in copies.items():
        item = manifest(
            "argoproj.io/v1alpha1/Application", name, namespace=NAMESPACE, meta=meta, spec=SPEC
        )
        made.append((f"{ARGO}/applications/{name}", item))
    made.append((f"{ARGO}/applicationsets/set", application_set))
    users = [
        {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": account.name}
        for account in ACCOUNTS.values()
        if account is not None
    ]
    kind = "rbac.authorization.k8s.io/v1"
    resources = ["addonplacementscores", "addonplacementscores/status", "applications"]
    resources += ["applicationsets", "configmaps", "leases", "managedclusters"]
    rules = [{"apiGroups": ["*"], "resources": resources, "verbs": ["*"]}]
    # What the webhook of OCM asks for a cluster that is accepted.
    rules.append(
        {
            "apiGroups": ["register.open-cluster-management.io"],
            "resources": ["managedclusters/accept"],
            "verbs": ["update"],
        }
    )
    role = manifest(f"{kind}/ClusterRole", NAMESPACE, rules=rules)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAMESPACE}
    binding = manifest(f"{kind}/ClusterRoleBinding", NAMESPACE, roleRef=reference, subjects=users)
    clients = {
        name: control_plane.hub.client(Identity(user=account.name, groups=account.groups))
        for name, account in ACCOUNTS.items()
        if account is not None
    }
    stored: dict[str, Object] = {}
    try:
        for path, item in made:
            hub.apply(item)
            stored[path] = item
        for item in (role, binding, *rendered):
            hub.apply(item)
        wait_for_policies(hub)
        # OCM adds one to a cluster that has not joined, and what is stored is compared.
        wait_for(
            lambda: len(control_plane.taints(NAMESPACE)) == 2,
            what="OCM has tainted the cluster",
            seen=lambda: control_plane.taints(NAMESPACE),
        )
        yield Guarded(
            admin=hub,
            clients=clients,
            policies=admission.of_programs(rendered),
            stored={path: hub.request("GET", path) for path in stored},
        )
    finally:
        for client in clients.values():
            client.close()
        for item in (*rendered, binding, role):
            hub.delete(f"{item['apiVersion']}/{item['kind']}", item["metadata"]["name"])
        for path, item in made:
            del path
            meta = item["metadata"]
            hub.delete(
                f"{item['apiVersion']}/{item['kind']}",
                meta["name"],
                namespace=meta.get("namespace"),
            )
        for name in namespaces:
            hub.delete("v1/Namespace", name)
        # The next module may want the namespace of the hub.
        wait_until_gone(hub, "v1/Namespace", *namespaces)


class Drawn:
    """Requests of our programs as they are, and with mistakes in them."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(f"{number} admission")

    def requests(self) -> Iterator[Request]:
        kinds = [self._of_a_score, self._of_a_score, self._of_an_application]
        kinds += [self._of_a_set, self._of_a_cluster, self._of_a_name]
        for _ in range(REQUESTS):
            yield self._random.choice(kinds)()

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _of_a_score(self) -> Request:
        account = self._one(*ACCOUNTS)
        name = self._one("free0", "free1", "free2", "gitops-dsf-moves", "people")
        path = f"{SCORES}/{name}"
        how = self._one("create", "labels", "status", "status", "delete", "metadata")
        labels = self._one({}, OURS, ON_HUB, {**OURS, "people": "theirs"}, {**OURS, "a": None})
        if name == "free1" or how == "create":
            new = self._one("free0", "free1", "free2", "gitops-dsf-moves", "people")
            fresh = {key: value for key, value in labels.items() if value is not None}
            meta = self._metadata()
            item = manifest(SCORE_KIND, new, namespace=NAMESPACE, meta={"labels": fresh, **meta})
            # What is there already is refused before admission.
            item["metadata"]["name"] = new if new == "free1" else f"{new}-new"
            return Request(account=account, method="POST", path=SCORES, body=item)
        if how == "delete":
            return Request(account=account, method="DELETE", path=path)
        if how == "labels":
            body = {"metadata": {"labels": labels}}
        elif how == "metadata":
            body = {"metadata": self._metadata()}
        else:
            # A name may have 4,096 characters, and an object 20,000 items.
            prefix = "x" * self._one(1, 400, 4100)
            count = self._one(1, 1, 1, 20_001) if prefix == "x" else 1
            items = [{"name": f"{prefix}{number}", "value": 7} for number in range(count)]
            body = {"status": {"scores": items}}
            return Request(account=account, method="PATCH", path=f"{path}/status", body=body)
        return Request(account=account, method="PATCH", path=path, body=body)

    def _metadata(self) -> Object:
        owner = {"apiVersion": "v1", "kind": "Secret", "name": "x", "uid": "1"}
        return dict(
            self._one(
                {},
                {},
                {"annotations": {"a": "b"}},
                {"finalizers": ["example.com/keeps"]},
                {"ownerReferences": [owner]},
            )
        )

    def _of_an_application(self) -> Request:
        name = self._one("copy", "copy", "labelled", "other")
        path = f"{ARGO}/applications/{name}"
        if self._random.random() < 0.4:
            # A wrong UID is a conflict, which comes before admission: it is filled in.
            options = self._one({}, {"preconditions": {"uid": ""}})
            return Request(account="reconciler", method="DELETE", path=path, body=dict(options))
        body = self._one(
            {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}},
            {"metadata": {"annotations": {"people": "theirs"}}},
            {"metadata": {"labels": {"people": "theirs"}}},
            {"spec": {"project": "other"}},
            {"operation": {"sync": {}}},
        )
        return Request(account="reconciler", method="PATCH", path=path, body=body)

    def _of_a_set(self) -> Request:
        body = self._one(
            {"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}},
            {"metadata": {"annotations": {"people": "theirs"}}},
            {"metadata": {"finalizers": ["example.com/keeps"]}},
            {"spec": {"goTemplate": True}},
        )
        path = f"{ARGO}/applicationsets/set"
        return Request(account="reconciler", method="PATCH", path=path, body=body)

    def _of_a_cluster(self) -> Request:
        theirs = {"key": "theirs", "effect": "NoSelect"}
        ours = {"key": "gitops-dsf.io/maintenance", "effect": "NoSelectIfNew"}
        body = self._one(
            {"spec": {"taints": [theirs, ours]}},
            {"spec": {"taints": [ours]}},
            {"spec": {"taints": [theirs, {**ours, "effect": "NoSelect"}]}},
            {"spec": {"leaseDurationSeconds": 30}},
            {"metadata": {"labels": {"people": "theirs"}}},
            {"metadata": {"annotations": {"people": "theirs"}}},
        )
        return Request(account="reconciler", method="PATCH", path=CLUSTER, body=body)

    def _of_a_name(self) -> Request:
        """What is judged by its name alone."""
        kind, path = self._one(("v1/ConfigMap", MAPS), ("coordination.k8s.io/v1/Lease", LEASES))
        name = self._one("gitops-dsf-moves", "gitops-dsf-reconciler", "people")
        return Request(
            account="reconciler",
            method="POST",
            path=path,
            body=manifest(kind, name, namespace=HUB),
        )


@pytest.mark.parametrize("number", range(20))
def test_sequences_of_requests(guarded: Guarded, number: int) -> None:
    for drawn in Drawn(number).requests():
        request = guarded.filled(drawn)
        said, names = guarded.real(request), guarded.modelled(request)
        assert bool(said) == bool(names), (request, said, names)
        if said:
            assert any(f"'{name}'" in said for name in names), (request, said, names)


def test_what_is_drawn_meets_every_policy_and_passes_each(guarded: Guarded) -> None:
    requests = [
        guarded.filled(request) for number in range(20) for request in Drawn(number).requests()
    ]
    refusing = {name for request in requests for name in guarded.modelled(request)}
    assert refusing == {policy.name for policy in guarded.policies}
    passing = [request for request in requests if not guarded.modelled(request)]
    kinds = {(request.account, ApiTarget.of(request.path).plural) for request in passing}
    assert len(kinds) >= 7, kinds
