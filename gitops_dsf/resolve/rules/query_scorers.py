"""Checks scorers without a scoring API (scoring.type Query), and default scores."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.dimension import label_placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context

_API_FIELDS: Final[tuple[Path, ...]] = (
    ("spec", "configURL"),
    ("spec", "scoring", "host"),
    ("spec", "scoring", "path"),
    ("spec", "scoring", "auth"),
    ("spec", "scoring", "arguments"),
)
_RANGE_FIELDS: Final[tuple[Path, ...]] = (
    ("spec", "source", "params", "range"),
    ("spec", "source", "params", "step"),
)
_REMOVE_API: Final = "remove it, or remove scoring.type if a scoring API gives the scores"
_REMOVE_RANGE: Final = (
    "remove it; for a value over time write it into the query, such as avg_over_time(...[1h])"
)


def query_scorers_have_no_api(context: Context) -> Iterator[Diagnostic]:
    """A scorer by query asks for present values, and calls no scoring API."""
    for overlay in context.overlays.values():
        if not overlay.scored_by_query:
            continue
        document = overlay.scorer.document
        for path in _API_FIELDS:
            if value_at(document.data, path):
                message = f"{dotted(path)} has no meaning with scoring.type Query: there is no scoring API"
                yield codes.FIELD_OF_AN_API.at(document.key_at(path), message, _REMOVE_API)
        if overlay.scorer.value.spec.config_sync_mode == "Full":
            message = "configSyncMode is Full, and with scoring.type Query there is no /config"
            yield codes.FIELD_OF_AN_API.at(document.key_at(("spec", "configSyncMode")), message, _REMOVE_API)
        for path in _RANGE_FIELDS:
            if value_at(document.data, path):
                message = (
                    f"{dotted(path)} has no meaning with scoring.type Query: the present value of each"
                    " series is its score"
                )
                yield codes.FIELD_OF_AN_API.at(document.key_at(path), message, _REMOVE_RANGE)


def query_scorers_have_a_source(context: Context) -> Iterator[Diagnostic]:
    """Without a source there is no series, and so no score."""
    for overlay in context.each_variant:
        if overlay.scored_by_query and overlay.kind_of_source == "None":
            yield codes.QUERY_WITHOUT_SOURCE.at(
                overlay.source_type.position,
                "source.type is None, and with scoring.type Query every score is the value of a series",
                "write source.type: Prometheus or Kubernetes, or scoring.type: API if there is a scoring API",
            )


def default_scores_can_be_published(context: Context) -> Iterator[Diagnostic]:
    """The default score needs a source that can be without series, and an item name without labels."""
    for overlay in context.each_variant:
        scorer, spec = overlay.scorer, overlay.scorer.value.spec
        if spec.default_score is None or context.waits_for_lock(scorer):
            continue
        where = scorer.document.key_at(("spec", "defaultScore"))
        labels = label_placeholders(spec.score_dimension_format)
        if labels:
            message = (
                f"defaultScore has no item: without series the label of ${{{labels[0].name}}} in"
                " scoreDimensionFormat is not known"
            )
            hint = "write a scoreDimensionFormat without labels, such as ${scoreName}, or remove defaultScore"
            yield codes.DEFAULT_SCORE.at(where, message, hint)
        if overlay.kind_of_source == "None":
            message = "defaultScore is published when the source has no series, and this scorer has no source"
            yield codes.DEFAULT_SCORE.at(where, message, "write source.params.query, or remove defaultScore")
        if spec.score_destination == "None":
            message = "defaultScore has no effect: scoreDestination is None, so no score is published"
            yield codes.DEFAULT_SCORE.at(where, message, "remove one of them")
