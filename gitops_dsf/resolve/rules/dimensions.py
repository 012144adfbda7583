"""Checks which items of a score applications ask for."""

from collections.abc import Iterator

from dsf_wire.dimension import PLACEHOLDERS, can_yield, placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rankings import default_dimension


def dimensions_can_match(context: Context) -> Iterator[Diagnostic]:
    """The requested item must be one that the scorer's format yields on every cluster."""
    for item in context.declared.rankings:
        for index, score in enumerate(item.value.spec.scores):
            overlay = context.overlays.get(score.scorer)
            if overlay is None or not overlay.score_name.value:
                continue
            template = overlay.scorer.value.spec.score_dimension_format
            if any(item.name not in PLACEHOLDERS for item in placeholders(template)):
                continue  # the format is invalid
            name = str(overlay.score_name.value)
            where = ("spec", "scores", index)
            if score.dimension is None:
                if default_dimension(overlay) is None:
                    message = (
                        f"{score.scorer} names its items {template}: which of them ranks the clusters is not"
                        " fixed"
                    )
                    hint = (
                        "write dimension: with one item name that every cluster publishes, or a"
                        " scoreDimensionFormat without placeholders"
                    )
                    yield codes.DIMENSION.at(item.at(*where, "scorer"), message, hint)
            elif not can_yield(template, score.dimension, score_name=name):
                fixed = default_dimension(overlay)
                message = f"{score.scorer} names its items {template}, which never gives {score.dimension}"
                hint = (
                    f"write {fixed}, or leave dimension out"
                    if fixed is not None
                    else f"write a name of the form {template}"
                )
                yield codes.DIMENSION.at(item.at(*where, "dimension"), message, hint)
