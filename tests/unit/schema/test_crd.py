"""The CRDs: structural, supersets of upstream's, and of one mind with the models."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig
from gitops_dsf.schema.crd import crds

API = "dynamic-scoring.open-cluster-management.io/v1alpha1"

SPEC_FIELDS = """
    description configURL configSyncMode location source.type source.host source.path source.params.query
    source.params.range source.params.step source.auth.tokenSecretRef.name source.auth.tokenSecretRef.key
    scoring.host scoring.path scoring.params.name scoring.params.interval scoring.auth.tokenSecretRef.name
    scoring.auth.tokenSecretRef.key scoreDestination scoreDimensionFormat
"""  # noqa: E501
SYNCED_FIELDS = """
    name description source.type source.host source.path source.params.query source.params.range
    source.params.step scoring.host scoring.path scoring.params.name scoring.params.interval
"""
NOT_STRUCTURAL = frozenset(
    {"$ref", "anyOf", "oneOf", "allOf", "not", "title", "const", "$defs", "nullable"}
)


def schema_of(kind: str) -> dict[str, Any]:
    (crd,) = (item for item in crds() if item["spec"]["names"]["kind"] == kind)
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}" if path else name)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}[]")


def a_scorer(**spec: Any) -> dict[str, Any]:
    minimal = {"description": "d", "configURL": "http://api/config", "configSyncMode": "None"}
    return {
        "apiVersion": API,
        "kind": "DynamicScorer",
        "metadata": {"name": "cpu"},
        "spec": minimal | spec,
    }


def a_config(*masks: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": list(masks)},
    }


@pytest.mark.parametrize("kind", ["DynamicScorer", "DynamicScoringConfig"])
def test_every_node_is_structural(kind: str) -> None:
    """Every node has one type, no reference, no alternative, no additionalProperties beside
    properties, and says what it is.
    """
    for path, node in nodes(schema_of(kind)):
        assert isinstance(node.get("type"), str), path
        assert not node.keys() & NOT_STRUCTURAL, path
        assert not {"properties", "additionalProperties"} <= node.keys(), path
        assert node.get("description") or path == "metadata" or path.endswith("[]"), path


def test_upstream_fields_are_all_there() -> None:
    paths = {path for path, _ in nodes(schema_of("DynamicScorer"))}
    synced = {f"lastSyncedConfig.{name}" for name in SYNCED_FIELDS.split()}
    assert {f"spec.{name}" for name in SPEC_FIELDS.split()} <= paths
    assert {f"status.{name}" for name in (*synced, "healthStatus")} <= paths


def test_stored_defaults_are_the_models_defaults() -> None:
    spec = schema_of("DynamicScorer")["properties"]["spec"]
    model = DynamicScorer.model_validate(a_scorer(scoreRange={"min": 0, "max": 1})).model_dump(
        mode="json", by_alias=True
    )["spec"]

    def compare(schema: dict[str, Any], value: dict[str, Any], path: str) -> int:
        seen = 0
        for name, child in schema["properties"].items():
            if child.get("default") not in (None, {}):
                assert child["default"] == value[name], f"{path}.{name}"
                seen += 1
            if "properties" in child and isinstance(value[name], dict):
                seen += compare(child, value[name], f"{path}.{name}")
        return seen

    assert compare(spec, model, "spec") >= 12


ACCEPTED = [
    a_scorer(),
    a_scorer(
        source={
            "type": "Prometheus",
            "host": "http://p",
            "params": {"query": "up", "range": 60, "step": 5},
        },
        scoring={
            "host": "http://s",
            "params": {"name": "cpu", "interval": 30},
            "arguments": {"deep": [1, {"a": "b"}]},
        },
        scoreRange={"min": 0.0, "max": 100.0, "outputMin": 100, "outputMax": 1},
        clusterSelector={
            "matchLabels": {"env": "prod"},
            "matchExpressions": [{"key": "gpu", "operator": "Exists"}],
        },
        scoreTTLSeconds=1200,
    ),
    a_config(),
    a_config(
        {"clusterName": "edge-*", "scoreName": "gpu"},
        {"clusterSelector": {"matchLabels": {"gpu": "no"}}, "scoreName": "gpu"},
    ),
]
REFUSED = [
    a_scorer(configSyncMode="full"),
    a_scorer(source={"type": "prometheus"}),
    a_scorer(scoreTTLSeconds=5),
    a_scorer(publish={"deadband": -1}),
    a_scorer(source={"auth": {"tokenSecretRef": {"name": "tokens"}}}),
    a_scorer(scoreRange={"min": 0}),
    a_config({"clusterName": "a"}),
]


def model_of(document: dict[str, Any]) -> type[BaseModel]:
    return DynamicScorer if document["kind"] == "DynamicScorer" else DynamicScoringConfig


@pytest.mark.parametrize("document", ACCEPTED)
def test_what_the_model_accepts_the_crd_accepts(document: dict[str, Any]) -> None:
    """As written, and as rendered with every default."""
    schema = schema_of(document["kind"])
    rendered = (
        model_of(document)
        .model_validate(document)
        .model_dump(mode="json", by_alias=True, exclude_none=True)
    )
    for version in (document, rendered):
        jsonschema_rs.validate(schema, version)


@pytest.mark.parametrize("document", REFUSED)
def test_what_the_model_refuses_the_crd_refuses(document: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model_of(document).model_validate(document)
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema_of(document["kind"]), document)
