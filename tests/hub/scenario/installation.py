"""A rendered tree on the hub without Argo CD: every object by server-side apply with strict validation, in
sync-wave order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gitops_dsf.hub.names import APPLICATION_LABEL
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.applications import APPLICATION
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_served
from tests.hub.scenario.fleet import FLEET_LABEL, Fleet, cluster_set, wave
from tests.hub.scenario.placements import CLUSTER_SET, DECISION, MANAGED_CLUSTER, PLACEMENT_LABEL, SCORE

MANAGER = "argocd-controller"
CRD = "CustomResourceDefinition"
KEPT = frozenset({"Namespace", CRD})
WORK = "work.open-cluster-management.io/v1/ManifestWork"
ADDON = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What was applied of a fleet, and how to take it away again."""

    fleet: Fleet
    plane: ControlPlane
    clusters: tuple[str, ...]
    _applied: dict[tuple[str, str | None, str], Object] = field(default_factory=dict, init=False)
    """Everything that was ever applied, also what is no longer rendered, in the order of applying."""

    @property
    def hub(self) -> Client:
        return self.plane.hub.admin

    def rendered(self) -> list[tuple[str, Object]]:
        """Everything but the Argo CD bootstrap, in the order in which it may be applied."""
        return sorted(
            (entry for directory in self.fleet.directories() for entry in self.fleet.objects(directory)),
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

    def sync(self) -> None:
        """Renders the repository, applies the tree, and deletes what is no longer rendered, as Argo CD's
        pruning does.
        """
        before = self.rendered()
        self.fleet.render()
        self.apply()
        now = {_identity(item) for _, item in self.rendered()}
        self._delete([item for _, item in before if _identity(item) not in now])

    def label_clusters(self) -> None:
        """Puts the clusters into the fleet's ManagedClusterSet."""
        self.hub.apply(cluster_set(self.fleet.name))
        for name in self.clusters:
            self.hub.patch(
                MANAGED_CLUSTER,
                name,
                {"metadata": {"labels": {FLEET_LABEL: self.fleet.name}}},
            )

    def remove(self) -> None:
        """Deletes what was applied except namespaces and CRDs, and waits until Argo CD and OCM have cleaned
        up the spokes.
        """
        rendered = {_identity(item): item for _, item in self.rendered()}
        self._delete([item for name, item in self._applied.items() if name not in rendered])
        self._delete(list(rendered.values()))
        wait_for(
            self._no_applications,
            what="the ApplicationSets' Applications are gone, before another fleet takes them for its own",
            seen=self._applications,
        )
        wait_for(
            lambda: not self._decisions(),
            what=(
                "the decisions are collected with their Placements, before another fleet takes them for"
                " its own"
            ),
            seen=self._decisions,
        )
        for name in self.clusters:
            for kind, what in (
                (WORK, "gitops-dsf-config"),
                (ADDON, "gitops-dsf-agent"),
                (WORK, "addon-gitops-dsf-agent-deploy-0"),
            ):
                wait_for(
                    lambda kind=kind, what=what, name=name: self.hub.find(kind, what, namespace=name) is None,  # type: ignore[misc]
                    what=f"{what} of {name} is gone",
                )
            for score in self.hub.list(SCORE, namespace=name):
                self.hub.delete(SCORE, score["metadata"]["name"], namespace=name)
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
        ours = {item["metadata"]["name"] for _, item in self.rendered() if item["kind"] == "ApplicationSet"}
        if not ours:
            return []  # there may be no Argo CD at all
        found = self.hub.list(APPLICATION, namespace="argocd")
        return [
            item["metadata"]["name"]
            for item in found
            if item["metadata"].get("labels", {}).get(APPLICATION_LABEL) in ours
        ]

    def _decisions(self) -> list[str]:
        """PlacementDecisions of the rendered Placements."""
        ours = {item["metadata"]["name"] for _, item in self.rendered() if item["kind"] == "Placement"}
        found = self.hub.list(DECISION, namespace="argocd")
        return [
            page["metadata"]["name"]
            for page in found
            if page["metadata"].get("labels", {}).get(PLACEMENT_LABEL) in ours
        ]


def _identity(item: Object) -> tuple[str, str | None, str]:
    """Kind, namespace and name."""
    metadata = item["metadata"]
    return f"{item['apiVersion']}/{item['kind']}", metadata.get("namespace"), metadata["name"]


@contextmanager
def installed(fleet: Fleet, plane: ControlPlane, *, clusters: tuple[str, ...]) -> Iterator[Installation]:
    """The fleet's tree on the hub for as long as the block runs."""
    installation = Installation(fleet=fleet, plane=plane, clusters=clusters)
    installation.hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}})
    installation.label_clusters()
    try:
        installation.apply()
        yield installation
    finally:
        installation.remove()
