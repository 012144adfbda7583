"""Checks references of rankings and applications to scorers and ScoredPlacements."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean_one_of


@rule(needs=("FleetRepository", "ScorerLock"))
def scorers_exist(context: Context) -> Iterator[Diagnostic]:
    """Every scorer that ranks or verifies must exist, run, and publish under a known name."""
    for ranking, path, _, name in context.named_scorers:
        # A document that cannot be read may be the scorer that is meant.
        if name in context.complete or context.declared.may_exist("DynamicScorer", name):
            continue
        position = ranking.at(*path, "scorer")
        scorer = context.scorers.get(name)
        if scorer is None:
            yield codes.UNKNOWN_SCORER.at(
                position, f"there is no DynamicScorer {name}", _scorer_hint(name, context)
            )
        elif context.config_is_unseen(scorer):
            if not scorer.score_name:
                yield codes.UNKNOWN_SCORER.at(
                    position,
                    f"only the /config of {name} says the name of its score",
                    "write scoring.params.name into the scorer, or run gitops-dsf sync --scorer"
                    f" {name}",
                )
        elif context.waits_for_lock(scorer):
            yield codes.UNKNOWN_SCORER.at(
                position,
                f"{name} waits for its lock: nothing will publish this score",
                f"run gitops-dsf sync --scorer {name}",
            )


@rule(needs=("FleetRepository",))
def placements_exist(context: Context) -> Iterator[Diagnostic]:
    """Argo CD reads its own namespace only (docs/contributing/behaviour.md#one-namespace)."""
    home = context.argocd_namespace
    for application in context.declared.applications:
        name = application.value.spec.placement.ref
        # Only those in the namespace of Argo CD are shared.
        if name is None or name in context.shared_placements:
            continue
        if context.declared.may_exist("ScoredPlacement", name):
            continue
        position = application.at("spec", "placement", "ref")
        # One in another namespace exists, so it is not called unknown.
        elsewhere = _scored_placement(name, context)
        if elsewhere is not None:
            yield codes.WRONG_NAMESPACE.at(
                position,
                f"the ScoredPlacement {name} is in {context.namespace_of(elsewhere)}, and Argo CD"
                f" reads decisions in {home} only",
                f"remove its namespace, or write a second one in {home}",
            )
        else:
            yield codes.UNKNOWN_SCORED_PLACEMENT.at(
                position,
                f"there is no ScoredPlacement {name} in apps/",
                _placement_hint(name, context),
            )


@rule()
def something_ranks(context: Context) -> Iterator[Diagnostic]:
    """An application that follows no ScoredPlacement needs a ranking of its own."""
    for application in context.declared.applications:
        follows_another = application.value.spec.placement.ref is not None
        if not follows_another and application.document.data["spec"].get("scores") is None:
            yield codes.MISSING_FIELD.at(
                application.at("spec", "scores"),
                "spec.scores is missing",
                "add scores (which scorers rank the clusters), or placement.ref (a ScoredPlacement"
                " that has them)",
            )


def _scored_placement(name: str, context: Context) -> Item[ScoredPlacement] | None:
    """The ScoredPlacement of a name, in any namespace."""
    for placement in context.declared.scored_placements:
        if placement.name == name:
            return placement
    return None


def _placement_hint(name: str, context: Context) -> str:
    for other in (*context.declared.applications, *context.declared.placements):
        if other.name == name:
            return f"{name} is a {other.document.kind}; write a ScoredPlacement, and refer to that"
    return did_you_mean_one_of(name, context.shared_placements)


def _scorer_hint(name: str, context: Context) -> str:
    # A Placement of OCM names the score, and here it is the scorer.
    for scorer in context.complete.values():
        if scorer.score_name == name:
            return f"{name} is the score name of {scorer.name}; write scorer: {scorer.name}"
    return did_you_mean_one_of(name, context.scorers)
