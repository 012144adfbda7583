"""Checks interval, range and step, in seconds, against the limits of Prometheus and OCM."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import MAX_POINTS, default_ttl_seconds
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context

HOST_HINT: Final = (
    "write the base URL of the metric source as the spoke sees it, such as"
    " http://prometheus.monitoring.svc:9090"
)


def durations_are_positive(context: Context) -> Iterator[Diagnostic]:
    """Interval and step must be at least one second if they are written. Prometheus rejects a step of 0."""
    for scorer in context.each_variant:
        required = [("scoring.params.interval", scorer.interval, "two runs")]
        if scorer.needs_step:
            required.append(("source.params.step", scorer.step, "two points"))
        for field, value, between in required:
            if value == 0 and scorer.has(field):
                yield codes.NOT_POSITIVE.at(
                    scorer.at(field),
                    f"{field.rpartition('.')[2]} is 0; it must be at least 1 second",
                    f"write the seconds between {between}, such as 60",
                )


def series_are_not_too_long(context: Context) -> Iterator[Diagnostic]:
    """Prometheus rejects more than 11,000 points per series (range / step + 1)."""
    for scorer in context.each_variant:
        span, step = scorer.range, scorer.step
        if scorer.source_type != "Prometheus" or scorer.is_instant or step < 1:
            continue
        points = span // step + 1
        if points > MAX_POINTS:
            least = -(-span // (MAX_POINTS - 1))
            message = (
                f"range {span} with step {step} asks for {points} points per series; Prometheus returns at"
                f" most {MAX_POINTS}"
            )
            yield codes.TOO_MANY_POINTS.at(
                scorer.at("source.params.step"), message, f"write step: {least} or more, or a shorter range"
            )


def sources_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Without a query there is no source, and with type None it is not queried: the scoring API gets no
    series.
    """
    for scorer in context.each_variant:
        if scorer.source_type != "None" or scorer.scored_by_query or context.waits_for_lock(scorer):
            continue
        source = scorer.spec.source
        written = {
            "source.params.query": scorer.query,
            "source.host": source.host,
            "source.params.range": scorer.range,
            "source.params.step": scorer.step,
        }
        name = next((field for field, value in written.items() if value), None)
        if name is None:
            continue
        why, hint = "there is no query", "write source.params.query"
        if source.type:
            why, hint = "source.type is None", "write source.type: Prometheus, or remove the source"
        yield codes.UNASKED_SOURCE.at(
            scorer.at(name), f"{name} has no effect: {why}, so the scoring API gets no series", hint
        )


def scores_outlive_their_interval(context: Context) -> Iterator[Diagnostic]:
    """A score must stay valid until the next run publishes it again; otherwise Placements lose
    it in between.
    """
    for scorer in context.scorers.values():
        ttl = scorer.spec.score_ttl_seconds
        interval = scorer.interval
        if ttl is not None and interval and ttl < 2 * interval:
            message = (
                f"scores expire after {ttl} seconds and are renewed every {interval}: one late run, and"
                " placements lose them"
            )
            yield codes.SHORT_TTL.at(
                scorer.declared.at("spec", "scoreTTLSeconds"),
                message,
                f"write {default_ttl_seconds(interval)}, or leave it out",
            )
