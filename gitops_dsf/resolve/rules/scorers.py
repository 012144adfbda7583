"""Checks single scorers: completeness, durations, scorers by query, default scores."""

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Final

from dsf_wire.constants import MAX_POINTS, default_ttl_seconds
from dsf_wire.dimension import label_placeholders
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer

HOST_HINT: Final = (
    "write the base URL of the metric source as the spoke sees it, such as"
    " http://prometheus.monitoring.svc:9090"
)
_HINTS: Final[Mapping[str, str]] = {
    "host": HOST_HINT,
    "interval": "write the seconds between two runs, such as interval: 60",
    "name": "write the score's name, such as name: cpu-forecast",
    "query": "write a PromQL expression",
    "step": "write the seconds between two points of a series, such as step: 60",
}
"""Hints for a missing field, by the last part of its path."""
_ASKED: Final = (
    "source.params.query",
    "source.host",
    "source.params.range",
    "source.params.step",
)
"""Fields that have an effect only if a source is queried."""


@rule()
def durations_are_positive(context: Context) -> Iterator[Diagnostic]:
    """Interval and step must be at least one second if they are written.

    Prometheus rejects a step of 0.
    """
    for scorer in context.each_variant:
        if scorer.spec.scoring.params.interval == 0 and scorer.has("scoring.params.interval"):
            yield codes.NOT_POSITIVE.at(
                scorer.at("scoring.params.interval"),
                "interval is 0; it must be at least 1 second",
                "write the seconds between two runs, such as 60",
            )
        step = scorer.spec.source.params.step
        if scorer.needs_step and step == 0 and scorer.has("source.params.step"):
            yield codes.NOT_POSITIVE.at(
                scorer.at("source.params.step"),
                "step is 0; it must be at least 1 second",
                "write the seconds between two points, such as 60",
            )


@rule()
def series_are_not_too_long(context: Context) -> Iterator[Diagnostic]:
    """Prometheus rejects more than 11,000 points per series (range / step + 1)."""
    for scorer in context.each_variant:
        span = scorer.spec.source.params.range
        step = scorer.spec.source.params.step
        if scorer.source_type != "Prometheus" or scorer.is_instant or step < 1:
            continue
        # The limit is in Prometheus' API (web/api/v1), not a setting.
        points = span // step + 1
        if points > MAX_POINTS:
            yield codes.TOO_MANY_POINTS.at(
                scorer.at("source.params.step"),
                f"range {span} with step {step} asks for {points} points per series; Prometheus"
                f" returns at most {MAX_POINTS}",
                f"write step: {span // MAX_POINTS + 1} or more, or a shorter range",
            )


@rule()
def sources_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Without a query, or with type None, nothing is asked: the scoring API gets no series."""
    for scorer in context.each_variant:
        # Without a source a scorer by query has no score at all, which another rule reports.
        if scorer.source_type != "None" or scorer.spec.scored_by_query:
            continue
        if context.waits_for_lock(scorer):
            continue
        fields = [field for field in _ASKED if attrgetter(field)(scorer.spec)]
        if not fields:
            continue
        field = fields[0]
        if scorer.spec.source.type:
            yield codes.UNASKED_SOURCE.at(
                scorer.at(field),
                f"{field} has no effect: source.type is None, so the scoring API gets no series",
                "write source.type: Prometheus, or remove the source",
            )
        else:
            yield codes.UNASKED_SOURCE.at(
                scorer.at(field),
                f"{field} has no effect: there is no query, so the scoring API gets no series",
                "write source.params.query",
            )


@rule()
def scores_outlive_their_interval(context: Context) -> Iterator[Diagnostic]:
    """A score must stay valid until the next run publishes it again, or Placements lose it."""
    for scorer in context.scorers.values():
        ttl = scorer.spec.score_ttl_seconds
        interval = scorer.spec.scoring.params.interval
        # OCM counts an expired score as 0 from its next pass, and the agent publishes a score
        # again at half of its TTL at the latest.
        if ttl is not None and interval and ttl < 2 * interval:
            yield codes.SHORT_TTL.at(
                scorer.declared.at("spec", "scoreTTLSeconds"),
                f"scores expire after {ttl} seconds and are renewed every {interval}: after one"
                " late run, OCM counts them as 0",
                f"write {default_ttl_seconds(interval)}, or leave it out",
            )


@rule()
def query_scorers_have_a_source(context: Context) -> Iterator[Diagnostic]:
    """Without a source there is no series, and so no score."""
    for scorer in context.each_variant:
        if scorer.spec.scored_by_query and scorer.source_type == "None":
            yield codes.QUERY_WITHOUT_SOURCE.at(
                scorer.at("source.type"),
                "source.type is None, and with scoring.type Query every score is the value of a"
                " series",
                "write source.type: Prometheus or Kubernetes, or scoring.type: API if there is a"
                " scoring API",
            )


@rule()
def default_scores_can_be_published(context: Context) -> Iterator[Diagnostic]:
    """A default score needs a source that can be without series, and an item without labels."""
    for scorer in context.each_variant:
        if scorer.spec.default_score is not None and not context.waits_for_lock(scorer):
            yield from _default_score(scorer)


@rule()
def scorers_are_complete(context: Context) -> Iterator[Diagnostic]:
    """A scorer must be complete, unless its /config is still unknown."""
    for scorer in context.each_variant:
        if context.waits_for_lock(scorer):
            continue
        for field in scorer.missing:
            last = field.rpartition(".")[2]
            if last in {"interval", "step"} and scorer.has(field):
                continue  # written as 0, which another rule reports
            if last == "host" and not scorer.spec.scored_by_query:
                continue  # it would be the host of configURL, whose mistake another rule reports
            yield codes.INCOMPLETE_SCORER.at(
                scorer.at(field),
                f"spec.{field} is missing, and its lock does not say it either"
                if scorer.lock
                else f"spec.{field} is missing, and without it the scorer cannot run",
                _HINTS[last],
            )


def _default_score(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    spec = scorer.spec
    position = scorer.declared.document.key_at(("spec", "defaultScore"))
    labels = label_placeholders(spec.score_dimension_format)
    if labels:
        yield codes.DEFAULT_SCORE.at(
            position,
            f"defaultScore has no item: without series the label of ${{{labels[0].name}}} in"
            " scoreDimensionFormat is not known",
            "write a scoreDimensionFormat without labels, such as ${scoreName}, or remove"
            " defaultScore",
        )
    if scorer.source_type == "None":
        yield codes.DEFAULT_SCORE.at(
            position,
            "defaultScore is published when the source has no series, and this scorer has no"
            " source",
            "write source.params.query, or remove defaultScore",
        )
    if spec.score_destination == "None":
        yield codes.DEFAULT_SCORE.at(
            position,
            "defaultScore has no effect: scoreDestination is None, so no score is published",
            "remove one of them",
        )
