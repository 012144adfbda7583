"""Takes everything of gitops-dsf off a hub that its labels identify.

Guaranteed: no application moves while it works. Applications that ApplicationSets generated stay
where they run, ApplicationSets are deleted without the objects that they own, and everything that
could change a decision goes after them. Running it again finishes a first run that was interrupted.

It does not touch objects that others may use: namespaces, CustomResourceDefinitions, AppProjects
with other Applications, Secrets, documents that were copied from the repository, and
MultiKueueConfigs, which jobs need. `whatstays` lists them.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.errors import HubError
from gitops_dsf.hub.applications import prunes
from gitops_dsf.hub.names import (
    APPLICATION_LABEL,
    MOVES_CONFIGMAP,
    PART_OF_LABEL,
    RECONCILER,
    STATUS_CONFIGMAP,
)
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.installation.hub import (
    MAX_REQUESTS,
    ForbiddenError,
    Manifest,
    Served,
    WritableHub,
    object_text,
    report,
)
from gitops_dsf.installation.maintenancetaints import tainted_clusters, untaint
from gitops_dsf.installation.objectkinds import (
    ADDON,
    APPLICATION,
    APPLICATION_SET,
    CONFIGMAP,
    DEFINITION,
    DEPLOYMENT,
    LEASE,
    PROJECT,
    SCORE,
    WORK,
    GroupKind,
    names_of,
)
from gitops_dsf.installation.whatstays import what_stays
from gitops_dsf.render.argocd import rendered_kinds
from gitops_dsf.wording import names_text

OURS: Final = f"{MANAGED_BY_LABEL}={GENERATOR_MANAGER},{PART_OF_LABEL}=gitops-dsf"
KEPT: Final = frozenset({GroupKind("", "Namespace"), DEFINITION})
"""Deleting one of these deletes what others have in it."""
FIRST: Final = (APPLICATION, DEPLOYMENT, APPLICATION_SET)
"""Kinds that go first, because they would undo a deletion or move an application."""
ON_CLUSTERS: Final = (ADDON, WORK)
"""Kinds that OCM removes from the managed clusters.

