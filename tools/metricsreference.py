"""The reference page of the metrics of the agent and of the reconciler, as the programs export them."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry

from dsf_agent.metrics.registry import Metrics as AgentMetrics
from dsf_runtime.clock import HubClock, SystemClock
from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL, label_of
from gitops_dsf.reconciler.metrics import Metrics as ReconcilerMetrics

_ALERTS_PAGE = "operate/monitoring.md"
_ALERTS = f"[Monitoring](../../{_ALERTS_PAGE}) has alerts. Histograms have `_bucket`, `_count` and `_sum`.\n"
_HEAD = "| metric | type | labels | meaning |\n|---|---|---|---|"


def metrics_page() -> str:
    """Returns the page."""
    agent = AgentMetrics(cluster="")
    agent.watch_hub_offset(HubClock(clock=SystemClock()))
    raw = "Raw score of the last cycle. Missing labels are empty, values are cut at 256 characters."
    raw_labels = (CLUSTER_LABEL, *map(label_of, LABELS), SCORE_NAME_LABEL)
    return "\n".join(
        [
            "# Metrics\n",
            _ALERTS,
            "## Of the agent\n\nThe usual `process_*` metrics are there, too.\n",
            _HEAD,
            _row(METRIC, "gauge", raw_labels, raw),
            *_rows(agent.registry),
            "\n## Of the reconciler\n\nThe leader exports them.\n",
            _HEAD,
            *_rows(ReconcilerMetrics().registry),
            "",
        ]
    )


def _rows(registry: CollectorRegistry) -> Iterator[str]:
    for collector in list(registry._collector_to_names):  # noqa: SLF001 - the client has no list of collectors
        for family in collector.collect():
            if not family.name.startswith("process_"):
                labels = getattr(collector, "_labelnames", ()) or getattr(family, "_labelnames", ())
                name = f"{family.name}_total" if family.type == "counter" else family.name
                yield _row(name, family.type, labels, family.documentation)


def _row(name: str, kind: str, labels: tuple[str, ...], meaning: str) -> str:
    return f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {meaning} |"
