"""Checks the queries of source type Kubernetes, which are names of measures."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.measures import MEASURES, SOURCE_TYPE, MeasureError, selection
from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean

MAX_EXPRESSIONS: Final = 100
"""Measures of one query."""
_EXAMPLE: Final = (
    "write the name of a measure, such as cpu_available_ratio; docs/scores/sources.md lists them"
)
_NOT_PROMQL: Final = (
    "write measures only, joined by `;`, such as cpu_available_ratio: PromQL is not evaluated"
    " without a Prometheus"
)


@rule()
def measures_exist(context: Context) -> Iterator[Diagnostic]:
    """Each expression of a query must be a measure."""
    for scorer in _of_kubernetes(context):
        query = scorer.spec.source.params.query
        parts = split(query)
        if query and not parts:
            position = scorer.at("source.params.query")
            yield codes.MEASURE.at(position, "there is no measure in the query", _EXAMPLE)
        if len(parts) > MAX_EXPRESSIONS:
            yield codes.MEASURE.at(
                scorer.at("source.params.query"),
                f"more than {MAX_EXPRESSIONS} measures in one query",
                "use several scorers",
            )
            # Thousands of parts would have thousands of findings.
            continue
        for part in parts:
            try:
                selection(part.text)
            except MeasureError as error:
                yield codes.MEASURE.at(
                    scorer.in_query(part.offset + error.offset),
                    f"source type Kubernetes: {error}",
                    _hint(error, part.text),
                )


@rule()
def only_present_values_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Source type Kubernetes keeps no history.

    As one variant of several, others may need the range.
    """
    for scorer in _of_kubernetes(context):
        span = scorer.spec.source.params.range
        if span and scorer.variant is None and not scorer.spec.scored_by_query:
            yield codes.NO_HISTORY.at(
                scorer.at("source.params.range"),
                f"range is {span}: source type Kubernetes has only current values",
                "remove range and step, or ask a Prometheus, which keeps the past",
            )


def _of_kubernetes(context: Context) -> Iterator[EffectiveScorer]:
    return (scorer for scorer in context.each_type if scorer.source_type == SOURCE_TYPE)


def _hint(error: MeasureError, text: str) -> str:
    # The author of a function means PromQL, and a measure of a similar name would not help.
    if not error.unknown or "(" in text:
        return _NOT_PROMQL
    return did_you_mean(error.unknown, MEASURES) or _EXAMPLE
