"""Checks whether some cluster that may be chosen publishes each score that a Placement ranks by, and what a
cluster without the score counts as.
"""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.declared import Item, RankingItem
from gitops_dsf.repository.model.delivery import RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.candidates import choosable, eligible
from gitops_dsf.resolve.rules.raw_document import resources_ranked_by
from gitops_dsf.resolve.scorer import EffectiveScorer


def missing_scores_lose(context: Context) -> Iterator[Diagnostic]:
    """OCM counts a missing or expired score as 0, so 0 must not beat a real score
    (docs/decisions/scheduler.md#what-the-scores-do-not-say).
    """
    hint = (
        "give the scorer a scoreRange (output 1..100; swapped outputs make lower better), or write"
        " onMissingScore: Exclude"
    )
    for item, path, score in context.ranked:
        scorer = context.complete.get(score.scorer)
        message = "" if scorer is None else how_zero_wins(scorer, score.weight)
        if message and item.value.spec.on_missing_score != "Exclude":
            yield codes.MISSING_BEATS_REAL.at(item.at(*path, "scorer"), message, hint)


def how_zero_wins(scorer: EffectiveScorer, weight: int) -> str:
    """How a cluster without the score beats clusters that have it; empty if it never does."""
    low, high = scorer.published
    if weight > 0 and low < 0:
        return (
            f"{scorer.name} can publish {low}, and a cluster without the score counts as 0: it beats real"
            " ones"
        )
    if weight < 0 and high > 0:
        return f"with a negative weight a cluster without the score (0) beats those with {high}"
    return ""


def scores_are_published(context: Context) -> Iterator[Diagnostic]:
    """At least one eligible cluster must publish each score of a ranking."""
    for item, path, score in context.ranked:
        scorer = context.complete.get(score.scorer)
        if scorer is not None:
            yield from _unpublished(
                context,
                scorer,
                item,
                (*path, "scorer"),
                clusters=eligible(context, item),
                candidates=f"that are eligible for {item.name}",
                here="here",
            )


def placements_rank_by_what_is_published(context: Context) -> Iterator[Diagnostic]:
    """The same for raw Placements. Skips Placements whose clusters are not known."""
    scorers = {scorer.resource_name: scorer for scorer in context.complete.values()}
    for item in context.declared.placements:
        clusters = choosable(context, item)
        for place, name in resources_ranked_by(item.document):
            if name in scorers:
                yield from _unpublished(
                    context,
                    scorers[name],
                    item,
                    place,
                    clusters=clusters,
                    candidates=f"that {item.name} may choose",
                    here="from this Placement",
                )


def _unpublished(
    context: Context,
    scorer: EffectiveScorer,
    item: RankingItem | Item[RawPlacement],
    path: Path,
    *,
    clusters: frozenset[str] | None,
    candidates: str,
    here: str,
) -> Iterator[Diagnostic]:
    """Reports a score that `item` names at `path` and that none of `clusters` publishes. They are None if it
    is not certain which clusters may be chosen.
    """
    if scorer.spec.score_destination == "None":
        message = f"{scorer.name} has scoreDestination None: it publishes no score that could rank clusters"
        yield codes.SCORE_NOT_RUNNING.at(
            item.at(*path), message, "write scoreDestination: AddOnPlacementScore in the scorer"
        )
    elif scorer.spec.suspend:
        message = f"{scorer.name} is suspended: its scores are removed everywhere"
        yield codes.SCORE_SUSPENDED.at(
            item.at(*path), message, f"remove the score {here} while the scorer is suspended"
        )
    elif clusters and clusters.isdisjoint(context.target_clusters[scorer.name]):
        message = f"{scorer.name} runs on none of the {len(clusters)} clusters {candidates}"
        hint = "correct its clusterSelector or the masks, or choose other clusters"
        yield codes.SCORE_NOT_RUNNING.at(item.at(*path), message, hint)
