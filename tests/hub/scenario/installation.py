"""A rendered tree on the hub without Argo CD.

Every object by server-side apply with strict validation, in sync-wave order.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gitops_dsf.hub.names import APPLICATION_LABEL
from gitops_dsf.render.admission import ADMISSION_API
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_gone, wait_until_served
from tests.hub.scenario.fleet import FLEET_LABEL, Fleet, cluster_set, wave
from tests.hub.scenario.placements import (
    CLUSTER_SET,
    DECISION,
    MANAGED_CLUSTER,
    PLACEMENT_LABEL,
    delete_scores,
)

MANAGER = "argocd-controller"
CRD = "CustomResourceDefinition"
KEPT = frozenset({"Namespace", CRD})
WORK = "work.open-cluster-management.io/v1/ManifestWork"
ADDON = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"
POLICY_BINDING = f"{ADMISSION_API}/ValidatingAdmissionPolicyBinding"


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What was applied of a fleet, and how to take it away again."""

    fleet: Fleet
    plane: ControlPlane
    _applied: dict[tuple[str, str | None, str], Object] = field(default_factory=dict, init=False)
    """Everything that was ever applied, also what is no longer rendered, in the order of
    applying.
    """

    @property
    def hub(self) -> Client:
        return self.plane.hub.admin

    def rendered(self) -> list[tuple[str, Object]]:
        """Everything but the Argo CD bootstrap, in the order in which it may be applied."""
        return sorted(
            (
                entry
                for directory in self.fleet.directories()
                for entry in self.fleet.objects(directory)
            ),
            key=lambda entry: wave(entry[1]),
        )

    def apply(self) -> dict[str, Object]:
        """Applies the rendered tree as it is now; path to the object that the server returned."""
        answers = {}
        for path, item in self.rendered():
            self._applied[_identity(item)] = item
            try:
                answers[path] = self.hub.apply(item, manager=MANAGER)
            except ApiError as error:
                raise AssertionError(f"{path}: {error}") from error
            if item["kind"] == CRD:
                wait_until_served(self.hub, [item])
        return answers

    def wait_for_policies(self) -> None:
        """Wait until the API server enforces every admission policy that was applied so far."""
        wait_for_policies(self.hub)

    def sync(self) -> None:
        """Renders the repository, applies the tree, and deletes what is no longer rendered, as Argo
        CD's pruning does.
        """
        before = self.rendered()
        self.fleet.render()
        self.apply()
        now = {_identity(item) for _, item in self.rendered()}
        self._delete([item for _, item in before if _identity(item) not in now])

    def label_clusters(self) -> None:
        """Puts the clusters into the fleet's ManagedClusterSet."""
        self.hub.apply(cluster_set(self.fleet.name))
        for name in self.fleet.clusters:
            label = {"metadata": {"labels": {FLEET_LABEL: self.fleet.name}}}
            self.hub.patch(MANAGED_CLUSTER, name, label)

    def remove(self) -> None:
        """Deletes what was applied except namespaces and CRDs, and waits until Argo CD and OCM have
        cleaned up the spokes.
        """
        rendered = {_identity(item): item for _, item in self.rendered()}
        self._delete([item for name, item in self._applied.items() if name not in rendered])
        self._delete(list(rendered.values()))
        # Before another fleet takes them for its own.
        wait_for(self._no_applications, what="the Applications are gone", seen=self._applications)
        wait_for(lambda: not self._decisions(), what="the decisions are gone", seen=self._decisions)
        for name in self.fleet.clusters:
            wait_until_gone(
                self.hub,
                WORK,
                "gitops-dsf-config",
                "addon-gitops-dsf-agent-deploy-0",
                namespace=name,
            )
            wait_until_gone(self.hub, ADDON, "gitops-dsf-agent", namespace=name)
        delete_scores(self.hub, *self.fleet.clusters)
        self.hub.delete(CLUSTER_SET, self.fleet.name)

    def _delete(self, items: list[Object]) -> None:
        """Deletes them, the last applied first, except namespaces and CRDs."""
        for item in reversed(items):
            if item["kind"] not in KEPT:
                kind, namespace, name = _identity(item)
                self.hub.delete(kind, name, namespace=namespace)

    def _no_applications(self) -> bool:
        """Deletes them: an ApplicationSet that is being deleted may have made one more."""
        left = self._applications()
        for name in left:
            self.hub.delete(APPLICATION, name, namespace="argocd")
        return not left

    def _applications(self) -> list[str]:
        """Applications of the rendered ApplicationSets, those that go included."""
        return self._made(APPLICATION, "ApplicationSet", APPLICATION_LABEL)

    def _decisions(self) -> list[str]:
        """PlacementDecisions of the rendered Placements."""
        return self._made(DECISION, "Placement", PLACEMENT_LABEL)

    def _made(self, kind: str, by: str, label: str) -> list[str]:
        """The names of what is made of objects of a rendered kind."""
        ours = {item["metadata"]["name"] for _, item in self.rendered() if item["kind"] == by}
        found = (
            self.hub.list(kind, namespace="argocd") if ours else []
        )  # there may be no Argo CD at all
        meta = [item["metadata"] for item in found]
        return [each["name"] for each in meta if each.get("labels", {}).get(label) in ours]


def _identity(item: Object) -> tuple[str, str | None, str]:
    """Kind, namespace and name."""
    metadata = item["metadata"]
    return f"{item['apiVersion']}/{item['kind']}", metadata.get("namespace"), metadata["name"]


@contextmanager
def installed(fleet: Fleet, plane: ControlPlane) -> Iterator[Installation]:
    """Renders the fleet; its tree is on the hub for as long as the block runs."""
    fleet.render()
    installation = Installation(fleet=fleet, plane=plane)
    installation.hub.apply(manifest("v1/Namespace", "argocd"))
    installation.label_clusters()
    try:
        installation.apply()
        yield installation
    finally:
        installation.remove()


def wait_for_policies(hub: Client) -> None:
    """Wait until the API server enforces every admission policy that was applied so far.

    It reads all of them together, at most once a second (policySource.refreshPolicies of its
    source), so the one that is written last here is not enforced before the others.
    """
    name = f"last-{uuid.uuid4()}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE"],
        "resourceNames": [name],
    }
    refuse = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false", "message": name}],
    }
    bind = {"policyName": name, "validationActions": ["Deny"]}
    kinds = {f"{ADMISSION_API}/ValidatingAdmissionPolicy": refuse, POLICY_BINDING: bind}
    probe = manifest("v1/ConfigMap", name, namespace="default")

    def refused() -> bool:
        try:
            hub.create(probe, dry_run=True)
        except ApiError as error:
            return name in str(error)
        return False

    try:
        for kind, spec in kinds.items():
            hub.create(manifest(kind, name, spec=spec))
        wait_for(refused, what="the admission policies are enforced")
    finally:
        for kind in kinds:
            hub.delete(kind, name)
