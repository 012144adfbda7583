"""Checks the scale of scores against missing scores, the stickiness, and percentages."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.promql.check import Tree, check
from gitops_dsf.resolve.promql.trees import MAX_DEPTH, aggregation_name
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer

_PERCENT: Final = 100.0
_KEEPING: Final = frozenset({"avg", "min", "max", "quantile", "topk", "bottomk"})
_KEEPING_OVER_TIME: Final = frozenset(
    {"avg_over_time", "last_over_time", "max_over_time", "min_over_time", "quantile_over_time"}
)
"""Aggregations of percentages that give a percentage."""


@rule()
def lowest_scores_differ_from_missing_ones(context: Context) -> Iterator[Diagnostic]:
    """Finds ranges with an end at 0: OCM counts a missing score as 0 as well.

    A missing score that even beats others has a finding of its own (DSF304).
    """
    reported: set[str] = set()
    for ranking, _, score in context.ranked:
        scorer = context.complete.get(score.scorer or "")
        if scorer is None or scorer.name in reported or scorer.spec.score_range is None:
            continue
        published = scorer.published
        worst = published.low if score.weight > 0 else published.high
        is_excluded = ranking.value.spec.on_missing_score == "Exclude"
        # OCM 1.2.1 counts a missing score as 0, so a worst score of 0 looks like no score at all.
        if worst != 0 or score.weight == 0 or is_excluded:
            continue
        reported.add(scorer.name)
        field = "outputMin" if scorer.spec.score_range.output_min == 0 else "outputMax"
        better = 1 if score.weight > 0 else -1
        yield codes.LOWEST_SCORE.at(
            scorer.declared.at("spec", "scoreRange", field),
            f"{field} is 0, and OCM counts a missing score as 0: a cluster without the score ranks"
            " like the worst one that has it",
            f"write {field}: {better}, or onMissingScore: Exclude where the score ranks",
        )


@rule()
def dead_bands_are_below_the_stickiness(context: Context) -> Iterator[Diagnostic]:
    """A change within the dead band is published at half of the TTL, whatever it would move."""
    for ranking in context.declared.rankings:
        spec = ranking.value.spec
        total = sum(abs(score.weight) for score in spec.scores)
        if spec.placement.number_of_clusters is None or not total:
            continue
        # Other add-ons have no dead band that is known here.
        names = [score.scorer for score in spec.scores if score.scorer is not None]
        if not names or any(name not in context.scorers for name in names):
            continue
        weighted = 0.0
        widest = context.scorers[names[0]]
        for score in spec.scores:
            if score.scorer is None:
                continue
            scorer = context.scorers[score.scorer]
            weighted += abs(score.weight) * scorer.spec.publish.deadband
            if scorer.spec.publish.deadband > widest.spec.publish.deadband:
                widest = scorer
        dead_band = weighted / total
        if 0 < spec.stickiness < dead_band:
            yield codes.DEAD_BAND.at(
                ranking.at("spec", "stickiness"),
                f"a stickiness of {spec.stickiness} is below the dead band of its scores"
                f" ({dead_band:g} points): a lead that moves the application may be published only"
                " at half of scoreTTLSeconds",
                f"lower publish.deadband of {widest.name}, or write a larger stickiness",
            )


@rule()
def percent_fits_its_range(context: Context) -> Iterator[Diagnostic]:
    """A query that multiplies by 100 gives percent.

    Only without a scoring API is its value the raw score.
    """
    for scorer in context.each_type:
        scale = scorer.spec.score_range
        if not scorer.spec.scored_by_query or scorer.source_type == "Kubernetes" or scale is None:
            continue
        if scale.min < 0 or scale.max > 1:
            continue
        if any(tree is not None and _is_percent(tree, 0) for tree in _trees(scorer)):
            yield codes.PERCENT.at(
                scorer.declared.at("spec", "scoreRange", "max"),
                f"the query gives percent, and scoreRange ends at max: {scale.max:g}: all values"
                f" above {scale.max:g} become the same score",
                "write max: 100, or leave the factor of 100 out of the query",
            )


@rule()
def ratios_fit_their_range(context: Context) -> Iterator[Diagnostic]:
    """A query that certainly gives a ratio must not have the scale of percent.

    Only for exactly 0 to 100: a ratio such as that of a compression can be above 1, and its scale
    is any other one.
    """
    for scorer in context.each_type:
        scale = scorer.spec.score_range
        if not scorer.spec.scored_by_query or scale is None:
            continue
        if scale.min != 0 or scale.max != _PERCENT:
            continue
        trees = _trees(scorer)
        if trees and all(tree is not None and _is_ratio(tree, 0) for tree in trees):
            yield codes.RATIO.at(
                scorer.declared.at("spec", "scoreRange", "max"),
                f"the query gives a ratio, from 0 to 1, and scoreRange ends at max: {scale.max:g}:"
                " all clusters get nearly the same score",
                "write max: 1, or multiply the query by 100",
            )


def _trees(scorer: EffectiveScorer) -> list[Tree | None]:
    """The trees of a query's expressions; None for one that does not parse."""
    return [check(part.text).tree for part in split(scorer.spec.source.params.query)]


def _is_ratio(tree: Tree, depth: int) -> bool:
    """Whether the value of an expression is a metric that is called a ratio, or 1 minus one."""
    if depth > MAX_DEPTH:
        return False
    match type(tree).__name__:
        case "ParenExpr":
            return _is_ratio(tree.expr, depth + 1)
        case "AggregateExpr":
            return aggregation_name(tree) in _KEEPING and _is_ratio(tree.expr, depth + 1)
        case "Call" if tree.func.name in _KEEPING_OVER_TIME:
            return any(_is_ratio(argument, depth + 1) for argument in tree.args)
        case "BinaryExpr" if str(tree.op) == "-":
            return _is_1(tree.lhs) and _is_ratio(tree.rhs, depth + 1)
        case "MatrixSelector":
            return _is_ratio(tree.vector_selector, depth + 1)
        case "VectorSelector":
            # The base unit of ratios by https://prometheus.io/docs/practices/naming/.
            return str(tree.name or "").endswith(("_ratio", ":ratio"))
    return False


def _is_1(tree: Tree) -> bool:
    return type(tree).__name__ == "NumberLiteral" and tree.val == 1


def _is_percent(tree: Tree, depth: int) -> bool:
    """Whether the value of an expression is something times 100."""
    if depth > MAX_DEPTH:
        return False
    match type(tree).__name__:
        case "ParenExpr":
            return _is_percent(tree.expr, depth + 1)
        case "AggregateExpr":
            return aggregation_name(tree) in _KEEPING and _is_percent(tree.expr, depth + 1)
        case "BinaryExpr" if str(tree.op) == "*":
            return _is_100(tree.lhs) or _is_100(tree.rhs)
        case "BinaryExpr" if str(tree.op) == "-":
            # Such as 100 - 100 * idle: what is left of 100 percent.
            return _is_100(tree.lhs) and _is_percent(tree.rhs, depth + 1)
    return False


def _is_100(tree: Tree) -> bool:
    return type(tree).__name__ == "NumberLiteral" and tree.val == _PERCENT
