"""Small hand-written repositories, rendered in memory for tests of single objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitops_dsf.pipeline import RenderResult, produce
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.resolve.scorer import EffectiveScorer, effective
from tests.support import fleets, yamlfast

DSF = "dynamic-scoring.open-cluster-management.io/v1alpha1"
PRODUCT = "gitops-dsf.io/v1alpha1"


def scorer(name: str, **spec: Any) -> dict[str, Any]:
    """The minimum that a scorer needs."""
    base = {
        "description": "Fixed",
        "configURL": f"http://{name}.scorers.svc/config",
        "configSyncMode": "None",
        "source": {"type": "None"},
        "scoring": {"params": {"name": name, "interval": 60}},
    }
    return fleets.document(DSF, "DynamicScorer", name, base | spec)


def scorer_of(name: str, **spec: Any) -> EffectiveScorer:
    """The same as it counts, without a repository around it."""
    data = scorer(name, **{key: value for key, value in spec.items() if value is not None})
    document = Document(
        file="", text="", first_line=0, index=0, data=data, start=(1, 1), name_at=(1, 1)
    )
    return effective(Item(DynamicScorer.model_validate(data), document), None)


def on_hub(name: str, **spec: Any) -> dict[str, Any]:
    """A scorer by query that runs on the hub."""
    base = {
        "description": "Idle CPU",
        "runsOn": "Hub",
        "source": {
            "host": "http://thanos.monitoring.svc:9090",
            "params": {"query": "sum by (cluster) (up)"},
            "clusterLabel": {"name": "cluster"},
        },
        "scoring": {"type": "Query", "params": {"name": name, "interval": 60}},
    }
    return fleets.document(DSF, "DynamicScorer", name, base | spec)


def metric_source(name: str, *variants: dict[str, Any]) -> dict[str, Any]:
    """A MetricSource with these variants."""
    return fleets.document(PRODUCT, "MetricSource", name, {"variants": list(variants)})


def _ranked() -> dict[str, Any]:
    """By one score, on one cluster."""
    placement = {"numberOfClusters": 1, "clusterSets": ["default"]}
    return {"placement": placement, "scores": [{"scorer": "cpu"}]}


def application(name: str, **spec: Any) -> dict[str, Any]:
    """The application web on one cluster of the set `default`, ranked by the scorer cpu."""
    base = {
        "application": {"source": {**fleets.SOURCE}, "destinationNamespace": "web"},
        **_ranked(),
    }
    return fleets.document(PRODUCT, "ScoredApplication", name, base | spec)


def placement(name: str, *, namespace: str | None = None, **spec: Any) -> dict[str, Any]:
    """A ScoredPlacement of one cluster of the set `default`, ranked by the scorer cpu."""
    meta = {"namespace": namespace} if namespace else {}
    return fleets.document(PRODUCT, "ScoredPlacement", name, _ranked() | spec, **meta)


def rendered(
    root: Path, *documents: dict[str, Any], clusters: int = 2, **settings: Any
) -> RenderResult:
    """Renders the documents with clusters c0, c1, ...; fails with the findings when there are
    errors.
    """
    result = produced(root, *documents, clusters=clusters, **settings)
    assert result.tree is not None, result.diagnostics
    return result


def produced(
    root: Path, *documents: dict[str, Any], clusters: int = 2, **settings: Any
) -> RenderResult:
    """Like `rendered`; the documents may have errors."""
    spec = fleets.with_images({"git": {"url": "https://git.example.com/fleet.git"}, **settings})
    repository = fleets.document(PRODUCT, "FleetRepository", "fleet", spec)
    inventory = [fleets.cluster(f"c{number}") for number in range(clusters)]
    return produce(
        fleets.write(
            root, fleets.FleetSources(settings=repository, documents=(*inventory, *documents))
        )
    )


def objects(result: RenderResult) -> dict[str, dict[str, Any]]:
    """Every rendered object by its path, parsed as YAML 1.1 as kubectl does."""
    assert result.tree is not None
    return {
        path: yamlfast.load(result.tree.read(path))
        for path in result.tree.files
        if path.endswith(".yaml")
    }


def identity(item: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """(group, kind, namespace, name).

    Of two rendered objects with one identity only one would be left.
    """
    meta = item["metadata"]
    return (
        item["apiVersion"].rpartition("/")[0],
        item["kind"],
        meta.get("namespace") or "",
        meta["name"],
    )
