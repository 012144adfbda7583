"""Warnings of manual steps that Argo CD leaves to people, and of shared objects that it deletes."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.argocd import BOOTSTRAP
from gitops_dsf.render.works import WORKS
from gitops_dsf.views.preview.applied import Manifest, applied


@dataclass(frozen=True, kw_only=True)
class ScoresChangeWriter:
    """Upstream's agents publish the scores from now on."""


@dataclass(frozen=True, kw_only=True)
class BootstrapChanged:
    """Objects of rendered/argocd that change, such as `AppProject gitops-dsf`."""

    objects: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class BootstrapRemoved:
    """Objects that rendered/argocd has no more."""

    objects: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AgentsStay:
    """Clusters that leave, and on which the agent stays until a person deletes its add-on."""

    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DirectoryEmptied:
    """A directory of rendered/ that loses its last object."""

    directory: str


@dataclass(frozen=True, kw_only=True)
class BindingsDeleted:
    """Cluster sets that Placements of others in a namespace can use no more."""

    namespace: str
    cluster_sets: tuple[str, ...]


ManualStep = (
    ScoresChangeWriter
    | BootstrapChanged
    | BootstrapRemoved
    | AgentsStay
    | DirectoryEmptied
    | BindingsDeleted
)


def manual_step_warnings(
    base: CheckedFleet | None, head: CheckedFleet, snapshot: Snapshot | None
) -> Iterator[ManualStep]:
    """The manual steps that the change needs, and facts to know before it is merged."""
    if base is None:
        return
    yield from _bootstrap_warnings(base, head)
    if head.repository.spec.delivers_works:
        yield from _agent_warnings(base, head, snapshot)
    elif base.repository.spec.delivers_works:
        # Upstream's agent replaces the items of a score, and nothing besides
        # (dynamic-scoring-framework v0.1.0, pkg/dynamic_scoring_agent/agent.go).
        yield ScoresChangeWriter()
    yield from _binding_warnings(base, head)


def _bootstrap_warnings(
    base: CheckedFleet, head: CheckedFleet
) -> Iterator[BootstrapChanged | BootstrapRemoved]:
    """Warns of changes in rendered/argocd, which people apply."""
    # Argo CD does not apply these objects, because they say what it may apply.
    before = _bootstrap(base)
    after = _bootstrap(head)
    changed: list[str] = []
    for key in sorted(after):
        if before.get(key) != after[key]:
            changed.append(key)
    gone = sorted(before.keys() - after.keys())
    if changed:
        yield BootstrapChanged(objects=tuple(changed))
    if gone:
        yield BootstrapRemoved(objects=tuple(gone))


def _bootstrap(fleet: CheckedFleet) -> dict[str, Manifest]:
    """The objects of rendered/argocd, by kind and name."""
    by_title: dict[str, Manifest] = {}
    for path, manifest in applied(fleet).objects.items():
        if path.startswith(f"{BOOTSTRAP}/"):
            by_title[f"{manifest['kind']} {manifest['metadata']['name']}"] = manifest
    return by_title


def _agent_warnings(
    base: CheckedFleet, head: CheckedFleet, snapshot: Snapshot | None
) -> Iterator[AgentsStay | DirectoryEmptied]:
    """Warns of what stays on clusters that lose their agent, and says what to do.

    OCM makes its ClusterManagementAddOn the owner of a ManagedClusterAddOn, and Argo CD prunes no
    object that has an owner (docs/contributing/behaviour.md#owners-of-generated-applications).
    """
    leaving = {work.cluster for work in base.works} - {work.cluster for work in head.works}
    if snapshot is not None and snapshot.clusters:
        # With its ManagedCluster OCM deletes everything of a cluster, so there is nothing to do.
        leaving &= snapshot.clusters.keys()
    if leaving:
        yield AgentsStay(clusters=tuple(sorted(leaving)))
        yield from _empty_directory_warnings(base, head)


def _empty_directory_warnings(base: CheckedFleet, head: CheckedFleet) -> Iterator[DirectoryEmptied]:
    """Warns of directories of works that lose their last object.

    Argo CD never syncs an Application to nothing by itself (allowEmpty), so that a mistake in git
    deletes nothing.
    """
    files = applied(head).paths
    for directory in sorted(_filled_directories(base) - _filled_directories(head)):
        # With fewer shards the README of a directory goes, and the Application that reads it.
        if f"{directory}/README.md" in files:
            yield DirectoryEmptied(directory=directory)


def _filled_directories(fleet: CheckedFleet) -> frozenset[str]:
    """The directories of works that have an object."""
    directories = set()
    for path in applied(fleet).paths:
        if path.startswith(WORKS):
            directory, _, name = path.partition("/")
            if name != "README.md":
                directories.add(directory)
    return frozenset(directories)


def _binding_warnings(base: CheckedFleet, head: CheckedFleet) -> Iterator[BindingsDeleted]:
    """Warns of bindings that Argo CD deletes, because others may use them."""
    sets_by_namespace = defaultdict[str, list[str]](list)
    for namespace, cluster_set in sorted(applied(base).bindings - applied(head).bindings):
        sets_by_namespace[namespace].append(cluster_set)
    for namespace, names in sets_by_namespace.items():
        yield BindingsDeleted(namespace=namespace, cluster_sets=tuple(names))
