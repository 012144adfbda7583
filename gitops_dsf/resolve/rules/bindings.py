"""Checks ManagedClusterSetBindings: those that people wrote, and who owns the others."""

from collections import defaultdict
from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.model.declared import CarriedItem, RankingItem
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean


@rule()
def bindings_are_named_as_their_set(context: Context) -> Iterator[Diagnostic]:
    """OCM's webhook refuses a binding whose name is not that of its set."""
    for item in context.declared.bindings:
        wanted = item.value.spec.cluster_set
        if item.name != wanted:
            yield codes.BINDING_NAME.at(
                item.at("metadata", "name"),
                f"OCM refuses the binding {item.name} of the ManagedClusterSet {wanted}: both need one name",
                f"write name: {wanted}, or clusterSet: {item.name}",
            )


@rule(needs=("ManagedClusterSet",))
def sets_of_bindings_exist(context: Context) -> Iterator[Diagnostic]:
    """A binding of a set that does not exist binds nothing."""
    known = {*context.inventory.sets, *BUILT_IN_SETS}
    for item in context.declared.bindings:
        wanted = item.value.spec.cluster_set
        if wanted not in known:
            message = f"there is no ManagedClusterSet {wanted} in clusters/"
            hint = did_you_mean(wanted, known) or "write the set into clusters/, or name another"
            yield codes.UNKNOWN_SET.at(item.at("spec", "clusterSet"), message, hint)


@rule(needs=("FleetRepository",))
def bindings_have_one_owner(context: Context) -> Iterator[Diagnostic]:
    """A binding is rendered if one object asks for it, although another says that somebody else owns it."""
    declared = context.declared
    rendered: dict[tuple[str, str], RankingItem | CarriedItem] = {}
    existing: dict[tuple[str, str], list[RankingItem]] = defaultdict(list)
    for binding in declared.bindings:
        rendered[context.namespace_of(binding), binding.value.spec.cluster_set] = binding
    for ranking in declared.rankings:
        for name in ranking.value.spec.placement.cluster_sets:
            key = context.namespace_of(ranking), name
            if ranking.value.spec.bindings == "Rendered":
                rendered.setdefault(key, ranking)
            else:
                existing[key].append(ranking)
    for placement in declared.placements:
        namespace, sets = context.namespace_of(placement), placement.value.spec.get("clusterSets")
        for name in (
            sets if isinstance(sets, list) and namespace == context.argocd_namespace else ()
        ):
            rendered.setdefault((namespace, str(name)), placement)
    for (namespace, name), items in existing.items():
        owner = rendered.get((namespace, name))
        if owner is None:
            continue
        for item in items:
            yield codes.BINDING_OWNER.at(
                item.at("spec", "bindings"),
                f"the binding of the ManagedClusterSet {name} in {namespace} is rendered for"
                f" {owner.document.kind} {owner.name}, so Argo CD takes it over, and deletes it when nothing"
                " here asks for it any more",
                f"write bindings: Existing at {owner.position} too, or Rendered here"
                if owner.document.kind in {"ScoredApplication", "ScoredPlacement"}
                else "write bindings: Rendered here",
            )
