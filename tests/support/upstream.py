"""Upstream's seven samples as on a hub with the upstream add-on.

The scorers of the golden repository `upstream-samples`, each with the status that upstream's
controller wrote after it read the sample API's /config.
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


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _fields(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def crds() -> list[dict[str, Any]]:
    """The CRDs of DynamicScorer and DynamicScoringConfig as upstream's v0.1.0 has them.

    Red Hat's operator carries the same. They are written anew here, without descriptions.
    """
    token = _fields("key", "name", key=_TEXT, name=_TEXT)
    auth = _fields("tokenSecretRef", tokenSecretRef=token)
    query = _fields("query", "range", "step", query=_TEXT, range=_NUMBER, step=_NUMBER)
    times = _fields("interval", "name", interval=_NUMBER, name=_TEXT)
    kinds = _one_of("Prometheus", "None")
    spec = _fields(
        "configSyncMode",
        "configURL",
        "description",
        configSyncMode=_one_of("Full", "None"),
        configURL=_TEXT,
        description=_TEXT,
        location=_one_of("Internal", "External"),
        scoreDestination=_one_of("AddOnPlacementScore", "None"),
        scoreDimensionFormat=_TEXT,
        scoring=_fields(auth=auth, host=_TEXT, params=times, path=_TEXT),
        source=_fields(auth=auth, host=_TEXT, params=query, path=_TEXT, type=kinds),
    )
    config = _fields(
        "description",
        "name",
        "scoring",
        "source",
        description=_TEXT,
        name=_TEXT,
        scoring=_fields("params", "path", host=_TEXT, params=times, path=_TEXT),
        source=_fields("params", "path", host=_TEXT, params=query, path=_TEXT, type=_TEXT),
    )
    status = _fields(
        "healthStatus",
        healthStatus=_one_of("Active", "Inactive", "Unknown"),
        lastSyncedConfig=config,
    )
    mask = _fields("clusterName", "scoreName", clusterName=_TEXT, scoreName=_TEXT)
    masks = _fields(masks={"type": "array", "items": mask})
    return [
        _crd("DynamicScorer", spec, status),
        _crd("DynamicScoringConfig", masks, {"type": "object"}),
    ]


def _crd(kind: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    group = "dynamic-scoring.open-cluster-management.io"
    plural = f"{kind.lower()}s"
    root = _fields(
        apiVersion=_TEXT, kind=_TEXT, metadata={"type": "object"}, spec=spec, status=status
    )
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def misfits(schema: dict[str, Any], value: Any, path: str = "") -> list[str]:
    """What an API server with this schema drops or refuses of a value."""
    if schema["type"] == "array":
        return [text for item in value for text in misfits(schema["items"], item, path)]
    if "properties" not in schema:
        wrong = value not in schema["enum"] if "enum" in schema else False
        return [f"{path}: {value}"] if wrong else []
    found = [
        f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value
    ]
    for name, inner in value.items():
        if name not in schema["properties"]:
            found.append(f"{path}.{name} is unknown")
        else:
            found += misfits(schema["properties"][name], inner, f"{path}.{name}")
    return found