It needs the rights and templates that go later.
"""
SUSPENDED_CONFIGMAP: Final = "gitops-dsf-suspended"
"""Left over from reconcilers that still suspended scorers. Nothing writes or reads it any more."""
TRACKING: Final = "argocd.argoproj.io/tracking-id"
"""The annotation with which Argo CD marks what it applies; the Application is before the colon."""
FLUX: Final = "kustomize.toolkit.fluxcd.io/name"
"""The label with which Flux marks what a Kustomization applies."""
POLL_SECONDS: Final = 2.0
"""The time between two looks at the objects that OCM still removes."""
POLICY_POLLS: Final = 30
POLICY_POLL_SECONDS: Final = 0.5
"""The time between two attempts of a deletion that a policy refuses, because the policy is deleted
already: API servers take up changed policies once a second (Kubernetes 1.37.2,
apiserver/pkg/admission/plugin/policy/generic/policy_source.go).
"""


class UninstallError(HubError):
    """Something else would bring the objects back, or the hub does not finish a deletion."""


@dataclass(kw_only=True)
class Uninstaller:
    """Deletes what is labelled as ours, in an order in which no application moves."""

    hub: WritableHub
    hub_namespace: str
    argocd_namespace: str
    with_applications: bool = False
    _labelled: dict[GroupKind, list[Manifest]] = field(
        default_factory=lambda: defaultdict(list), init=False
    )
    """The objects with our labels."""
    _served: dict[GroupKind, Served] = field(default_factory=dict, init=False)
    _copied: list[str] = field(default_factory=list, init=False)
    """Documents that were copied from the repository. They have no label of ours."""
    _deleted: set[str] = field(default_factory=set, init=False)
    _used_projects: list[str] = field(default_factory=list, init=False)
    """AppProjects that other Applications use, with one of them."""
    _of_reconciler: dict[GroupKind, list[Manifest]] = field(default_factory=dict, init=False)
    """The objects that the reconciler created. They have no label of ours."""
    _tainted: list[str] = field(default_factory=list, init=False)
    """Clusters with the taint of a maintenance."""

    def run(self, *, seconds: float | None) -> None:
        """Removes everything, and reports each step.

        It waits up to `seconds` until OCM has removed the agents from the managed clusters, or not
        at all with None. Raises UninstallError and HubError.
        """
        for kind in sorted({*rendered_kinds(), APPLICATION, PROJECT} - KEPT):
            self._read_labelled(GroupKind(*kind))
        self._refuse_what_comes_back()
        self._copied = sorted(self._copied_documents())
        self._of_reconciler = self._created_by_reconciler()
        self._tainted = tainted_clusters(self.hub)
        if not any((*self._labelled.values(), *self._of_reconciler.values(), self._tainted)):
            report("no object of gitops-dsf is on this hub")
        self._drop_finalizers()
        for kind in FIRST:
            # Kubernetes' garbage collection would delete the Applications of an ApplicationSet, and
            # Argo CD their workloads.
            self._remove(kind, orphan=kind == APPLICATION_SET)
        if self.with_applications:
            # Argo CD then deletes their workloads.
            self._labelled[APPLICATION] = self._generated_applications()
            self._remove(APPLICATION)
        for kind in ON_CLUSTERS:
            self._remove(kind)
        # The next ones are the rights and templates with which OCM removes them.
        if seconds is not None and not self.hub.dry_run:
            self._wait_for_clusters(seconds=seconds)
        for kind in sorted(self._labelled.keys() - {*FIRST, *ON_CLUSTERS, PROJECT}):
            self._remove(kind)
        self._keep_used_projects()
        self._remove(PROJECT)
        self._remove_what_the_reconciler_created()
        untaint(self.hub, self._tainted)
        self._release_health_checks()
        self._report_what_stays()

    def _read_labelled(self, kind: GroupKind) -> None:
        served = self.hub.kind(kind.group, kind=kind.kind)
        if served is not None:
            self._served[kind] = served
            self._labelled[kind] = self.hub.list(served.path(), labels=OURS)

    def _refuse_what_comes_back(self) -> None:
        """Raises UninstallError if a root Application or Flux applies our objects."""
        # One of our Applications may apply the others: all of them go first.
        ours = {manifest["metadata"]["name"] for manifest in self._labelled[APPLICATION]}
        for kind, manifests in self._labelled.items():
            for manifest in manifests:
                metadata = manifest["metadata"]
                root = (metadata.get("annotations") or {}).get(TRACKING, "").partition(":")[0]
                flux = (metadata.get("labels") or {}).get(FLUX)
                if flux:
                    raise UninstallError(
                        f"{object_text(kind.kind, manifest)} is applied by the Kustomization"
                        f" {flux} of Flux, which would bring it back: delete that first, without"
                        " what it applied, and run uninstall again"
                    )
                if root and root not in ours and kind in {APPLICATION, PROJECT}:
                    raise UninstallError(
                        f"{object_text(kind.kind, manifest)} is applied by the Application {root},"
                        " which would bring it back: delete that first, without what it applied,"
                        " and run uninstall again"
                    )

    def _copied_documents(self) -> Iterator[str]:
        """The objects without our label that our Applications applied: those of the repository."""
        for application in self._labelled[APPLICATION]:
            for resource in (application.get("status") or {}).get("resources") or ():
                kind = GroupKind(resource.get("group", ""), resource["kind"])
                place = (resource.get("namespace"), resource["name"])
                if kind not in KEPT and place not in _places(self._labelled[kind]):
                    yield f"{kind.kind} {'/'.join(filter(None, place))}"

    def _drop_finalizers(self) -> None:
        """Argo CD deletes what an Application applied if it has this finalizer.

        We delete it in our order.
        """
        for application in self._labelled[APPLICATION]:
            finalizers = application["metadata"].get("finalizers") or []
            others = [finalizer for finalizer in finalizers if not prunes(finalizer)]
            if others != finalizers:
                change = {"metadata": {"finalizers": others or None}}
                self.hub.merge(self._path(APPLICATION, application), change)

    def _remove(self, kind: GroupKind, *, orphan: bool = False) -> None:
        """Deletes the labelled objects of a kind; `orphan` keeps what they own."""
        manifests = self._labelled[kind]
        with ThreadPoolExecutor(MAX_REQUESTS) as threads:
            deletions: list[Future[bool]] = []
            for manifest in manifests:
                path = self._path(kind, manifest)
                deletions.append(threads.submit(self.hub.delete, path, orphan=orphan))
        # Only now, so that one refusal leaves no other deletion of the kind untried.
        for deletion in deletions:
            deletion.result()
        self._deleted.update(object_text(kind.kind, manifest) for manifest in manifests)
        self._report_deleted(kind, manifests)

    def _generated_applications(self) -> list[Manifest]:
        """The Applications that ApplicationSets generated."""
        served = self._served.get(APPLICATION)
        if served is None:
            return []
        applications = self.hub.list(served.path(), labels=APPLICATION_LABEL)
        remaining: list[Manifest] = []
        for application in applications:
            # One that is being deleted needs no second request, and does not stay.
            if "deletionTimestamp" not in application["metadata"]:
                remaining.append(application)
        return remaining

    def _wait_for_clusters(self, *, seconds: float) -> None:
        """Waits until OCM has removed add-ons and works. Raises UninstallError after this time."""
        until = time.monotonic() + seconds
        reported = False
        while remaining := self._on_clusters():
            if time.monotonic() >= until:
                raise UninstallError(
                    f"after {seconds:.0f} s still there: {names_text(remaining)}. OCM removes them"
                    " when the work agents of these clusters answer: run uninstall again then, or"
                    " with --no-wait to leave the agents on clusters that never come back"
                )
            if not reported:
                report("waiting until OCM has removed the agents from the managed clusters")
                reported = True
            time.sleep(POLL_SECONDS)

    def _on_clusters(self) -> list[str]:
        """The add-ons and works that OCM has not removed yet."""
        names = []
        for kind in ON_CLUSTERS:
            if kind in self._served:
                manifests = self.hub.list(self._served[kind].path(), labels=OURS)
                names += [object_text(kind.kind, manifest) for manifest in manifests]
        return names

    def _keep_used_projects(self) -> None:
        """Argo CD neither syncs nor deletes an Application without its project."""
        served = self._served.get(APPLICATION)
        if served is None:
            return
        # A dry run deletes nothing, so Applications that would be deleted are still listed.
        going = self._deleted if self.hub.dry_run else set[str]()
        users: dict[str, str] = {}
        for application in self.hub.list(served.path()):
            name = object_text(APPLICATION.kind, application)
            if name not in going:
                users[str(application["spec"].get("project"))] = name
        for project in list(self._labelled[PROJECT]):
            user = users.get(project["metadata"]["name"])
            if user is not None:
                self._labelled[PROJECT].remove(project)
                name = object_text(PROJECT.kind, project)
                self._used_projects.append(f"{name}: {user} belongs to it")

    def _created_by_reconciler(self) -> dict[GroupKind, list[Manifest]]:
        """The objects that the reconciler creates on a hub."""
        names = {
            LEASE: (RECONCILER,),
            CONFIGMAP: (SUSPENDED_CONFIGMAP, MOVES_CONFIGMAP, STATUS_CONFIGMAP),
        }
        created: dict[GroupKind, list[Manifest]] = {}
        for kind, wanted in names.items():
            served = self.hub.kind(kind.group, kind=kind.kind)
            if served is None:
                continue
            self._served.setdefault(kind, served)
            paths = [served.path(namespace=self.hub_namespace, name=name) for name in wanted]
            live = list(map(self.hub.live, paths))
            created[kind] = [manifest for manifest in live if manifest is not None]
        scores = self.hub.kind(SCORE.group, kind=SCORE.kind)
        if scores is not None:
            self._served.setdefault(SCORE, scores)
            created[SCORE] = self.hub.list(scores.path(), name=MOVES_SCORE)
        return created

    def _remove_what_the_reconciler_created(self) -> None:
        """Deletes what the reconciler created, when it no longer has the rights to create it again.

        OCM counts the scores of moves for ever: they have no validUntil.
        """
        for kind, manifests in self._of_reconciler.items():
            # In a dry run, our policies are still there, and refuse the deletion of such scores.
            if not self.hub.dry_run:
                paths = [self._path(kind, manifest) for manifest in manifests]
                with ThreadPoolExecutor(MAX_REQUESTS) as threads:
                    list(threads.map(self._delete_without_policies, paths))
            self._report_deleted(kind, manifests)

    def _delete_without_policies(self, path: str) -> None:
        """Deletes an object that a policy protects which is deleted already."""
        for _ in range(POLICY_POLLS):
            try:
                self.hub.delete(path)
            except ForbiddenError:
                time.sleep(POLICY_POLL_SECONDS)
            else:
                return
        self.hub.delete(path)

    def _release_health_checks(self) -> None:
        """Gives up our fields of Argo CD's ConfigMap.

        The API server removes those that have no other owner.
        """
        released: Manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "argocd-cm", "namespace": self.argocd_namespace},
        }
        live = self.hub.live(f"/api/v1/namespaces/{self.argocd_namespace}/configmaps/argocd-cm")
        managers = ((live or {}).get("metadata") or {}).get("managedFields") or ()
        # An apply creates a ConfigMap that is not there.
        if not any(map(_is_ours, managers)):
            return
        self.hub.apply(released, force=False)
        if self.hub.dry_run:
            report(
                f"ConfigMap {self.argocd_namespace}/argocd-cm: our health checks would be removed"
            )
        else:
            report(f"ConfigMap {self.argocd_namespace}/argocd-cm: our health checks removed")

    def _report_what_stays(self) -> None:
        """Reports what is not removed, and why."""
        report("")
        report("What stays")
        for line in self._used_projects:
            report(f"  {line}")
        remaining = what_stays(
            self.hub,
            hub_namespace=self.hub_namespace,
            argocd_namespace=self.argocd_namespace,
            running=() if self.with_applications else self._generated_applications(),
            copied=self._copied,
        )
        for line in remaining:
            report(f"  {line}")

    def _path(self, kind: GroupKind, manifest: Manifest) -> str:
        metadata = manifest["metadata"]
        return self._served[kind].path(
            namespace=metadata.get("namespace", ""), name=metadata["name"]
        )

    def _report_deleted(self, kind: GroupKind, manifests: Sequence[Manifest]) -> None:
        if not manifests:
            return
        if self.hub.dry_run:
            report(f"{names_of(kind, manifests)}: would be deleted")
        else:
            report(f"{names_of(kind, manifests)}: deleted")


def _is_ours(manager: Manifest) -> bool:
    """Whether an entry of managedFields is that of our server-side apply."""
    return manager.get("manager") == GENERATOR_MANAGER and manager.get("operation") == "Apply"


def _places(manifests: Iterable[Manifest]) -> set[tuple[str | None, str]]:
    keys: set[tuple[str | None, str]] = set()
    for manifest in manifests:
        metadata = manifest["metadata"]
        keys.add((metadata.get("namespace"), metadata["name"]))
    return keys
