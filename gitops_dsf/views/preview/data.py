"""Formats a preview as JSON data."""

from typing import Any

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.changes import Count, Summary, alike
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.views.preview.moves import Move, Standing
from gitops_dsf.views.preview.scorers import ScorerChange


def data(preview: Preview) -> dict[str, Any]:
    """Returns everything, without cutting anything off. `comparison` is null if a side is invalid, `moves` if
    there is no hub data.
    """
    return {
        "base": preview.base,
        "head": preview.head,
        "notes": list(preview.notes),
        "differs": preview.differs,
        "foreignFiles": list(preview.foreign),
        "hub": preview.hub.shown(),
        "baseErrors": [_error(item) for item in preview.base_errors],
        "headErrors": [_error(item) for item in preview.head_errors],
        "comparison": None if preview.comparison is None else _comparison(preview.comparison),
    }


def _error(item: Diagnostic) -> dict[str, Any]:
    place = item.position
    return {
        "code": item.code,
        "message": item.message,
        "hint": item.hint,
        "file": place.file,
        "line": place.line,
        "column": place.column,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "summary": _summary(found.summary),
        "scorers": [_scorer(item) for item in found.scorers],
        "sources": [
            {
                "kind": first.kind,
                "names": [first.name, *(item.name for item in others)],
                "change": first.change,
                "fields": _fields(first.fields),
            }
            for first, *others in alike(found.sources)
        ],
        "placements": [
            {"placement": item.name, "change": item.change, "fields": _fields(item.fields)}
            for item in found.placements
        ],
        "moves": None if found.moves is None else [_move(item) for item in found.moves],
        "pending": list(found.pending),
        "warnings": list(found.concerns),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "scorers": _count(summary.scorers),
        "clusters": {
            **_count(summary.clusters),
            "joined": list(summary.joined),
            "left": list(summary.left),
            "edited": list(summary.edited),
            "gaining": summary.gaining,
            "losing": summary.losing,
            "altered": summary.altered,
        },
        "works": _count(summary.works),
        "placements": _count(summary.placements),
        "applicationSets": _count(summary.application_sets),
        "other": _count(summary.other),
    }


def _count(count: Count) -> dict[str, int]:
    return {"added": count.added, "removed": count.removed, "changed": count.changed, "total": count.total}


def _scorer(item: ScorerChange) -> dict[str, Any]:
    return {
        "name": item.name,
        "change": item.change,
        "fields": _fields(item.fields),
        "gained": list(item.gained),
        "lost": list(item.lost),
        "kept": len(item.kept),
        "effect": item.effect,
        "unknownBecause": list(item.causes),
        "otherSource": list(item.asks_elsewhere),
        "credentials": [
            {
                "section": one.section,
                "kind": one.kind,
                "secret": one.secret or None,
                "to": f"{one.scheme}://{one.host}",
            }
            for one in item.credentials
        ],
    }


def _fields(fields: tuple[FieldChange, ...]) -> list[dict[str, Any]]:
    return [{"path": field.path, "before": field.before, "after": field.after} for field in fields]


def _move(move: Move) -> dict[str, Any]:
    return {
        "application": move.application,
        "followers": list(move.followers),
        "from": list(move.origin),
        "to": "unknown" if move.unknown else list(move.target),
        "stays": move.stays,
        "reason": move.reason,
        "scores": [_standing(item) for item in move.standings],
    }


def _standing(item: Standing) -> dict[str, Any]:
    unknown = any(term.unknown for term in item.terms)
    return {
        "cluster": item.cluster,
        "before": item.before,
        "after": "unknown" if unknown else item.after,
        "terms": [
            {
                "name": term.name,
                "before": term.before,
                "after": "unknown" if term.unknown else term.after,
                "weightBefore": term.weight_before,
                "weightAfter": term.weight_after,
                "unknownBecause": term.unknown or None,
            }
            for term in item.terms
        ],
    }
