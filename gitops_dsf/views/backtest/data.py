"""A backtest as JSON data."""

from collections.abc import Iterable, Sequence
from typing import Any

from gitops_dsf.backtest.advice import Advice, Trial
from gitops_dsf.backtest.figures import Figures
from gitops_dsf.views.backtest.build import Result
from gitops_dsf.views.backtest.fields import Field, fields
from gitops_dsf.views.backtest.sentences import LIMITS


def data(results: Sequence[Result], *, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The base is null if only one revision was tested. Times are Unix seconds, regret is score points."""
    grid = results[-1].grid
    return {
        "span": {
            "start": grid.start,
            "end": grid.end,
            "step": grid.step,
            "waitedFor": results[-1].waited_for,
        },
        "base": _side(results[0]) if len(results) > 1 else None,
        "head": _side(results[-1]),
        "notes": list(notes),
        "limits": list(LIMITS),
    }


def _side(result: Result) -> dict[str, Any]:
    return {
        "title": result.title,
        "placements": {key: _figures(item) for key, item in result.figures.items()},
        "unknown": dict(result.unknown),
        "gaps": {resource: dict(item.clusters) for resource, item in result.gaps.items()},
        "advice": {key: _advice(item, fields(result, key)) for key, item in result.advice.items()},
    }


def _figures(item: Figures) -> dict[str, Any]:
    return {
        "moves": item.moves,
        "movesRange": item.range,
        "movesPerDay": item.per_day,
        "returns": item.returns,
        "regret": item.regret,
        "secondsOn": dict(item.time_on),
        "changes": [{"at": each.at, "left": each.left, "joined": each.joined} for each in item.changes],
        "flapping": [
            {
                "start": each.episode.start,
                "end": each.episode.end,
                "clusters": each.episode.clusters,
                "returns": each.returns,
                "cause": each.cause,
            }
            for each in item.flapping
        ],
    }


def _advice(item: Advice, found: Iterable[Field]) -> dict[str, Any]:
    return {
        "written": _trial(item.written),
        "recommended": _trial(item.recommended),
        "reason": item.reason,
        "fields": [
            {
                "file": each.file,
                "line": each.line,
                "field": each.field,
                "before": each.before,
                "after": each.after,
                "also": each.also,
            }
            for each in found
        ],
        "front": [_trial(each) for each in item.front],
        "trials": [_trial(each) for each in item.trials],
    }


def _trial(item: Trial) -> dict[str, Any]:
    return {
        "stickiness": item.setting.stickiness,
        "deadband": item.setting.deadband,
        "moves": item.moves,
        "returns": item.returns,
        "regret": item.regret,
        "writes": item.writes,
    }
