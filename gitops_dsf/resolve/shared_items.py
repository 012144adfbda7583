"""Items of an AddOnPlacementScore in which several series of one scorer can end.

Only a scorer without a scoring API can be judged: there a series is a result. A scoring API may
answer with any number of results.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dsf_wire.dimension import LABELS, label_placeholders
from dsf_wire.measures import SOURCE_TYPE, MeasureError, select
from dsf_wire.query import split
from gitops_dsf.resolve.promql.labels import others
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesOfExpression:
    """One expression of a query: its offset, and whether its series share an item."""

    offset: int
    share: bool | None
    """None if the labels of the metric decide."""


def labels_apart(scorer: EffectiveScorer) -> list[str]:
    """The labels that keep series in different items."""
    names = [placeholder.name for placeholder in label_placeholders(scorer.dimension_format)]
    cluster_label = scorer.spec.source.cluster_label
    # The hub scorer takes the series of each cluster apart before it names items.
    if cluster_label is not None and scorer.spec.on_hub:
        return [cluster_label.name, *names]
    return names


def series_of_expressions(scorer: EffectiveScorer) -> Iterator[SeriesOfExpression]:
    """Judges each expression of the query that can be read, in order."""
    return _series_apart(scorer, labels_apart(scorer))


def _series_apart(scorer: EffectiveScorer, names: Sequence[str]) -> Iterator[SeriesOfExpression]:
    """Whether these labels keep the series of each expression apart."""
    if scorer.source_type == SOURCE_TYPE:
        yield from _series_of_measures(scorer, names)
        return
    for part, parsed in scorer.parsed_query():
        if parsed.tree is not None:
            yield SeriesOfExpression(offset=part.offset, share=others(parsed.tree, names))


def _series_of_measures(
    scorer: EffectiveScorer, names: Sequence[str]
) -> Iterator[SeriesOfExpression]:
    query = scorer.spec.source.params.query
    # Another rule reports a measure that does not exist.
    with suppress(MeasureError):
        for part, selection in zip(split(query), select(query), strict=True):
            each_node = selection.measure.per_node and "node" not in names
            yield SeriesOfExpression(offset=part.offset, share=selection.has_several or each_node)


def has_single_results(scorer: EffectiveScorer) -> bool:
    """Whether every item certainly gets one result at most, so that nothing is aggregated."""
    if not scorer.spec.scored_by_query or len(split(scorer.spec.source.params.query)) != 1:
        return False
    # Two labels can give one name in two ways: a-b and c, a and b-c.
    if len(label_placeholders(scorer.dimension_format)) > 1:
        return False
    return [series.share for series in series_of_expressions(scorer)] == [False]


def has_distinct_results(scorer: EffectiveScorer) -> bool:
    """Whether the results of a cluster certainly differ in their labels.

    If results have the same labels, the agent exports only the last one as a raw score.
    """
    if not scorer.spec.scored_by_query or len(split(scorer.spec.source.params.query)) != 1:
        return False
    names = [*LABELS, *labels_apart(scorer)]
    return [series.share for series in _series_apart(scorer, names)] == [False]
