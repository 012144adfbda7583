"""Typed objects of a hub for tests, decoded as every program decodes them."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from gitops_dsf.hub.objects import ManagedClusterAddOn
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub import kinds


def agent(
    *, available: str = "", created: float | None = None, deleting: bool = False, cluster: str = "c"
) -> ManagedClusterAddOn:
    """The agent's add-on on one cluster."""
    metadata: dict[str, Any] = {"name": "gitops-dsf-agent", "namespace": cluster}
    if created is not None:
        metadata["creationTimestamp"] = datetime.fromtimestamp(created, tz=UTC).isoformat()
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "Available", "status": available}] if available else []
    return msgspec.convert(
        {"metadata": metadata, "status": {"conditions": conditions}},
        ManagedClusterAddOn,
        strict=False,
    )


def raw(item: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(item).encode())


def scorer(
    name: str = "cpu",
    *,
    interval: int = 5,
    uid: str = "u",
    generation: int = 1,
    score: str = "",
    **spec: Any,
) -> DynamicScorer:
    params = {"name": score or name, "interval": interval}
    whole = {
        "configURL": "http://a/config",
        "scoring": {"params": params},
        "scoreTTLSeconds": 900,
        **spec,
    }
    metadata = {"name": name, "namespace": "hub", "uid": uid, "generation": generation}
    return kinds.scorer(raw({"metadata": metadata, "spec": whole}))[1]
