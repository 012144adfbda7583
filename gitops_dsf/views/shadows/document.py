"""Formats shadows as JSON data. docs/shadows.md documents the shape."""

from typing import Any

from gitops_dsf.hub.shadows import Agreement, Spread
from gitops_dsf.views.shadows.build import Moves, ShadowView


def shadow_document(view: ShadowView) -> dict[str, Any]:
    """Returns everything that is known of a shadow."""
    return {
        "name": view.shadow.name,
        "shadowOf": view.shadow.live,
        "agreement": _agreement(view.agreement),
        "moves": None if view.moves is None else _moves(view.moves),
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        "clusters": found.clusters,
        "items": found.items,
        "rankCorrelation": None if found.correlation is None else round(found.correlation, 4),
        "live": _spread(found.live),
        "shadow": _spread(found.shadow),
        "differences": [
            {
                "cluster": item.cluster,
                "item": item.item,
                "live": item.live,
                "shadow": item.shadow,
                "liveRank": item.live_rank,
                "shadowRank": item.shadow_rank,
            }
            for item in found.differences
        ],
        "onlyLive": list(found.only_live),
        "onlyShadow": list(found.only_shadow),
    }


def _spread(found: Spread | None) -> dict[str, int] | None:
    if found is None:
        return None
    return {
        "min": found.lowest,
        "lowerQuartile": found.lower_quartile,
        "median": found.median,
        "upperQuartile": found.upper_quartile,
        "max": found.highest,
    }


def _moves(found: Moves) -> dict[str, Any]:
    return {
        "found": [
            {
                "placement": move.placement,
                "followers": list(move.followers),
                "from": list(move.origin),
                "to": list(move.target),
            }
            for move in found.found
        ],
        "stay": found.stay,
        "open": list(found.open),
    }
