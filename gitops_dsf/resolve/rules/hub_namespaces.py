"""Checks the hub's namespaces: those of clusters and Placements, and the hub namespace."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.names import HUB_NAMESPACE
from gitops_dsf.hub.namespaces import owner_on_every_hub
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawBinding, RawPlacement
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

_OCM_NAMESPACE: Final = "open-cluster-management"
"""A namespace of Open Cluster Management that fleets may share with it.

It was the default once. On a hub with Red Hat's operator `doctor` warns about it.
"""


@rule(needs=("FleetRepository",))
def clusters_have_namespaces_of_their_own(context: Context) -> Iterator[Diagnostic]:
    """ManifestWork and rights of a cluster are rendered into the namespace of its name.

    The AppProject of the works denies these namespaces, so one such cluster stops the whole shard:
    Argo CD applies nothing of an Application with an object that the project does not allow.
    """
    for cluster in context.declared.clusters:
        owner = context.settings.platform.owner_of(cluster.name)
        if owner is not None:
            yield codes.CLUSTER_NAMESPACE.at(
                cluster.position,
                f"the hub's namespace {cluster.name} belongs to {owner.owner} ({owner.reason}), and"
                " a cluster's ManifestWork and rights are rendered into the namespace of its name",
                "remove the cluster here, and join it to the hub under another name",
            )


@rule(needs=("FleetRepository", "ManagedCluster"))
def placements_have_namespaces_of_their_own(context: Context) -> Iterator[Diagnostic]:
    """The AppProject allows the namespace of each Placement, with all kinds that are rendered.

    The same holds for ManagedClusterSetBindings. ApplicationSets must be in Argo CD's namespace;
    another rule says so.
    """
    declared = context.declared
    namespaced: tuple[Item[ScoredPlacement] | Item[RawPlacement] | Item[RawBinding], ...]
    namespaced = (*declared.scored_placements, *declared.placements, *declared.bindings)
    for item in namespaced:
        namespace = context.namespace_of(item)
        # The ApplicationSets are there, so the AppProject allows that namespace in any case.
        if namespace == context.argocd_namespace:
            continue
        owner = context.settings.platform.owner_of(namespace)
        if owner is not None:
            rendered_kind = item.document.kind.removeprefix("Scored")
            yield codes.PLACEMENT_NAMESPACE.at(
                item.at("metadata", "namespace"),
                f"the hub's namespace {namespace} belongs to {owner.owner} ({owner.reason}), and a"
                f" {rendered_kind} in it would let Argo CD apply other objects of the rendered tree"
                " there, too",
                "write the namespace of the program that reads the decision, such as kueue-system",
            )
        elif namespace in context.inventory.clusters:
            yield codes.PLACEMENT_NAMESPACE.at(
                item.at("metadata", "namespace"),
                f"the hub's namespace {namespace} belongs to the cluster {namespace}: the cluster's"
                " agents have rights in it, and it is deleted when the cluster leaves the hub",
                "write the namespace of the program that reads the decision, such as kueue-system",
            )


@rule(needs=(SETTINGS, "ManagedCluster"))
def the_hub_namespace_is_ours(context: Context) -> Iterator[Diagnostic]:
    """The hub namespace has the reconciler and the DynamicScorers, so it must outlive clusters."""
    namespace = context.settings.hub_namespace
    if namespace in {HUB_NAMESPACE, _OCM_NAMESPACE, context.argocd_namespace}:
        return
    owner = owner_on_every_hub(namespace)
    if owner is not None:
        yield codes.HUB_NAMESPACE.at(
            context.repository.at("spec", "hubNamespace"),
            f"the hub's namespace {namespace} belongs to {owner.owner} ({owner.reason}), and the"
            " reconciler and the DynamicScorers would be rendered into it",
            f"write {HUB_NAMESPACE}, the default, or another namespace for gitops-dsf alone",
        )
    elif namespace in context.inventory.clusters:
        yield codes.HUB_NAMESPACE.at(
            context.repository.at("spec", "hubNamespace"),
            f"the hub's namespace {namespace} belongs to the cluster {namespace}: it is deleted,"
            " with the reconciler and all DynamicScorers, when the cluster leaves the hub",
            f"write {HUB_NAMESPACE}, the default, or another namespace for gitops-dsf alone",
        )
