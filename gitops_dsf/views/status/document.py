"""Converts a view to JSON data, spelled like Kubernetes objects (docs/operate/status.md)."""

from typing import Any

import msgspec

from gitops_dsf.hub.freshness import State
from gitops_dsf.hub.timestamp import timestamp
from gitops_dsf.views.status.model import Overview, ScorerView


def document(view: Overview) -> dict[str, Any]:
    """Converts the whole view. A scorer, which can have thousands of scores, is encoded to JSON at once."""
    queue = {} if view.queue is None else {"queue": view.queue}
    refuges = {"refuges": view.refuges} if view.refuges else {}
    return {
        "hub": {
            "origin": view.origin,
            "now": timestamp(view.now),
            "clusters": len(view.clusters),
            "scores": view.score_count,
            "unread": [
                {"what": item.what, "why": str(item.why), "message": str(item)} for item in view.unread
            ],
        },
        "scorers": [msgspec.Raw(msgspec.json.encode(_scorer(item))) for item in view.scorers],
        "placements": view.placements,
        "applications": view.applications,
        **queue,
        **refuges,
    }


def _scorer(view: ScorerView) -> dict[str, Any]:
    scorer = view.scorer
    lowest, median, highest = view.values
    counts = {str(state): view.counts[state] for state in State}
    return {
        "name": scorer.name,
        "scoreName": scorer.score_name,
        "resource": scorer.resource,
        "health": scorer.health or None,
        "conditions": [
            {"type": item.type, "status": item.status, "reason": item.reason, "message": item.message}
            for item in scorer.conditions
        ],
        "suspendedBy": view.suspended or None,
        "intervalSeconds": scorer.interval,
        "ttlSeconds": scorer.ttl,
        "summary": {
            "clusters": counts | {"unexpected": len(view.unexpected)},
            "min": lowest,
            "median": median,
            "max": highest,
            "atDefault": view.at_default,
            "oldestSeconds": None if view.oldest is None else round(view.oldest),
        }
        if view.known
        else None,
        "scores": list(view.cells()),
    }
