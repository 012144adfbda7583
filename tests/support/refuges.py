"""Paced Placements whose refuges are planned, and the items of their refuges and moves."""

import json

from gitops_dsf.hub.pace import MOVES_SCORE, PACE_ANNOTATION
from tests.support.hubobjects import ARGOCD, Object, meta, paced, placement


def with_refuges(name: str, *resources: str) -> Object:
    """A paced Placement whose refuge is planned."""
    item = paced(placement(name, *resources))
    annotations = item["metadata"]["annotations"]
    annotations[PACE_ANNOTATION] = json.dumps({**json.loads(annotations[PACE_ANNOTATION]), "refuges": True})
    return item


def moves_score(on: str, **items: int) -> Object:
    """The items of one cluster, by name of the Placement."""
    scores = [{"name": f"{ARGOCD}/{name.replace('_', '-')}", "value": value} for name, value in items.items()]
    return {"kind": "AddOnPlacementScore", "metadata": meta(MOVES_SCORE, on), "status": {"scores": scores}}
