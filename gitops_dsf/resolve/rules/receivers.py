"""Checks metrics that collectors push to the receiver in the agent's pod."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import SETTINGS, rule


@rule(needs=(SETTINGS,))
def receivers_are_set_up(context: Context) -> Iterator[Diagnostic]:
    """Pushed metrics need the receiver, whose image only the fleet's owner can name."""
    if context.is_upstream or context.repository.value.spec.agent.open_telemetry is not None:
        return
    # Scorers with one MetricSource share the place of its type.
    positions = set()
    for scorer in context.each_variant:
        if scorer.is_pushed and not scorer.spec.on_hub:
            positions.add(scorer.at("source.type"))
    for position in sorted(positions):
        yield codes.RECEIVER_MISSING.at(
            position,
            "no receiver for OpenTelemetry metrics runs beside the agent",
            "write spec.agent.openTelemetry with image and collectorNamespaces into"
            " gitops-dsf.yaml, or write type: Prometheus and a host",
        )


@rule()
def receivers_need_no_more(context: Context) -> Iterator[Diagnostic]:
    """The agent asks the receiver, which is a Prometheus, over loopback and without credentials."""
    for scorer in context.each_variant:
        dialect = scorer.spec.source.dialect
        if scorer.is_pushed and dialect != "PromQL":
            yield codes.RECEIVER_FIELD.at(
                scorer.declared.at("spec", "source", "dialect"),
                f"source.dialect is {dialect}, and the receiver is a Prometheus: it reads PromQL"
                " only",
                "write PromQL, and remove dialect",
            )
