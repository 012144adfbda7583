"""Names that must differ on the hub: of scores, and of rendered objects."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.model.declared import CarriedItem, RankingItem
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.scorer import EffectiveScorer


def rendered_objects_differ(context: Context) -> Iterator[Diagnostic]:
    """An application renders an ApplicationSet of its name, and it or a ScoredPlacement renders a Placement
    of its name. A copied document must not have the same kind, namespace and name.
    """
    declared, home = context.declared, context.argocd_namespace
    taken: dict[tuple[str, str, str], Position] = {
        ("ApplicationSet", home, item.name): item.position for item in declared.applications
    }
    taken |= {
        ("Placement", home, item.name): item.position
        for item in declared.applications
        if item.value.spec.placement.ref is None
    }
    others: tuple[RankingItem | CarriedItem, ...] = (*declared.carried, *declared.scored_placements)
    for item in sorted(others, key=lambda found: found.position):
        kind = "Placement" if item.document.kind == "ScoredPlacement" else item.document.kind
        namespace = context.namespace_of(item)
        key = (kind, namespace, item.name)
        first = taken.setdefault(key, item.position)
        if first != item.position:
            message = f"{kind} {item.name} in {namespace} comes from {first} already"
            yield codes.DUPLICATE_OBJECT.at(item.position, message, "rename one of them, or remove it")


def score_names_are_unique(context: Context) -> Iterator[Diagnostic]:
    """Two scorers with the same score name overwrite each other's scores, and so do two names that become the
    same object name.
    """
    field = "scoring.params.name"
    by_name: dict[str, EffectiveScorer] = {}
    by_resource: dict[str, EffectiveScorer] = {}
    for _, scorer in sorted(context.scorers.items()):
        name, resource = scorer.score_name, scorer.resource_name
        if not name:
            continue
        if name in by_name:
            first = by_name[name].at(field)
            message = f"the score name {name} is used at {first}, too: the two scores overwrite each other"
            yield codes.DUPLICATE_SCORE.at(
                scorer.at(field), message, "give each scorer a score name of its own"
            )
        elif resource in by_resource:
            other = by_resource[resource]
            message = (
                f"{name} and {other.score_name} ({other.at(field)}) both become the AddOnPlacementScore"
                f" {resource}"
            )
            yield codes.SANITISED_CLASH.at(
                scorer.at(field), message, "choose names that differ in more than case and punctuation"
            )
        by_name.setdefault(name, scorer)
        by_resource.setdefault(resource, scorer)
