"""Checks sources of type Kubernetes: the measures that their queries name, and fields that have no effect."""

from collections.abc import Iterator

from dsf_wire.measures import MEASURES, SOURCE_TYPE, MeasureError, selection
from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean

MAX_EXPRESSIONS = 100
_EXAMPLE = "write the name of a measure, such as cpu_available_ratio; `gitops-dsf explain DSF145` lists them"
_NOT_PROMQL = (
    "write measures only, joined by `;`, such as cpu_available_ratio: PromQL is not evaluated without a"
    " Prometheus"
)


def measures_exist(context: Context) -> Iterator[Diagnostic]:
    """Each expression of a query must be a measure."""
    for scorer in _of_kubernetes(context):
        query = scorer.query
        parts = split(query)
        if query and not parts:
            yield codes.MEASURE.at(
                scorer.at("source.params.query"), "there is no measure in the query", _EXAMPLE
            )
        if len(parts) > MAX_EXPRESSIONS:
            message = f"more than {MAX_EXPRESSIONS} measures in one query"
            yield codes.MEASURE.at(scorer.at("source.params.query"), message, "use several scorers")
            continue
        for part in parts:
            try:
                selection(part.text)
            except MeasureError as error:
                where = scorer.in_query(part.offset + error.offset)
                yield codes.MEASURE.at(where, f"source type Kubernetes: {error}", _hint(error, part.text))


def _hint(error: MeasureError, text: str) -> str:
    if not error.unknown or "(" in text:
        return _NOT_PROMQL
    return did_you_mean(error.unknown, MEASURES) or _EXAMPLE


def only_present_values_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Source type Kubernetes keeps no history. Where it is one variant of several, the range is for the
    others.
    """
    for scorer in _of_kubernetes(context):
        if scorer.range and scorer.variant is None and not scorer.scored_by_query:
            yield codes.NO_HISTORY.at(
                scorer.at("source.params.range"),
                f"range is {scorer.range}: source type Kubernetes has present values only",
                "remove range and step, or ask a Prometheus, which keeps the past",
            )


def _of_kubernetes(context: Context) -> Iterator[EffectiveScorer]:
    return (scorer for scorer in context.each_type if scorer.source_type == SOURCE_TYPE)
