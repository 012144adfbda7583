"""Warnings of what Argo CD leaves to people, and of what it deletes although others use it."""

from collections import defaultdict
from collections.abc import Iterator

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.names import WORK_NAME
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.argocd import BOOTSTRAP
from gitops_dsf.render.works import WORKS
from gitops_dsf.views.preview.applied import Manifest, applied
from gitops_dsf.wording import names_text


def manual_step_warnings(
    base: CheckedFleet | None, head: CheckedFleet, snapshot: Snapshot | None
) -> Iterator[str]:
    """What somebody must do by hand because of the change, or must know before it is merged."""
    if base is None:
        return
    yield from _bootstrap_warnings(base, head)
    if head.repository.spec.delivers_works:
        yield from _agent_warnings(base, head, snapshot)
    elif base.repository.spec.delivers_works:
        # Upstream's agent replaces the items of a score, and nothing besides
        # (dynamic-scoring-framework v0.1.0, pkg/dynamic_scoring_agent/agent.go).
        yield (
            "upstream's agents will publish the scores, and do not renew the validUntil that ours"
            " wrote: after the sync delete the AddOnPlacementScores of our agents, else they expire"
            " and count as 0; gitops-dsf doctor names them, and what else of ours is left"
        )
    yield from _binding_warnings(base, head)


def _bootstrap_warnings(base: CheckedFleet, head: CheckedFleet) -> Iterator[str]:
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
        yield (
            f"{names_text(changed)} in rendered/argocd, which people apply: run gitops-dsf install"
            " after the merge; until then the hub refuses what the old ones do not allow"
        )
    if gone:
        yield (
            f"rendered/argocd no longer has {names_text(gone)}, which Argo CD leaves on the hub:"
            " delete it there"
        )


def _bootstrap(fleet: CheckedFleet) -> dict[str, Manifest]:
    """The objects of rendered/argocd, by kind and name."""
    by_title: dict[str, Manifest] = {}
    for path, manifest in applied(fleet).objects.items():
        if path.startswith(f"{BOOTSTRAP}/"):
            by_title[f"{manifest['kind']} {manifest['metadata']['name']}"] = manifest
    return by_title


def _agent_warnings(
    base: CheckedFleet, head: CheckedFleet, snapshot: Snapshot | None
) -> Iterator[str]:
    """Warns of what stays on clusters that lose their agent, and says what to do.

    OCM makes its ClusterManagementAddOn the owner of a ManagedClusterAddOn, and Argo CD prunes no
    object that has an owner (docs/contributing/behaviour.md#owners-of-generated-applications).
    """
    leaving = {work.cluster for work in base.works} - {work.cluster for work in head.works}
    if snapshot is not None and snapshot.clusters:
        # With its ManagedCluster OCM deletes everything of a cluster, so there is nothing to do.
        leaving &= snapshot.clusters.keys()
    names = sorted(leaving)
    if len(names) == 1:
        yield (
            f"when {names[0]} leaves, the next sync of Argo CD, by default within 3 minutes after"
            f" rendered/ is pushed, deletes the ManifestWork {WORK_NAME} and the rights of the"
            f" agent there, and the scores expire; the ManagedClusterAddOn {ADDON_NAME} and the"
            " agent stay, because OCM owns them and Argo CD deletes nothing that has an owner: run"
            f" kubectl -n {names[0]} delete managedclusteraddon {ADDON_NAME} after the sync; OCM"
            " removes the agent when the cluster answers"
        )
    elif names:
        yield (
            f"when {names_text(names)} leave, the next sync of Argo CD, by default within 3 minutes"
            f" after rendered/ is pushed, deletes the ManifestWork {WORK_NAME} and the rights of"
            f" the agent there, and the scores expire; the ManagedClusterAddOn {ADDON_NAME} and the"
            " agent stay, because OCM owns them and Argo CD deletes nothing that has an owner: run"
            f" kubectl -n CLUSTER delete managedclusteraddon {ADDON_NAME} for each of them after"
            " the sync; OCM removes the agent when the cluster answers"
        )
    if names:
        yield from _empty_directory_warnings(base, head)


def _empty_directory_warnings(base: CheckedFleet, head: CheckedFleet) -> Iterator[str]:
    """Warns of directories of works that lose their last object.

    Argo CD never syncs an Application to nothing by itself (allowEmpty), so that a mistake in git
    deletes nothing.
    """
    files = applied(head).paths
    for directory in sorted(_filled_directories(base) - _filled_directories(head)):
        # With fewer shards the README of a directory goes, and the Application that reads it.
        if f"{directory}/README.md" in files:
            yield (
                f"rendered/{directory} would be empty, and Argo CD never syncs to an empty"
                " directory by itself: what it has there stays on the hub until somebody runs"
                f" argocd app sync gitops-dsf-{directory} --prune"
            )


def _filled_directories(fleet: CheckedFleet) -> frozenset[str]:
    """The directories of works that have an object."""
    directories = set()
    for path in applied(fleet).paths:
        if path.startswith(WORKS):
            directory, _, name = path.partition("/")
            if name != "README.md":
                directories.add(directory)
    return frozenset(directories)


def _binding_warnings(base: CheckedFleet, head: CheckedFleet) -> Iterator[str]:
    """Warns of bindings that Argo CD deletes, because others may use them."""
    sets_by_namespace = defaultdict[str, list[str]](list)
    for namespace, cluster_set in sorted(applied(base).bindings - applied(head).bindings):
        sets_by_namespace[namespace].append(cluster_set)
    for namespace, names in sets_by_namespace.items():
        yield (
            f"Argo CD deletes the ManagedClusterSetBinding of {names_text(names)} in {namespace}:"
            " Placements of others there, such as that of a GitOpsCluster, can no longer choose"
            " from this set; to keep it, write it as a ManagedClusterSetBinding into apps/"
        )
