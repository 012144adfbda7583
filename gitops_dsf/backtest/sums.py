"""The weighted sums of the candidates of a Placement at the points of a grid, with numpy."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.expiry import ScoreExpiry
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement

Ints = npt.NDArray[np.int64]
MAX_CELLS: Final = 1_000_000
"""Points times clusters that are computed together, which bounds the memory."""


class SumBlock(NamedTuple):
    """The weighted sums of consecutive points."""

    first: int
    """Number of the first point."""
    sums: Ints
    """A row for each point, and a column for each candidate."""


class Stretch(NamedTuple):
    """Consecutive points with the same eligible candidates."""

    first: int
    end: int
    """The point after the last one."""
    candidates: tuple[int, ...]
    """Positions in the state, by name."""


class _UncountedScore(NamedTuple):
    """An expired score, and the points at which it counts as 0."""

    first: int
    end: int
    expiry: ScoreExpiry


def sum_blocks(
    prepared: PreparedPlacement,
    scores: GridScores,
    expiries: Sequence[ScoreExpiry],
    *,
    first: int = 0,
    end: int | None = None,
) -> Iterator[SumBlock]:
    """The sums from point `first` on, before point `end`, without Steady."""
    columns = {name: column for column, name in enumerate(prepared.names)}
    uncounted: list[_UncountedScore] = []
    for expiry in expiries:
        if expiry.cluster in columns:
            bounds = (expiry.noticed, expiry.renewed)
            noticed, renewed = np.searchsorted(scores.times, bounds, side="left").tolist()
            uncounted.append(_UncountedScore(noticed, renewed, expiry))
    size = max(1, MAX_CELLS // max(1, len(columns)))
    last = len(scores.times) if end is None else end
    for start in range(first, last, size):
        stop = min(start + size, last)
        sums = np.empty((stop - start, len(columns)), dtype=np.int64)
        # 64 bits: scores up to 100 are multiplied by weights up to 10, `multiplier` and the width.
        sums[:] = np.asarray(prepared.constant, dtype=np.int64)
        for term in prepared.terms:
            for name, column in columns.items():
                values = scores.column(term.resource, term.score, name)
                if values is not None:
                    sums[:, column] += values[start:stop] * np.int64(term.weight)
        # A column has an expired score, too, because OCM counts it until it notices the expiry.
        for span in uncounted:
            low = max(span.first, start)
            high = min(span.end, stop)
            if low >= high:
                continue
            column = columns[span.expiry.cluster]
            for term in prepared.terms:
                values = scores.column(term.resource, term.score, span.expiry.cluster)
                if term.resource == span.expiry.resource and values is not None:
                    sums[low - start : high - start, column] -= values[low:high] * np.int64(
                        term.weight
                    )
        yield SumBlock(start, sums)


def stretches(prepared: PreparedPlacement, scores: GridScores) -> Iterator[Stretch]:
    """The stretches of the whole grid, in order.

    Candidates change only with scores that a predicate requires. An expired score satisfies such a
    predicate, too (docs/decisions/scheduler.md#scores).
    """
    count = len(scores.times)
    if not prepared.required:
        yield Stretch(0, count, prepared.candidates)
        return
    eligible = np.ones((count, len(prepared.candidates)), dtype=np.bool_)
    for column, name in enumerate(prepared.names):
        for resource, dimension in prepared.required:
            present = scores.present(resource, dimension, name)
            eligible[:, column] &= False if present is None else present
    changes = np.flatnonzero((eligible[1:] != eligible[:-1]).any(axis=1)) + 1
    candidates = np.asarray(prepared.candidates, dtype=np.int64)
    for first, end in pairwise([0, *changes.tolist(), count]):
        yield Stretch(first, end, tuple(candidates[eligible[first]].tolist()))
