"""Checks the scores that rank or verify: weights, items, and whether each score is published."""

from collections.abc import Iterator

from dsf_wire.dimension import PLACEHOLDERS, can_yield, placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import Item, RankingItem
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.repository.model.ranking import Score
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import choosable, eligible
from gitops_dsf.resolve.ranked_scores import how_zero_wins
from gitops_dsf.resolve.raw_placements import resources_ranked_by
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer


@rule()
def weights_count(context: Context) -> Iterator[Diagnostic]:
    """OCM does not run a prioritizer of weight 0.

    If all weights are 0, nothing ranks the clusters.
    """
    for ranking in context.declared.rankings:
        scores = ranking.value.spec.scores
        # OCM would then choose by the names of clusters: c10 comes before c9.
        if scores and not any(score.weight for score in scores):
            yield codes.BAD_VALUE.at(
                ranking.at("spec", "scores", 0, "weight"),
                "every weight is 0: nothing ranks the clusters",
                "give at least one score a weight from 1 to 10",
            )
            continue
        for index, score in enumerate(scores):
            # OCM 1.2.1 does not run a prioritizer with weight 0.
            if score.weight == 0:
                yield codes.ZERO_WEIGHT.at(
                    ranking.at("spec", "scores", index, "weight"),
                    f"with weight 0 the score {score} has no effect",
                    "remove the entry, or give it a weight",
                )


@rule()
def dimensions_can_match(context: Context) -> Iterator[Diagnostic]:
    """The requested item must be one that the scorer's format yields on every cluster."""
    # The rendered Placement names one item. On a cluster without it a score that ranks counts as 0,
    # and one that verifies is not known.
    for ranking, path, score, name in context.named_scorers:
        scorer = context.scorers.get(name)
        if scorer is None or not scorer.score_name:
            continue
        template = scorer.spec.score_dimension_format
        if any(placeholder.name not in PLACEHOLDERS for placeholder in placeholders(template)):
            continue  # the format is not valid, which another rule reports
        only_item = scorer.only_item
        if score.dimension is None:
            if only_item is None:
                yield codes.DIMENSION.at(
                    ranking.at(*path, "scorer"),
                    f"{name} names its items {template}: which of them ranks the clusters"
                    " is not fixed"
                    if isinstance(score, Score)
                    else f"{name} names its items {template}: which of them verifies the"
                    " moves is not fixed",
                    "write dimension: with one item name that every cluster publishes, or a"
                    " scoreDimensionFormat without placeholders",
                )
        elif not can_yield(template, score.dimension, score_name=scorer.score_name):
            yield codes.DIMENSION.at(
                ranking.at(*path, "dimension"),
                f"{name} names its items {template}, which never gives '{score.dimension}'",
                f"write a name of the form {template}"
                if only_item is None
                else f"write {only_item}, or leave dimension out",
            )
        elif placeholders(score.dimension):
            # A label can have any text as its value, so the format could give this name.
            yield codes.DIMENSION.at(
                ranking.at(*path, "dimension"),
                f"dimension is the name of one item, and in '{score.dimension}' nothing is filled"
                " in: only a scoreDimensionFormat has placeholders",
                f"write the name itself, such as {ranking.name}",
            )


@rule()
def missing_scores_lose(context: Context) -> Iterator[Diagnostic]:
    """A missing score counts as 0 (docs/decisions/scheduler.md#what-the-scores-do-not-say)."""
    for ranking, path, score in context.ranked:
        scorer = context.complete.get(score.scorer or "")
        if scorer is None or ranking.value.spec.on_missing_score == "Exclude":
            continue
        if message := how_zero_wins(scorer.name, scorer.published, score.weight):
            yield codes.MISSING_BEATS_REAL.at(
                ranking.at(*path, "scorer"),
                message,
                # Upstream's agent maps no scores.
                "write onMissingScore: Exclude"
                if context.is_upstream
                else "give the scorer a scoreRange (output 1..100; swapped outputs make lower"
                " better), or write onMissingScore: Exclude",
            )


@rule(needs=("ManagedCluster", "ManagedClusterSet", "DynamicScoringConfig"))
def scores_are_published(context: Context) -> Iterator[Diagnostic]:
    """At least one cluster that may be chosen must publish each score that ranks."""
    for ranking, path, score in context.ranked:
        scorer = context.complete.get(score.scorer or "")
        if scorer is not None:
            clusters = eligible(context, ranking)
            yield from _unpublished(context, scorer, ranking, (*path, "scorer"), clusters)
    scorers = {scorer.resource_name: scorer for scorer in context.complete.values()}
    for placement in context.declared.placements:
        candidates = choosable(context, placement)
        for path, name in resources_ranked_by(placement.document):
            if name in scorers:
                yield from _unpublished(context, scorers[name], placement, path, candidates)


def _unpublished(
    context: Context,
    scorer: EffectiveScorer,
    item: RankingItem | Item[RawPlacement],
    path: FieldPath,
    clusters: frozenset[str] | None,
) -> Iterator[Diagnostic]:
    """Reports a score at `path` that none of `clusters` publishes; None if they are not known."""
    is_raw = item.document.kind == "Placement"
    if scorer.spec.score_destination == "None":
        yield codes.SCORE_NOT_RUNNING.at(
            item.at(*path),
            f"{scorer.name} has scoreDestination None: it publishes no score that could rank"
            " clusters",
            "write scoreDestination: AddOnPlacementScore in the scorer",
        )
    elif scorer.spec.suspend:
        yield codes.SCORE_SUSPENDED.at(
            item.at(*path),
            f"{scorer.name} is suspended: its scores are removed everywhere",
            "remove the score from this Placement while the scorer is suspended"
            if is_raw
            else "remove the score here while the scorer is suspended",
        )
    elif clusters and clusters.isdisjoint(context.target_clusters[scorer.name]):
        yield codes.SCORE_NOT_RUNNING.at(
            item.at(*path),
            f"{scorer.name} runs on no cluster that {item.name} may choose"
            if is_raw
            else f"{scorer.name} runs on no cluster that is eligible for {item.name}",
            "correct its clusterSelector or the masks, or choose other clusters",
        )
