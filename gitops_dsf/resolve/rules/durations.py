"""Checks interval, range and step, in seconds, against the limits of Prometheus and OCM."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import MAX_POINTS, default_ttl_seconds
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context

"""Seconds between two runs below which an interval is reported."""
HOST_HINT: Final = (
    "write the base URL of the metric source as the spoke sees it, such as"
    " http://prometheus.monitoring.svc:9090"
)


def durations_are_positive(context: Context) -> Iterator[Diagnostic]:
    """Interval and step must be at least one second if they are written. Prometheus rejects a step of 0."""
    for overlay in context.each_variant:
        required = [(overlay.interval, "seconds between two runs, such as 60")]
        if overlay.needs_step:
            required.append((overlay.step, "seconds between two points, such as 60"))
        for setting, meaning in required:
            if setting.value == 0 and setting.document.has(setting.path):
                name = str(setting.path[-1])
                yield codes.NOT_POSITIVE.at(
                    setting.position, f"{name} is 0; it must be at least 1 second", f"write the {meaning}"
                )


def series_are_not_too_long(context: Context) -> Iterator[Diagnostic]:
    """Prometheus rejects more than 11,000 points per series (range / step + 1)."""
    for overlay in context.each_variant:
        span, step = int(overlay.range.value), int(overlay.step.value)
        if overlay.kind_of_source != "Prometheus" or overlay.is_instant or step < 1:
            continue
        points = span // step + 1
        if points > MAX_POINTS:
            least = -(-span // (MAX_POINTS - 1))
            message = (
                f"range {span} with step {step} asks for {points} points per series; Prometheus returns at"
                f" most {MAX_POINTS}"
            )
            yield codes.TOO_MANY_POINTS.at(
                overlay.step.position, message, f"write step: {least} or more, or a shorter range"
            )


def sources_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Without a query there is no source, and with type None it is not queried: the scoring API gets no
    series.
    """
    for overlay in context.each_variant:
        if (
            overlay.kind_of_source != "None"
            or overlay.scored_by_query
            or context.waits_for_lock(overlay.scorer)
        ):
            continue
        written = next(
            (
                item
                for item in (overlay.query, overlay.source_host, overlay.range, overlay.step)
                if item.value
            ),
            None,
        )
        if written is None:
            continue
        name = dotted(written.path[-3:] if written.path[-2] == "params" else written.path[-2:])
        why = "source.type is None" if overlay.source_type.value else "there is no query"
        hint = (
            "write source.type: Prometheus, or remove the source"
            if overlay.source_type.value
            else "write source.params.query"
        )
        yield codes.UNASKED_SOURCE.at(
            written.position, f"{name} has no effect: {why}, so the scoring API gets no series", hint
        )


def scores_outlive_their_interval(context: Context) -> Iterator[Diagnostic]:
    """A score must stay valid until the next run publishes it again; otherwise Placements lose
    it in between.
    """
    for overlay in context.overlays.values():
        ttl = overlay.scorer.value.spec.score_ttl_seconds
        interval = int(overlay.interval.value)
        if ttl is not None and interval and ttl < 2 * interval:
            message = (
                f"scores expire after {ttl} seconds and are renewed every {interval}: one late run, and"
                " placements lose them"
            )
            yield codes.SHORT_TTL.at(
                overlay.scorer.at("spec", "scoreTTLSeconds"),
                message,
                f"write {default_ttl_seconds(interval)}, or leave it out",
            )
