"""Checks references of ScoredApplications."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.model.suggestion import did_you_mean, listed
from gitops_dsf.resolve.context import Context


def scorers_exist(context: Context) -> Iterator[Diagnostic]:
    """Every scorer that an application names must exist, be able to run, and publish under a known name."""
    for item in context.declared.applications:
        for index, score in enumerate(item.value.spec.scores):
            if score.scorer in context.scorers or context.is_malformed("DynamicScorer", score.scorer):
                continue
            position = item.at("spec", "scores", index, "scorer")
            overlay = context.overlays.get(score.scorer)
            if overlay is None:
                yield codes.UNKNOWN_SCORER.at(
                    position, f"there is no DynamicScorer {score.scorer}", _hint(score.scorer, context)
                )
            elif context.config_is_unseen(overlay):
                if not overlay.score_name.value:
                    message = f"the name of {score.scorer}'s score is known to its /config alone"
                    hint = (
                        "write scoring.params.name into the scorer, or run gitops-dsf sync --scorer"
                        f" {score.scorer}"
                    )
                    yield codes.UNKNOWN_SCORER.at(position, message, hint)
            elif context.waits_for_lock(overlay.scorer):
                message = f"{score.scorer} waits for its lock: nothing will publish this score"
                yield codes.UNKNOWN_SCORER.at(
                    position, message, f"run gitops-dsf sync --scorer {score.scorer}"
                )


def _hint(name: str, context: Context) -> str:
    by_score_name = next(
        (scorer.name for scorer in context.scorers.values() if scorer.score_name == name), None
    )
    if by_score_name is not None:
        return f"{name} is the score name of {by_score_name}; write scorer: {by_score_name}"
    return (
        did_you_mean(name, context.overlays) or f"defined here: {listed(sorted(context.overlays)) or 'none'}"
    )
