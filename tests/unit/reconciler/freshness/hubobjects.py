"""A hub in memory: objects as the API has them, decoded as the reconciler decodes them."""

import json
from typing import Any

import msgspec

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer


def raw(item: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(item).encode())


def made(
    name: str = "cpu", *, interval: int = 5, uid: str = "u", generation: int = 1, score: str = "", **spec: Any
) -> DynamicScorer:
    params = {"name": score or name, "interval": interval}
    whole = {"configURL": "http://a/config", "scoring": {"params": params}, "scoreTTLSeconds": 900, **spec}
    metadata = {"name": name, "namespace": "hub", "uid": uid, "generation": generation}
    return scorer(raw({"metadata": metadata, "spec": whole}))[1]
