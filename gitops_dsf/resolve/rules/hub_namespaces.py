"""Checks names of namespaces of the hub: those of clusters and Placements, and the hub namespace itself."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.namespaces import owner_on_every_hub
from gitops_dsf.repository.model.apps import ScoredPlacement
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawBinding, RawPlacement
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

_DEFAULT_HUB_NAMESPACE: Final = FleetRepositorySpec.model_fields["hub_namespace"].default
"""Open Cluster Management's own namespace. The upstream controller looks for DynamicScorers there."""


@rule(needs=("FleetRepository",))
def clusters_have_namespaces_of_their_own(context: Context) -> Iterator[Diagnostic]:
    """The ManifestWork of a cluster and the rights of its agent are rendered into the namespace of its name.

    The AppProject of the works denies these namespaces, so one such cluster stops the whole shard: Argo CD
    applies nothing of an Application with an object that the project does not allow.
    """
    for item in context.declared.clusters:
        owner = context.settings.platform.owner_of(item.name)
        if owner is not None:
            message = (
                f"the hub's namespace {item.name} belongs to {owner.owner} ({owner.reason}), and a cluster's"
                " ManifestWork and rights are rendered into the namespace of its name"
            )
            hint = "remove the cluster here, and join it to the hub under another name"
            yield codes.CLUSTER_NAMESPACE.at(item.position, message, hint)


@rule(needs=("FleetRepository", "ManagedCluster"))
def placements_have_namespaces_of_their_own(context: Context) -> Iterator[Diagnostic]:
    """The AppProject allows the namespace of each Placement and of each ManagedClusterSetBinding, with all
    kinds that are rendered.

    ApplicationSets must be in Argo CD's namespace; another rule says so.
    """
    declared = context.declared
    placements: tuple[Item[ScoredPlacement] | Item[RawPlacement] | Item[RawBinding], ...]
    placements = (*declared.scored_placements, *declared.placements, *declared.bindings)
    for item in placements:
        namespace = context.namespace_of(item)
        if namespace == context.argocd_namespace:
            continue
        owner = context.settings.platform.owner_of(namespace)
        position = item.at("metadata", "namespace")
        if owner is not None:
            message = (
                f"the hub's namespace {namespace} belongs to {owner.owner} ({owner.reason}), and a"
                f" {item.document.kind.removeprefix('Scored')} in it would let Argo CD apply other objects"
                " of the rendered tree there, too"
            )
            hint = (
                "write the namespace of the program that reads the decision, such as kueue-system"
            )
            yield codes.PLACEMENT_NAMESPACE.at(position, message, hint)
        elif namespace in context.inventory.clusters:
            message = (
                f"the hub's namespace {namespace} belongs to the cluster {namespace}: the cluster's agents"
                " have rights in it, and it is deleted when the cluster leaves the hub"
            )
            hint = (
                "write the namespace of the program that reads the decision, such as kueue-system"
            )
            yield codes.PLACEMENT_NAMESPACE.at(position, message, hint)


@rule(needs=(SETTINGS, "ManagedCluster"))
def the_hub_namespace_is_ours(context: Context) -> Iterator[Diagnostic]:
    """The reconciler and the DynamicScorers are in the hub namespace, and it must outlive all clusters."""
    namespace = context.settings.hub_namespace
    if namespace in {_DEFAULT_HUB_NAMESPACE, context.argocd_namespace}:
        return
    position = context.repository.at("spec", "hubNamespace")
    owner = owner_on_every_hub(namespace)
    if owner is not None:
        message = (
            f"the hub's namespace {namespace} belongs to {owner.owner} ({owner.reason}), and the reconciler"
            " and the DynamicScorers would be rendered into it"
        )
        hint = f"write {_DEFAULT_HUB_NAMESPACE}, or a namespace for gitops-dsf alone"
        yield codes.HUB_NAMESPACE.at(position, message, hint)
    elif namespace in context.inventory.clusters:
        message = (
            f"the hub's namespace {namespace} belongs to the cluster {namespace}: it is deleted, with the"
            " reconciler and all DynamicScorers, when the cluster leaves the hub"
        )
        hint = f"write {_DEFAULT_HUB_NAMESPACE}, or a namespace for gitops-dsf alone"
        yield codes.HUB_NAMESPACE.at(position, message, hint)
