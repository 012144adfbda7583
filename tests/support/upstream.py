"""Upstream's seven samples as on a hub with the upstream add-on: the scorers of the golden
repository `upstream-samples`, each with the status that upstream's controller wrote after it read
the sample API's /config.
"""

from pathlib import Path
from typing import Any

from tests.support import yamlfast

REPOSITORY = Path(__file__).parents[1] / "golden" / "upstream-samples" / "repo"
_CPU = (
    "sum by (node, namespace, pod)"
    ' (rate(container_cpu_usage_seconds_total{container!="", pod!=""}[1m]))'
)
_POWER = "sum by (GPU_I_ID, GPU_I_PROFILE, exported_pod, Hostname) (DCGM_FI_DEV_POWER_USAGE)"
_PROMETHEUS = "http://prometheus.monitoring.svc:9090"
_THANOS = "https://thanos-querier.openshift-monitoring.svc.cluster.local:9091"


def _config(
    name: str,
    score: str,
    *,
    path: str = "/scoring",
    interval: int = 30,
    source: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Go writes every field of /config, also those that the page left out."""
    empty = {"path": "", "params": {"query": "", "range": 0, "step": 0}}
    scoring = {"path": path, "params": {"name": score, "interval": interval}}
    return {
        "name": name,
        "description": "A score",
        "source": empty | (source or {"type": "None"}),
        "scoring": scoring,
    }


def _prometheus(query: str, *, host: str = _PROMETHEUS, step: int = 60) -> dict[str, Any]:
    return {
        "type": "Prometheus",
        "host": host,
        "path": "/api/v1/query_range",
        "params": {"query": query, "range": 3600, "step": step},
    }


CONFIGS = {
    item["name"]: item
    for item in (
        _config("sample-scorer", "sample_my_score", source=_prometheus(_CPU)),
        _config(
            "simple-prediction-scorer", "simple_prediction_score", source=_prometheus(_CPU, step=30)
        ),
        _config("llm-forecast-scorer", "llm_forecast_score", interval=60, source=_prometheus(_CPU)),
        _config(
            "example-performance-scorer", "example_performance_score", path="/performance/scoring"
        ),
        _config(
            "example-powerconsumption-scorer",
            "example_powerconsumption_score",
            path="/powerconsumption/scoring",
        ),
        _config(
            "ai-workload-perf-scorer",
            "ai_workload_perf_score",
            path="/performance/scoring",
            source=_prometheus(
                "sum by (pod) (irate(vllm:generation_tokens_total[1m]))", host=_THANOS
            ),
        ),
        _config(
            "ai-workload-power-scorer",
            "ai_workload_power_score",
            path="/power/scoring",
            source=_prometheus(_POWER, host=_THANOS),
        ),
    )
}
"""The /config of each sample, by scorer."""


def samples(
    *, api_version: str = "dynamic-scoring.open-cluster-management.io/v1alpha1"
) -> list[dict[str, Any]]:
    """The seven DynamicScorers with their status, sorted by name."""
    documents = [
        item
        for path in (REPOSITORY / "scorers").glob("*.yaml")
        for item in yamlfast.load_all(path.read_text(encoding="utf-8"))
    ]
    found = [
        {
            **item,
            "apiVersion": api_version,
            "status": {
                "healthStatus": "Active",
                "lastSyncedConfig": CONFIGS[item["metadata"]["name"]],
            },
        }
        for item in documents
    ]
    return sorted(found, key=lambda item: str(item["metadata"]["name"]))
