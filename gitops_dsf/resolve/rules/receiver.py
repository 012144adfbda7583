"""Checks scorers whose metrics OpenTelemetry collectors push to the receiver in the agent's pod."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context


def receivers_are_set_up(context: Context) -> Iterator[Diagnostic]:
    """A scorer that reads pushed metrics needs the receiver, whose image only the fleet's owner can name."""
    if context.is_upstream or context.repository.value.spec.agent.open_telemetry is not None:
        return
    places = {
        scorer.at("source.type")
        for scorer in context.each_variant
        if scorer.is_pushed and not scorer.spec.on_hub
    }
    for position in sorted(places):
        message = "no receiver for OpenTelemetry metrics runs beside the agent"
        hint = (
            "write spec.agent.openTelemetry with image and collectorNamespaces into gitops-dsf.yaml, or"
            " write type: Prometheus and a host"
        )
        yield codes.RECEIVER_MISSING.at(position, message, hint)


def receivers_need_no_more(context: Context) -> Iterator[Diagnostic]:
    """The agent asks the receiver over loopback, without credentials, and the receiver is a Prometheus."""
    for scorer in context.each_variant:
        dialect = scorer.spec.source.dialect
        if scorer.is_pushed and dialect != "PromQL":
            message = f"source.dialect is {dialect}, and the receiver is a Prometheus: it reads PromQL only"
            yield codes.RECEIVER_FIELD.at(
                scorer.declared.at("spec", "source", "dialect"), message, "write PromQL, and remove dialect"
            )
