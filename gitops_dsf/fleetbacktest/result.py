"""Results of a backtest for the revisions of a fleet repository, and their JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import UNSET

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.result import BacktestResult, BacktestSide, BacktestSpan, Figures
from gitops_dsf.backtest.run import Backtest

_LIMITS: Final = (
    "an application that moves takes its load with it; the scores of the past do not know that",
    "clusters, labels and taints are those of now, and clusters that did not exist have no scores",
    (
        "several results with equal labels were exported once, so an aggregation over them cannot"
        " be repeated"
    ),
)
_LIMIT_OF_ORDERS: Final = (
    "jobs of the past are not known, so no load of theirs is assumed in the order of clusters for"
    " Kueue"
)
_LIMIT_OF_RANGES: Final = (
    "agents score at moments of their own: the numbers in brackets are the fewest and the most"
    " moves with four sets of such moments"
)


@dataclass(frozen=True, kw_only=True)
class RevisionResult:
    """What one revision would have decided."""

    side: BacktestSide
    """The decisions that are shown, by namespace/name of the Placement."""
    backtest: Backtest
    waited_for: str
    """Name of the score whose beginning is the start of the grid; empty if that is the span's."""
    is_part: bool
    """Whether only some Placements were asked for."""

    @property
    def grid(self) -> TimeGrid:
        """The points at which it was decided."""
        return self.backtest.grid


class ComparedFigures(NamedTuple):
    """The figures of one Placement in both revisions."""

    key: str
    """namespace/name."""
    before: Figures | None
    """None without a base, or if the base did not decide it."""
    after: Figures | None

    @property
    def differs(self) -> bool:
        """Whether the revisions decided differently."""
        if self.before is None or self.after is None:
            return True
        return (self.before.changes, self.before.seconds_on) != (
            self.after.changes,
            self.after.seconds_on,
        )


def compared(results: Sequence[RevisionResult]) -> Sequence[ComparedFigures]:
    """The figures of every Placement that a revision decided, in order of key."""
    after = results[-1].side.placements
    before: Mapping[str, Figures] = results[0].side.placements if len(results) > 1 else {}
    pairs: list[ComparedFigures] = []
    # Placements that only one revision has or could decide are included: such a Placement differs,
    # and its absence would hide that.
    for key in sorted({*before, *after}):
        pairs.append(ComparedFigures(key, before.get(key), after.get(key)))
    return pairs


def document(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> BacktestResult:
    """The output of `backtest` as JSON. Of two results the first one is the base."""
    head = results[-1]
    grid = head.grid
    return BacktestResult(
        span=BacktestSpan(
            start=grid.start, end=grid.end, step=grid.step, waited_for=head.waited_for
        ),
        base=results[0].side if len(results) > 1 else None,
        head=head.side,
        notes=notes,
        limits=limits(results),
    )


def limits(results: Sequence[RevisionResult]) -> tuple[str, ...]:
    """The facts that a backtest cannot know.

    Moments of the agents are named only where a range of moves is shown.
    """
    known: tuple[str, ...] = _LIMITS
    if any(result.side.orders is not UNSET for result in results):
        known = (*known, _LIMIT_OF_ORDERS)
    for result in results:
        for figures in result.side.placements.values():
            moves = figures.moves_range
            if moves is not None and moves[0] < moves[1]:
                return (_LIMIT_OF_RANGES, *known)
    return known
