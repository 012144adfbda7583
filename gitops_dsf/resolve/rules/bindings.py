"""Checks ManagedClusterSetBindings: those that people wrote, and the owners of the others."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.model.declared import CarriedItem, RankingItem
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean

_Key = tuple[str, str]
"""Namespace and ManagedClusterSet of a binding."""


@rule()
def bindings_are_named_as_their_set(context: Context) -> Iterator[Diagnostic]:
    """OCM's webhook refuses a binding whose name is not that of its set."""
    for binding in context.declared.bindings:
        cluster_set = binding.value.spec.cluster_set
        # The refusal fails the sync of the Application that has the binding.
        if binding.name != cluster_set:
            yield codes.BINDING_NAME.at(
                binding.at("metadata", "name"),
                f"OCM refuses the binding {binding.name} of the ManagedClusterSet {cluster_set}:"
                " both need the same name",
                f"write name: {cluster_set}, or clusterSet: {binding.name}",
            )


@rule(needs=("ManagedClusterSet",))
def sets_of_bindings_exist(context: Context) -> Iterator[Diagnostic]:
    """A binding of a set that does not exist binds nothing."""
    names = {*context.inventory.sets, *BUILT_IN_SETS}
    for binding in context.declared.bindings:
        cluster_set = binding.value.spec.cluster_set
        if cluster_set not in names:
            hint = did_you_mean(cluster_set, names)
            yield codes.UNKNOWN_SET.at(
                binding.at("spec", "clusterSet"),
                f"there is no ManagedClusterSet {cluster_set} in clusters/",
                hint or "write the set into clusters/, or name another",
            )


@rule(needs=("FleetRepository",))
def bindings_have_one_owner(context: Context) -> Iterator[Diagnostic]:
    """A binding is rendered if one object asks for it, although another says that others own it."""
    owners = _owners(context)
    for ranking in context.declared.rankings:
        if ranking.value.spec.bindings == "Rendered":
            continue
        namespace = context.namespace_of(ranking)
        for cluster_set in ranking.value.spec.placement.cluster_sets:
            owner = owners.get((namespace, cluster_set))
            if owner is not None:
                yield _two_owners(ranking, namespace, cluster_set, owner)


def _owners(context: Context) -> dict[_Key, RankingItem | CarriedItem]:
    """The object for which each binding is rendered: those that people wrote come first."""
    owners: dict[_Key, RankingItem | CarriedItem] = {}
    for binding in context.declared.bindings:
        owners[context.namespace_of(binding), binding.value.spec.cluster_set] = binding
    for ranking in context.declared.rankings:
        if ranking.value.spec.bindings == "Rendered":
            for cluster_set in ranking.value.spec.placement.cluster_sets:
                owners.setdefault((context.namespace_of(ranking), cluster_set), ranking)
    for placement in context.declared.placements:
        namespace = context.namespace_of(placement)
        cluster_sets = placement.value.spec.get("clusterSets")
        # In other namespaces no binding is rendered for a Placement that people wrote themselves.
        if isinstance(cluster_sets, list) and namespace == context.argocd_namespace:
            for cluster_set in cluster_sets:
                owners.setdefault((namespace, str(cluster_set)), placement)
    return owners


def _two_owners(
    ranking: RankingItem, namespace: str, cluster_set: str, owner: RankingItem | CarriedItem
) -> Diagnostic:
    can_say_existing = owner.document.kind in {"ScoredApplication", "ScoredPlacement"}
    return codes.BINDING_OWNER.at(
        ranking.at("spec", "bindings"),
        f"the binding of the ManagedClusterSet {cluster_set} in {namespace} is rendered for"
        f" {owner.document.kind} {owner.name}, so Argo CD takes it over, and deletes it when"
        " nothing here asks for it any more",
        f"write bindings: Existing at {owner.position} too, or Rendered here"
        if can_say_existing
        else "write bindings: Rendered here",
    )
