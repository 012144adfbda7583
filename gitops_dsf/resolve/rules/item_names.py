"""Checks the names of score items: placeholders of the format, and labels that fill them."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from dsf_wire.dimension import PLACEHOLDERS, label_placeholders, placeholders
from dsf_wire.measures import SOURCE_TYPE, MeasureError, select
from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.promql.labels import can_have
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.shared_items import labels_apart, series_of_expressions
from gitops_dsf.wording import did_you_mean

_FORMAT: Final[FieldPath] = ("spec", "scoreDimensionFormat")
_UNFINISHED: Final = re.compile(rf"\$\{{?({'|'.join(PLACEHOLDERS)})\b(?!\}})|\$\{{[^}}]*$")
"""`$node` or `${node` without its closing brace."""


@rule()
def placeholders_are_known(context: Context) -> Iterator[Diagnostic]:
    """An unknown placeholder would stay in every item name."""
    list_of_placeholders = ", ".join(f"${{{name}}}" for name in PLACEHOLDERS)
    for scorer in context.scorers.values():
        template = scorer.spec.score_dimension_format
        for placeholder in placeholders(template):
            if placeholder.name not in PLACEHOLDERS:
                yield codes.UNKNOWN_PLACEHOLDER.at(
                    scorer.declared.inside(_FORMAT, placeholder.offset),
                    f"the placeholder ${{{placeholder.name}}} is not known",
                    did_you_mean(placeholder.name, PLACEHOLDERS)
                    or f"known: {list_of_placeholders}",
                )
        for unfinished in _UNFINISHED.finditer(template):
            name = unfinished[1]
            yield codes.UNKNOWN_PLACEHOLDER.at(
                scorer.declared.inside(_FORMAT, unfinished.start()),
                f"{unfinished[0]} is not a placeholder, so it stays in every name",
                f"write ${{{name}}}" if name else "close it with }",
            )


@rule()
def placeholders_can_be_filled(context: Context) -> Iterator[Diagnostic]:
    """A label that no expression keeps is empty in every result.

    Unless a scoring API sets it, which only its author knows. `meta` is always set by the scoring
    API (docs/contributing/behaviour.md#scores-of-upstream), so it is reported only if there is
    none.
    """
    for scorer in context.each_type:
        filled_by_query = [
            placeholder
            for placeholder in label_placeholders(scorer.spec.score_dimension_format)
            if placeholder.name != "meta" or scorer.spec.scored_by_query
        ]
        # Most formats have none, and to find the labels of a query takes a parse of it.
        keeps = _labels_of(scorer) if filled_by_query else None
        if keeps is None:
            continue
        for placeholder in filled_by_query:
            if not keeps(placeholder.name):
                yield _unfilled(scorer, placeholder.name, placeholder.offset)


@rule()
def series_have_items_of_their_own(context: Context) -> Iterator[Diagnostic]:
    """Finds several series for one item: the last one counts, and no source promises an order."""
    for scorer in context.each_type:
        spec = scorer.spec
        # The author of an aggregation has considered several series.
        is_chosen = scorer.declared.document.has(("spec", "scoreAggregation"))
        if not spec.scored_by_query or is_chosen or spec.score_destination == "None":
            continue
        yield from _shared_items(scorer)


def _unfilled(scorer: EffectiveScorer, name: str, offset: int) -> Diagnostic:
    position = scorer.declared.inside(_FORMAT, offset)
    if scorer.spec.scored_by_query:
        return codes.EMPTY_PLACEHOLDER.at(
            position,
            f"no query keeps the label {name}: ${{{name}}} is always empty",
            f"keep it in the query, as in sum by ({name}) (...), or remove the placeholder",
        )
    return codes.UNFILLED_PLACEHOLDER.at(
        position,
        f"no query keeps the label {name}: ${{{name}}} is empty unless the scoring API sets it",
        f"fine if the scoring API sets {name}; otherwise keep the label in the query, or remove the"
        " placeholder",
    )


def _labels_of(scorer: EffectiveScorer) -> Callable[[str], bool] | None:
    """Whether the series of a query can have a label; None if it is unknown."""
    if scorer.source_type == SOURCE_TYPE:
        try:
            selected = select(scorer.spec.source.params.query)
        except MeasureError:
            return None
        per_node = any(selection.measure.per_node for selection in selected)
        return lambda label: per_node and label == "node"
    trees = [parsed.tree for _, parsed in scorer.parsed_query()]
    # An expression that does not parse could keep any label.
    if not trees or any(tree is None for tree in trees):
        return None
    return lambda label: any(can_have(tree, label) for tree in trees)


def _shared_items(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    has_labels = bool(label_placeholders(scorer.dimension_format))
    for index, series in enumerate(series_of_expressions(scorer)):
        # Without labels the first expression has the item for itself, and the next ones share it.
        if series.share is False and (index == 0 or has_labels):
            continue
        yield codes.SERIES_SHARE_ITEM.at(
            scorer.in_query(series.offset),
            f"several series can have the item {scorer.dimension_format}, and the last one of the"
            " answer counts",
            _aggregation_hint(scorer),
            severity=Severity.NOTICE if series.share is None else None,
        )


def _aggregation_hint(scorer: EffectiveScorer) -> str:
    if scorer.source_type == SOURCE_TYPE:
        return "write scoreAggregation: Mean, Min, Max or Sum"
    labels = labels_apart(scorer)
    if not labels:
        return "aggregate them, as in avg(...), or write scoreAggregation: Mean, Min, Max or Sum"
    return (
        f"aggregate them, as in avg by ({', '.join(labels)}) (...), or write scoreAggregation:"
        " Mean, Min, Max or Sum"
    )
