"""The URL parameters that people write for the queries of metric sources."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.metric_source import MetricSource
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.resolve.context import Context


class UrlParameters(NamedTuple):
    """The parameters of one source, and where they are written."""

    declared: Item[DynamicScorer] | Item[MetricSource]
    path: FieldPath
    values: Mapping[str, str]


def url_parameters(context: Context) -> Iterator[UrlParameters]:
    """The URL parameters of scorers, and of the variants of MetricSources."""
    for scorer in context.declared.scorers:
        values = scorer.value.spec.source.parameters or {}
        yield UrlParameters(scorer, ("spec", "source", "parameters"), values)
    for variant in context.source_variants:
        values = variant.value.parameters or {}
        yield UrlParameters(variant.source, (*variant.path, "parameters"), values)
