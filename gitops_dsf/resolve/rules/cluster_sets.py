"""Checks ManagedClusterSets: that they exist, and that each cluster is in one that is used."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.repository.load import FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS, ManagedCluster
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule
from gitops_dsf.wording import did_you_mean, names_text


@rule(needs=("ManagedClusterSet",))
def sets_exist(context: Context) -> Iterator[Diagnostic]:
    """The sets that a Placement chooses from must exist."""
    set_names = {*context.inventory.sets, *BUILT_IN_SETS}
    for placement in (*context.declared.rankings, *context.declared.placements):
        is_raw = placement.document.kind == "Placement"
        sets: FieldPath = (
            ("spec", "clusterSets") if is_raw else ("spec", "placement", "clusterSets")
        )
        for path in placement.document.items(*sets):
            name = value_at(placement.document.data, path)
            if isinstance(name, str) and name not in set_names:
                yield codes.UNKNOWN_SET.at(
                    placement.at(*path),
                    f"there is no ManagedClusterSet {name} in clusters/",
                    did_you_mean(name, set_names)
                    or "write the set into clusters/, or name another",
                )


@rule(needs=("ManagedClusterSet",))
def sets_of_clusters_exist(context: Context) -> Iterator[Diagnostic]:
    """A cluster whose set does not exist can be chosen by Placements of the set global only."""
    by_set: dict[str, list[Item[ManagedCluster]]] = {}
    for cluster in context.declared.clusters:
        name = cluster.value.metadata.labels.get(CLUSTER_SET_LABEL)
        if name and not context.inventory.knows_set(name):
            by_set.setdefault(name, []).append(cluster)
    set_names = [*context.inventory.sets, *BUILT_IN_SETS]
    for name, clusters in by_set.items():
        first = clusters[0]
        more = f" and {len(clusters) - 1} more" if len(clusters) > 1 else ""
        yield codes.UNKNOWN_SET_OF_CLUSTER.at(
            first.at("metadata", "labels", CLUSTER_SET_LABEL),
            f"{first.name}{more} would be in the ManagedClusterSet {name}, which is not in"
            " clusters/",
            did_you_mean(name, set_names) or "write the set into clusters/",
        )


@rule(needs=("ManagedCluster", "ManagedClusterSet", *PLACEMENTS))
def clusters_are_in_a_set(context: Context) -> Iterator[Diagnostic]:
    """A cluster without a label of a set is in `default` and `global` only.

    A notice, because a cluster may be in the inventory for its scores alone.
    """
    chosen: set[str] = set()
    for ranking in context.declared.rankings:
        chosen.update(ranking.value.spec.placement.cluster_sets)
    for placement in context.declared.placements:
        sets = placement.value.spec.get("clusterSets")
        # Without clusterSets, OCM takes every set with a binding in the namespace of the Placement
        # (docs/decisions/scheduler.md#the-pass-step-by-step), and bindings may be on the hub only.
        if not isinstance(sets, list) or not sets:
            return
        chosen.update(name for name in sets if isinstance(name, str))
    if not chosen or not all(map(context.inventory.knows_set, chosen)):
        return
    # OCM's registration webhook gives a cluster without the label the set `default`.
    missed = context.inventory.unlabelled - context.inventory.members(chosen)
    clusters = [cluster for cluster in context.declared.clusters if cluster.name in missed]
    if not clusters:
        return
    first = clusters[0]
    others = len(clusters) - 1
    subject = f"{first.name} and {others} more are" if others else f"{first.name} is"
    yield codes.IN_NO_SET.at(
        first.position,
        f"{subject} in no ManagedClusterSet but OCM's default and global, and all Placements choose"
        f" from {names_text(sorted(chosen))}: nothing is ever placed there",
        f"write the label {CLUSTER_SET_LABEL} with the set that it belongs to",
    )
