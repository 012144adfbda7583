"""Checks which items of a score applications ask for."""

from collections.abc import Iterator

from dsf_wire.dimension import PLACEHOLDERS, can_yield, placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context


def dimensions_can_match(context: Context) -> Iterator[Diagnostic]:
    """The requested item must be one that the scorer's format yields on every cluster."""
    for item, path, score in context.ranked:
        scorer = context.scorers.get(score.scorer)
        if scorer is None or not scorer.score_name:
            continue
        template = scorer.spec.score_dimension_format
        if any(item.name not in PLACEHOLDERS for item in placeholders(template)):
            continue  # the format is invalid
        name = scorer.score_name
        if score.dimension is None:
            if scorer.only_item is None:
                message = (
                    f"{score.scorer} names its items {template}: which of them ranks the clusters is not"
                    " fixed"
                )
                hint = (
                    "write dimension: with one item name that every cluster publishes, or a"
                    " scoreDimensionFormat without placeholders"
                )
                yield codes.DIMENSION.at(item.at(*path, "scorer"), message, hint)
        elif not can_yield(template, score.dimension, score_name=name):
            fixed = scorer.only_item
            message = f"{score.scorer} names its items {template}, which never gives {score.dimension}"
            hint = (
                f"write {fixed}, or leave dimension out"
                if fixed is not None
                else f"write a name of the form {template}"
            )
            yield codes.DIMENSION.at(item.at(*path, "dimension"), message, hint)
