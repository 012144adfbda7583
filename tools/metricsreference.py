"""The reference page of the metrics of the agent and of the reconciler, as the programs export them."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry

from dsf_agent.metrics.registry import Metrics as AgentMetrics
from dsf_runtime.clock import HubClock, SystemClock
from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL, label_of
from gitops_dsf.reconciler.metrics import Metrics as ReconcilerMetrics

_ALERTS_PAGE: Final = "operate/monitoring.md"


def metrics_page() -> str:
    """Returns the page."""
    agent = AgentMetrics(cluster="")
    agent.watch_hub_offset(HubClock(clock=SystemClock()))
    labels = ", ".join(f"`{name}`" for name in (CLUSTER_LABEL, *map(label_of, LABELS), SCORE_NAME_LABEL))
    raw = (
        f"| `{METRIC}` | gauge | {labels} | Raw score of the last cycle. Missing labels are empty, values are"
        f" cut at 256 characters. |"
    )
    head = ("| metric | type | labels | meaning |", "|---|---|---|---|")
    lines = [
        "# Metrics",
        "",
        f"[Monitoring](../../{_ALERTS_PAGE}) has alerts. Histograms have `_bucket`, `_count` and `_sum`.",
        "",
        "## Of the agent",
        "",
        "The usual `process_*` metrics are there, too.",
        "",
        *head,
        raw,
        *_rows(agent.registry),
        "",
        "## Of the reconciler",
        "",
        "The leader exports them.",
        "",
        *head,
        *_rows(ReconcilerMetrics().registry),
        "",
    ]
    return "\n".join(lines)


def _rows(registry: CollectorRegistry) -> Iterator[str]:
    for collector in list(registry._collector_to_names):  # noqa: SLF001 - the client has no list of collectors
        for family in collector.collect():
            if family.name.startswith("process_"):
                continue
            names = getattr(collector, "_labelnames", ()) or getattr(family, "_labelnames", ())
            labels = ", ".join(f"`{name}`" for name in names)
            name = f"{family.name}_total" if family.type == "counter" else family.name
            yield f"| `{name}` | {family.type} | {labels} | {family.documentation} |"
