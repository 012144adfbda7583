"""Checks references to scorers and to ScoredPlacements."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context, needs
from gitops_dsf.wording import did_you_mean, names_text


@needs("FleetRepository", "ScorerLock")
def scorers_exist(context: Context) -> Iterator[Diagnostic]:
    """Every scorer that a ranking names must exist, be able to run, and publish under a known name."""
    left_out = context.declared.may_exist
    for item, path, score in context.ranked:
        if score.scorer in context.complete or left_out("DynamicScorer", score.scorer):
            continue
        position = item.at(*path, "scorer")
        scorer = context.scorers.get(score.scorer)
        if scorer is None:
            yield codes.UNKNOWN_SCORER.at(
                position, f"there is no DynamicScorer {score.scorer}", _hint(score.scorer, context)
            )
        elif context.config_is_unseen(scorer):
            if not scorer.score_name:
                message = f"the name of {score.scorer}'s score is known to its /config alone"
                hint = (
                    "write scoring.params.name into the scorer, or run gitops-dsf sync --scorer"
                    f" {score.scorer}"
                )
                yield codes.UNKNOWN_SCORER.at(position, message, hint)
        elif context.waits_for_lock(scorer):
            message = f"{score.scorer} waits for its lock: nothing will publish this score"
            yield codes.UNKNOWN_SCORER.at(position, message, f"run gitops-dsf sync --scorer {score.scorer}")


@needs("FleetRepository")
def placements_exist(context: Context) -> Iterator[Diagnostic]:
    """An application can follow a ScoredPlacement of this repository in the Argo CD namespace: Argo CD reads
    decisions there only (docs/contributing/behaviour.md#one-namespace).
    """
    left_out = context.declared.may_exist
    for item in context.declared.applications:
        ref = item.value.spec.placement.ref
        if ref is None or ref in context.shared_placements or left_out("ScoredPlacement", ref):
            continue
        position = item.at("spec", "placement", "ref")
        elsewhere = next((found for found in context.declared.scored_placements if found.name == ref), None)
        if elsewhere is not None:
            message = (
                f"the ScoredPlacement {ref} is in {context.namespace_of(elsewhere)}, and Argo CD reads"
                f" decisions in {context.argocd_namespace} only"
            )
            hint = f"remove its namespace, or write a second one in {context.argocd_namespace}"
            yield codes.WRONG_NAMESPACE.at(position, message, hint)
        else:
            message = f"there is no ScoredPlacement {ref} in apps/"
            yield codes.UNKNOWN_SCORED_PLACEMENT.at(position, message, _placement_hint(ref, context))


def something_ranks(context: Context) -> Iterator[Diagnostic]:
    """An application that follows no ScoredPlacement needs a ranking of its own."""
    for item in context.declared.applications:
        if item.value.spec.placement.ref is None and item.document.data["spec"].get("scores") is None:
            yield codes.MISSING_FIELD.at(
                item.at("spec", "scores"),
                "spec.scores is missing",
                "add scores (which scorers rank the clusters), or placement.ref (a ScoredPlacement that has"
                " them)",
            )


def _placement_hint(name: str, context: Context) -> str:
    for kind, items in (
        ("ScoredApplication", context.declared.applications),
        ("Placement", context.declared.placements),
    ):
        if any(item.name == name for item in items):
            return f"{name} is a {kind}; write a ScoredPlacement, and refer to that"
    known = context.shared_placements
    return did_you_mean(name, known) or f"defined here: {names_text(sorted(known), most=8) or 'none'}"


def _hint(name: str, context: Context) -> str:
    by_score_name = next(
        (scorer.name for scorer in context.complete.values() if scorer.score_name == name), None
    )
    if by_score_name is not None:
        return f"{name} is the score name of {by_score_name}; write scorer: {by_score_name}"
    return (
        did_you_mean(name, context.scorers)
        or f"defined here: {names_text(sorted(context.scorers), most=8) or 'none'}"
    )
