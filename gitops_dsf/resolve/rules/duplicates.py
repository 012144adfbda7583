"""Checks that no two objects that are rendered have one name."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.model.declared import CarriedItem, RankingItem
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer


@rule(needs=("FleetRepository",))
def rendered_objects_differ(context: Context) -> Iterator[Diagnostic]:
    """Applications and ScoredPlacements render objects of their names; a copied one must differ."""
    declared = context.declared
    home = context.argocd_namespace
    positions: dict[tuple[str, str, str], Position] = {}
    for application in declared.applications:
        positions["ApplicationSet", home, application.name] = application.position
        # One with a ref renders no Placement of its own.
        if application.value.spec.placement.ref is None:
            positions["Placement", home, application.name] = application.position
    others: tuple[RankingItem | CarriedItem, ...] = (*declared.carried, *declared.scored_placements)
    # In order of files, so that the finding is about the later one, whatever its kind is.
    for copied in sorted(others, key=_position):
        is_scored = copied.document.kind == "ScoredPlacement"
        kind = "Placement" if is_scored else copied.document.kind
        namespace = context.namespace_of(copied)
        first = positions.setdefault((kind, namespace, copied.name), copied.position)
        if first != copied.position:
            yield codes.DUPLICATE_OBJECT.at(
                copied.position,
                f"{kind} {copied.name} in {namespace} comes from {first} already",
                "rename one of them, or remove it",
            )


@rule()
def score_names_are_unique(context: Context) -> Iterator[Diagnostic]:
    """Scorers with one score name overwrite each other, as do names that become one object name."""
    field = "scoring.params.name"
    by_name: dict[str, EffectiveScorer] = {}
    by_resource: dict[str, EffectiveScorer] = {}
    for _, scorer in sorted(context.scorers.items()):
        name = scorer.score_name
        if not name:
            continue
        same = by_name.setdefault(name, scorer)
        alike = by_resource.setdefault(scorer.resource_name, scorer)
        if same is not scorer:
            yield codes.DUPLICATE_SCORE.at(
                scorer.at(field),
                f"the score name {name} is used at {same.at(field)}, too: the two scores overwrite"
                " each other",
                "give each scorer a score name of its own",
            )
        elif alike is not scorer:
            yield codes.SANITISED_CLASH.at(
                scorer.at(field),
                f"{name} and {alike.score_name} ({alike.at(field)}) both become the"
                f" AddOnPlacementScore {scorer.resource_name}",
                "choose names that differ in more than case and punctuation",
            )


def _position(declared: RankingItem | CarriedItem) -> Position:
    return declared.position
