"""Checks scorers without a scoring API (scoring.type Query), and default scores."""

from collections.abc import Iterator

from dsf_wire.dimension import label_placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context


def query_scorers_have_a_source(context: Context) -> Iterator[Diagnostic]:
    """Without a source there is no series, and so no score."""
    for scorer in context.each_variant:
        if scorer.scored_by_query and scorer.source_type == "None":
            yield codes.QUERY_WITHOUT_SOURCE.at(
                scorer.at("source.type"),
                "source.type is None, and with scoring.type Query every score is the value of a series",
                "write source.type: Prometheus or Kubernetes, or scoring.type: API if there is a scoring API",
            )


def default_scores_can_be_published(context: Context) -> Iterator[Diagnostic]:
    """The default score needs a source that can be without series, and an item name without labels."""
    for scorer in context.each_variant:
        spec = scorer.spec
        if spec.default_score is None or context.waits_for_lock(scorer):
            continue
        where = scorer.declared.document.key_at(("spec", "defaultScore"))
        labels = label_placeholders(spec.score_dimension_format)
        if labels:
            message = (
                f"defaultScore has no item: without series the label of ${{{labels[0].name}}} in"
                " scoreDimensionFormat is not known"
            )
            hint = "write a scoreDimensionFormat without labels, such as ${scoreName}, or remove defaultScore"
            yield codes.DEFAULT_SCORE.at(where, message, hint)
        if scorer.source_type == "None":
            message = "defaultScore is published when the source has no series, and this scorer has no source"
            yield codes.DEFAULT_SCORE.at(where, message, "write source.params.query, or remove defaultScore")
        if spec.score_destination == "None":
            message = "defaultScore has no effect: scoreDestination is None, so no score is published"
            yield codes.DEFAULT_SCORE.at(where, message, "remove one of them")
