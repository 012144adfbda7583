"""Checks whether the scale of a score fits what it is compared with: missing scores, stickiness, percent."""

from collections.abc import Iterator
from typing import Any, Final

from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.promql.check import check
from gitops_dsf.resolve.promql.labels import MAX_DEPTH, aggregation_name
from gitops_dsf.resolve.rules.registry import rule

_PERCENT: Final = 100.0
_KEEPING: Final = frozenset({"avg", "min", "max", "quantile", "topk", "bottomk"})
"""Aggregations of percentages that give a percentage."""


@rule()
def lowest_scores_differ_from_missing_ones(context: Context) -> Iterator[Diagnostic]:
    """OCM counts a missing score as 0, so an end of the range at 0 cannot be told from it.

    A missing score that even beats others has a finding of its own (DSF304).
    """
    told = set[str]()
    for item, _, score in context.ranked:
        scorer = context.complete.get(score.scorer)
        if scorer is None or scorer.name in told or scorer.spec.score_range is None:
            continue
        low, high = scorer.published
        worst = low if score.weight > 0 else high
        if worst != 0 or score.weight == 0 or item.value.spec.on_missing_score == "Exclude":
            continue
        told.add(scorer.name)
        field = "outputMin" if scorer.spec.score_range.output_min == 0 else "outputMax"
        better = 1 if score.weight > 0 else -1
        message = (
            f"{field} is 0, and OCM counts a missing score as 0: a cluster without the score ranks like the"
            f" worst one that has it"
        )
        hint = f"write {field}: {better}, or onMissingScore: Exclude where the score ranks"
        yield codes.LOWEST_SCORE.at(scorer.declared.at("spec", "scoreRange", field), message, hint)


@rule()
def dead_bands_are_below_the_stickiness(context: Context) -> Iterator[Diagnostic]:
    """A change within the dead band is published at half of the TTL only, however much it would move."""
    for item in context.declared.rankings:
        spec = item.value.spec
        total = sum(abs(score.weight) for score in spec.scores)
        known = [
            context.scorers[score.scorer]
            for score in spec.scores
            if score.scorer in context.scorers
        ]
        if spec.placement.number_of_clusters is None or not total or len(known) < len(spec.scores):
            continue
        bands = [scorer.spec.publish.deadband for scorer in known]
        band = (
            sum(abs(score.weight) * each for score, each in zip(spec.scores, bands, strict=True))
            / total
        )
        if 0 < spec.stickiness < band:
            widest = max(zip(bands, known, strict=True), key=lambda pair: pair[0])[1]
            message = (
                f"a stickiness of {spec.stickiness} is below the dead band of its scores ({band:g} points): a"
                " lead that moves the application may be published only at half of scoreTTLSeconds"
            )
            hint = f"lower publish.deadband of {widest.name}, or write a larger stickiness"
            yield codes.DEAD_BAND.at(item.at("spec", "stickiness"), message, hint)


@rule()
def percent_fits_its_range(context: Context) -> Iterator[Diagnostic]:
    """A query that multiplies by 100 gives percent. Only without a scoring API is its value the raw score."""
    for scorer in context.each_type:
        scale = scorer.spec.score_range
        if not scorer.spec.scored_by_query or scorer.source_type == "Kubernetes" or scale is None:
            continue
        if scale.min < 0 or scale.max > 1:
            continue
        trees = (check(part.text).tree for part in split(scorer.spec.source.params.query))
        if any(tree is not None and _is_percent(tree, 0) for tree in trees):
            message = (
                f"the query gives percent, and scoreRange ends at max: {scale.max:g}: all values above"
                f" {scale.max:g} become the same score"
            )
            hint = "write max: 100, or leave the factor of 100 out of the query"
            yield codes.PERCENT.at(scorer.declared.at("spec", "scoreRange", "max"), message, hint)


def _is_percent(tree: Any, depth: int) -> bool:  # noqa: ANN401 - a promql_parser expression
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
            return _is_100(tree.lhs) and _is_percent(tree.rhs, depth + 1)
    return False


def _is_100(tree: Any) -> bool:  # noqa: ANN401 - a promql_parser expression
    return type(tree).__name__ == "NumberLiteral" and tree.val == _PERCENT
