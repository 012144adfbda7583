"""Checks scorers whose metrics OpenTelemetry collectors push to the receiver in the agent's pod."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context


def receivers_are_set_up(context: Context) -> Iterator[Diagnostic]:
    """A scorer that reads pushed metrics needs the receiver, whose image only the fleet's owner can name."""
    repository = context.declared.repository
    if repository is None or context.is_upstream or repository.value.spec.agent.open_telemetry is not None:
        return
    places = {
        overlay.source_type.position
        for overlay in context.each_variant
        if overlay.is_pushed and not overlay.scorer.value.spec.on_hub
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
    for scorer in {item.scorer.name: item.scorer for item in context.each_variant if item.is_pushed}.values():
        dialect = scorer.value.spec.source.dialect
        if dialect != "PromQL":
            message = f"source.dialect is {dialect}, and the receiver is a Prometheus: it reads PromQL only"
            yield codes.RECEIVER_FIELD.at(
                scorer.at("spec", "source", "dialect"), message, "write PromQL, and remove dialect"
            )
