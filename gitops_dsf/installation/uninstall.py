"""Takes everything of gitops-dsf off a hub that its labels identify. Running it again finishes what a first
run could not.

Applications that ApplicationSets generated stay where they run. ApplicationSets are deleted without what they
own, and everything that could change a decision goes after them.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from dsf_wire.constants import (
    AGENT_MANAGER,
    AGENT_NAMESPACE,
    GENERATOR_MANAGER,
    MANAGED_BY_LABEL,
    SCORE_GROUP,
)
from gitops_dsf.errors import HubError
from gitops_dsf.hub.applications import prunes
from gitops_dsf.hub.names import (
    APPLICATION_LABEL,
    MAINTENANCE_TAINT,
    MOVES_CONFIGMAP,
    OCM_GROUP,
    PART_OF_LABEL,
    RECONCILER,
)
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.installation.hub import (
    ConflictError,
    RefusedError,
    Served,
    WritableHub,
    object_text,
    say,
)
from gitops_dsf.render.argocd import rendered_kinds
from gitops_dsf.schema.crd import crds
from gitops_dsf.wording import names_text, plural

Object = dict[str, Any]
Kind = tuple[str, str]
"""Group and kind."""

OURS: Final = f"{MANAGED_BY_LABEL}={GENERATOR_MANAGER},{PART_OF_LABEL}=gitops-dsf"
APPLICATION: Final = ("argoproj.io", "Application")
APPLICATION_SET: Final = ("argoproj.io", "ApplicationSet")
PROJECT: Final = ("argoproj.io", "AppProject")
DEPLOYMENT: Final = ("apps", "Deployment")
ADDON: Final = ("addon.open-cluster-management.io", "ManagedClusterAddOn")
WORK: Final = ("work.open-cluster-management.io", "ManifestWork")
KEPT: Final = frozenset({("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")})
FIRST: Final = (APPLICATION, DEPLOYMENT, APPLICATION_SET)
"""What would undo a deletion or move an application."""
SUSPENDED_CONFIGMAP: Final = "gitops-dsf-suspended"
"""Left over from reconcilers that still suspended scorers. Nothing writes or reads it any more."""
LEASE: Final = ("coordination.k8s.io", "Lease")
CONFIGMAP: Final = ("", "ConfigMap")
SCORE: Final = (SCORE_GROUP, "AddOnPlacementScore")
CLUSTER: Final = (OCM_GROUP, "ManagedCluster")
ON_CLUSTERS: Final = (ADDON, WORK)
"""What OCM removes from the managed clusters, for which it needs the rights and templates that go later."""
TRACKING: Final = "argocd.argoproj.io/tracking-id"
FLUX: Final = "kustomize.toolkit.fluxcd.io/name"
AT_A_TIME: Final = 32
POLL_SECONDS: Final = 2.0
POLICY_POLLS: Final = 30
POLICY_POLL_SECONDS: Final = 0.5
"""How often a deletion is tried again that a policy refuses, because the policy is deleted already: API
servers take up changed policies once a second (Kubernetes 1.37.2,
apiserver/pkg/admission/plugin/policy/generic/policy_source.go).
"""
MOST_CONFLICTS: Final = 5


class UninstallError(HubError):
    """Something else would bring the objects back, or the hub does not finish a deletion."""


@dataclass(kw_only=True)
class Uninstaller:
    """Deletes what is labelled as ours, in an order in which no application moves."""

    hub: WritableHub
    hub_namespace: str
    argocd_namespace: str
    with_applications: bool = False
    _found: dict[Kind, list[Object]] = field(default_factory=lambda: defaultdict(list), init=False)
    _served: dict[Kind, Served] = field(default_factory=dict, init=False)
    _carried: list[str] = field(default_factory=list, init=False)
    """Documents that were copied from the repository. They have no label of ours."""
    _deleted: set[str] = field(default_factory=set, init=False)
    _used: list[str] = field(default_factory=list, init=False)
    """AppProjects that other Applications use, with one of them."""
    _written: dict[Kind, list[Object]] = field(default_factory=dict, init=False)
    """What the reconciler created. It has no label of ours."""
    _tainted: list[str] = field(default_factory=list, init=False)
    """Clusters with the taint of a maintenance."""

    def run(self, *, seconds: float | None) -> None:
        """Removes all; waits so long, or not, for managed clusters. Raises UninstallError, HubError."""
        for kind in sorted({*rendered_kinds(), APPLICATION, PROJECT} - KEPT):
            self._look(kind)
        self._nobody_brings_it_back()
        self._carried = sorted(self._copied_documents())
        self._written = self._of_reconciler()
        self._tainted = self._closed_clusters()
        if not any((*self._found.values(), *self._written.values(), self._tainted)):
            say("no object of gitops-dsf is on this hub")
        self._without_finalizers()
        for kind in FIRST:
            self._remove(kind, orphan=kind == APPLICATION_SET)
        if self.with_applications:
            # Argo CD then deletes their workloads.
            self._found[APPLICATION] = self._generated()
            self._remove(APPLICATION)
        for kind in ON_CLUSTERS:
            self._remove(kind)
        if seconds is not None and not self.hub.dry_run:
            self._wait(seconds=seconds)
        for kind in sorted(self._found.keys() - {*FIRST, *ON_CLUSTERS, PROJECT}):
            self._remove(kind)
        self._keep_used_projects()
        self._remove(PROJECT)
        self._remove_of_reconciler()
        self._open_clusters()
        self._release_health_checks()
        for line in self._stays():
            say(line)

    def _look(self, kind: Kind) -> None:
        served = self.hub.kind(kind[0], kind=kind[1])
        if served is not None:
            self._served[kind] = served
            self._found[kind] = self.hub.list(served.path(), labels=OURS)

    def _nobody_brings_it_back(self) -> None:
        """Raises UninstallError if a root Application or Flux applies our objects."""
        ours = {item["metadata"]["name"] for item in self._found[APPLICATION]}
        for kind, items in self._found.items():
            for item in items:
                metadata = item["metadata"]
                root = (metadata.get("annotations") or {}).get(TRACKING, "").partition(":")[0]
                flux = (metadata.get("labels") or {}).get(FLUX)
                owner = f"the Kustomization {flux} of Flux" if flux else f"the Application {root}"
                if flux or (root and root not in ours and kind in {APPLICATION, PROJECT}):
                    raise UninstallError(
                        f"{object_text(kind[1], item)} is applied by {owner}, which would bring it back:"
                        " delete that first, without what it applied, and run uninstall again"
                    )

    def _copied_documents(self) -> Iterator[str]:
        for item in self._found[APPLICATION]:
            for one in (item.get("status") or {}).get("resources") or ():
                kind = (one.get("group", ""), one["kind"])
                known = {
                    (got["metadata"].get("namespace"), got["metadata"]["name"])
                    for got in self._found[kind]
                }
                place = (one.get("namespace"), one["name"])
                if kind not in KEPT and place not in known:
                    yield f"{one['kind']} {'/'.join(filter(None, place))}"

    def _without_finalizers(self) -> None:
        """Argo CD deletes what an Application applied if it has this finalizer. We delete it in our order."""
        for item in self._found[APPLICATION]:
            metadata = item["metadata"]
            finalizers = metadata.get("finalizers") or []
            left = [name for name in finalizers if not prunes(name)]
            if left != finalizers:
                self.hub.merge(
                    self._path(APPLICATION, item), {"metadata": {"finalizers": left or None}}
                )

    def _remove(self, kind: Kind, *, orphan: bool = False) -> None:
        items = self._found[kind]
        with ThreadPoolExecutor(AT_A_TIME) as threads:
            deleted = [
                threads.submit(self.hub.delete, self._path(kind, item), orphan=orphan)
                for item in items
            ]
        for one in deleted:
            one.result()
        self._deleted.update(object_text(kind[1], item) for item in items)
        self._tell(kind, items)

    def _generated(self) -> list[Object]:
        """The Applications that ApplicationSets generated."""
        served = self._served.get(APPLICATION)
        if served is None:
            return []
        found = self.hub.list(served.path(), labels=APPLICATION_LABEL)
        return [item for item in found if "deletionTimestamp" not in item["metadata"]]

    def _wait(self, *, seconds: float) -> None:
        until = time.monotonic() + seconds
        told = False
        while left := self._left():
            if time.monotonic() >= until:
                raise UninstallError(
                    f"after {seconds:.0f} s still there: {names_text(left)}. OCM removes them when the work"
                    " agents of these clusters answer: run uninstall again then, or with --no-wait to leave"
                    " the agents on clusters that never come back"
                )
            if not told:
                say("waiting until OCM has removed the agents from the managed clusters")
                told = True
            time.sleep(POLL_SECONDS)

    def _left(self) -> list[str]:
        return [
            object_text(kind[1], item)
            for kind in ON_CLUSTERS
            if kind in self._served
            for item in self.hub.list(self._served[kind].path(), labels=OURS)
        ]

    def _keep_used_projects(self) -> None:
        """Argo CD neither syncs nor deletes an Application without its project."""
        served = self._served.get(APPLICATION)
        found = [] if served is None else self.hub.list(served.path())
        going = self._deleted if self.hub.dry_run else set[str]()
        users = {
            str(item["spec"].get("project")): object_text(APPLICATION[1], item)
            for item in found
            if object_text(APPLICATION[1], item) not in going
        }
        for project in list(self._found[PROJECT]):
            if user := users.get(project["metadata"]["name"]):
                self._found[PROJECT].remove(project)
                self._used.append(f"{object_text(PROJECT[1], project)}: {user} belongs to it")

    def _of_reconciler(self) -> dict[Kind, list[Object]]:
        """The objects that the reconciler creates on a hub."""
        names = {LEASE: (RECONCILER,), CONFIGMAP: (SUSPENDED_CONFIGMAP, MOVES_CONFIGMAP)}
        written: dict[Kind, list[Object]] = {}
        for kind, wanted in names.items():
            served = self.hub.kind(kind[0], kind=kind[1])
            if served is None:
                continue
            self._served.setdefault(kind, served)
            live = [
                self.hub.live(served.path(namespace=self.hub_namespace, name=name))
                for name in wanted
            ]
            written[kind] = [item for item in live if item is not None]
        scores = self.hub.kind(SCORE[0], kind=SCORE[1])
        if scores is not None:
            self._served.setdefault(SCORE, scores)
            written[SCORE] = self.hub.list(scores.path(), name=MOVES_SCORE)
        return written

    def _remove_of_reconciler(self) -> None:
        """Deletes what the reconciler created, when it no longer has the rights to create it again.

        OCM counts the scores of moves for ever: they have no validUntil.
        """
        for kind, items in self._written.items():
            # In a dry run, our policies are still there, and refuse the deletion of such scores.
            if not self.hub.dry_run:
                paths = [self._path(kind, item) for item in items]
                with ThreadPoolExecutor(AT_A_TIME) as threads:
                    list(threads.map(self._delete_without_policies, paths))
            self._tell(kind, items)

    def _delete_without_policies(self, path: str) -> None:
        for _ in range(POLICY_POLLS):
            try:
                self.hub.delete(path)
            except RefusedError:
                time.sleep(POLICY_POLL_SECONDS)
            else:
                return
        self.hub.delete(path)

    def _closed_clusters(self) -> list[str]:
        """The clusters that a maintenance closed. Nobody else opens them again."""
        served = self.hub.kind(CLUSTER[0], kind=CLUSTER[1])
        if served is None:
            return []
        self._served.setdefault(CLUSTER, served)
        return [
            item["metadata"]["name"]
            for item in self.hub.list(served.path())
            if any(taint.get("key") == MAINTENANCE_TAINT for taint in _taints(item))
        ]

    def _open_clusters(self) -> None:
        """Takes the taint of maintenance off the clusters."""
        if not self._tainted:
            return
        if not self.hub.dry_run:
            with ThreadPoolExecutor(AT_A_TIME) as threads:
                list(threads.map(self._open_cluster, self._tainted))
        removed = "would be removed" if self.hub.dry_run else "removed"
        names = names_text([f"ManagedCluster {name}" for name in self._tainted])
        say(
            f"{names}: the taint {MAINTENANCE_TAINT} {removed}, so that applications may be placed there"
        )

    def _open_cluster(self, name: str) -> None:
        """Writes the list of taints as it was read: OCM writes the same list."""
        path = self._served[CLUSTER].path(name=name)
        for attempt in range(1, MOST_CONFLICTS + 1):
            item = self.hub.live(path)
            if item is None:
                return
            # Each other taint stays word for word, because OCM refuses another timeAdded
            # (docs/contributing/behaviour.md#taints-that-ocm-sets).
            others = [taint for taint in _taints(item) if taint.get("key") != MAINTENANCE_TAINT]
            version = item["metadata"].get("resourceVersion")
            change = {"metadata": {"resourceVersion": version}, "spec": {"taints": others or None}}
            try:
                self.hub.merge(path, change)
            except ConflictError:
                if attempt == MOST_CONFLICTS:
                    raise
            else:
                return

    def _release_health_checks(self) -> None:
        """Gives up our fields of Argo CD's ConfigMap. The API server removes those that nobody else owns."""
        body: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "argocd-cm", "namespace": self.argocd_namespace},
        }
        live = self.hub.live(f"/api/v1/namespaces/{self.argocd_namespace}/configmaps/argocd-cm")
        managers = ((live or {}).get("metadata") or {}).get("managedFields") or ()
        if any(
            one.get("manager") == GENERATOR_MANAGER and one.get("operation") == "Apply"
            for one in managers
        ):
            self.hub.apply(body, force=False)
            would = "would be removed" if self.hub.dry_run else "removed"
            say(f"ConfigMap {self.argocd_namespace}/argocd-cm: our health checks {would}")

    def _stays(self) -> list[str]:
        """What is not removed, and why."""
        lines = list(self._used)
        generated = [object_text(APPLICATION[1], item) for item in self._generated()]
        if generated and not self.with_applications:
            lines.append(
                f"{names_text(generated)}: they run on where they are, and nothing moves them any more."
                f" `{self.hub.command('gitops-dsf', 'uninstall', '--delete-applications')}` deletes them with"
                " their workloads"
            )
        if self._carried:
            lines.append(
                f"{names_text(self._carried)}: copied from your repository, and may be used by others"
            )
        names = [crd["metadata"]["name"] for crd in crds()]
        served = self.hub.kind("apiextensions.k8s.io", kind="CustomResourceDefinition")
        there = [name for name in names if served and self.hub.live(served.path(name=name))]
        if there:
            lines.append(
                f"CustomResourceDefinition {' and '.join(there)}: deleting them deletes every object of these"
                f" kinds, also those of others: {self.hub.command('kubectl', 'delete', 'crd', *there)}"
            )
        scores = self.hub.kind(SCORE_GROUP, kind="AddOnPlacementScore")
        label = f"{MANAGED_BY_LABEL}={AGENT_MANAGER}"
        delete = ("kubectl", "delete", "addonplacementscores", "-A", "-l", label)
        if scores and (count := len(self.hub.list(scores.path(), labels=label))):
            lines.append(
                f"{plural(count, 'AddOnPlacementScore')}: Placements ignore them once they"
                f" expire. To delete them: {self.hub.command(*delete)}"
            )
        lines += [
            f"Namespace {self.hub_namespace} with its Secrets: others use it, too",
            f"Namespace {AGENT_NAMESPACE} on the managed clusters: it holds Secrets that people created",
            "the fleet repository and its branches",
        ]
        return ["", "What stays", *(f"  {line}" for line in lines)]

    def _path(self, kind: Kind, item: Object) -> str:
        metadata = item["metadata"]
        return self._served[kind].path(
            namespace=metadata.get("namespace", ""), name=metadata["name"]
        )

    def _tell(self, kind: Kind, items: Sequence[Object]) -> None:
        verb = "would be deleted" if self.hub.dry_run else "deleted"
        if items:
            say(f"{names_text([object_text(kind[1], item) for item in items])}: {verb}")


def _taints(cluster: Object) -> list[Object]:
    return (cluster.get("spec") or {}).get("taints") or []
