"""A backtest as JSON data."""

from collections.abc import Sequence

from gitops_dsf.backtest.result import BacktestResult, BacktestSide, Span
from gitops_dsf.views.backtest.build import Result
from gitops_dsf.views.backtest.sentences import LIMITS


def data(results: Sequence[Result], *, notes: Sequence[str] = ()) -> BacktestResult:
    """The base is None if only one revision was tested."""
    head, grid = results[-1], results[-1].grid
    return BacktestResult(
        span=Span(start=grid.start, end=grid.end, step=grid.step, waited_for=head.waited_for),
        base=_side(results[0]) if len(results) > 1 else None,
        head=_side(head),
        notes=notes,
        limits=LIMITS,
    )


def _side(result: Result) -> BacktestSide:
    return BacktestSide(
        title=result.title,
        placements=result.figures,
        unknown=result.unknown,
        gaps=result.gaps,
        advice=result.advice,
    )
