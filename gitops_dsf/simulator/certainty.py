"""The certain part of a Placement's decision when some scores are not known exactly.

Guaranteed: whatever the open scores are within their intervals, OCM selects every cluster of
`certain`, and no cluster outside of `possible`. For intervals without gaps both are tight: no
better answer can be given.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.simulator.ranking import RankedClusters
from gitops_dsf.simulator.verdict import Verdict


class OpenScore(Protocol):
    """An AddOnPlacementScore of one cluster whose content is not known exactly."""

    def interval(self, item: str) -> Interval:
        """The interval of an item. OCM counts one that is missing as 0."""
        ...


OpenScores = Mapping[str, Mapping[str, OpenScore]]
"""Open scores by name of the AddOnPlacementScore, then by cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Certainty:
    """Clusters that are selected whatever the open scores are, and clusters that may be."""

    certain: frozenset[str]
    possible: frozenset[str]
    sums: Mapping[str, Interval] = field(default_factory=dict)
    """The bounds of the weighted sum of each ranked cluster.

    Empty if it is not known who is ranked.
    """

    @property
    def decided(self) -> bool:
        """Whether the open scores cannot change the decision."""
        return self.certain == self.possible

    @property
    def open(self) -> frozenset[str]:
        """Clusters that may be selected and may not."""
        return self.possible - self.certain


def certainty(verdict: Verdict, scores: OpenScores) -> Certainty | None:
    """Bounds the ranking of a verdict, in which other numbers stand in for open scores.

    None if no ranked cluster has an open score, so that the verdict itself is certain.
    """
    ranking = verdict.ranking
    if ranking is None:
        return None
    names = list(map(verdict.state.names.__getitem__, ranking.clusters))
    sums = [Interval(total, total) for total in ranking.sums]
    is_open = False
    for term in _terms(verdict):
        cells = scores.get(term.resource, {})
        for index, name in enumerate(names if cells else ()):
            cell = cells.get(name)
            if cell is None:
                continue
            is_open = True
            # The placeholder of the score is taken out of the sum, and its bounds are put in.
            counted = (term.values[index] or 0) * term.weight
            added = cell.interval(term.item).times(term.weight)
            total = sums[index]
            sums[index] = Interval(
                total.low - counted + added.low, total.high - counted + added.high
            )
    if not is_open:
        return None
    return _selected(ranking, names, sums)


@dataclass(frozen=True, slots=True)
class _Term:
    """One score in the weighted sums, and its value on each ranked cluster."""

    resource: str
    item: str
    weight: int
    values: Sequence[int | None]


def _terms(verdict: Verdict) -> Iterable[_Term]:
    """The scores that the Placement names, each once, with the sum of its weights.

    OCM counts a score as often as a Placement names it. Bounds of the parts would be too wide: with
    the weights 2 and -1 a score of 10 to 20 adds 10 to 20, and not 0 to 30.
    """
    terms: dict[tuple[str, str], _Term] = {}
    for result in verdict.prioritizers:
        used = result.prioritizer
        if used.built_in is not None:
            continue
        key = (used.resource, used.score)
        before = terms[key].weight if key in terms else 0
        terms[key] = _Term(used.resource, used.score, before + used.weight, result.values)
    return terms.values()


def _selected(ranking: RankedClusters, names: list[str], sums: list[Interval]) -> Certainty:
    # Equal sums are ordered by name, and indexes are in order of name, so the smaller index wins.
    worst: list[tuple[int, int]] = []
    best: list[tuple[int, int]] = []
    for index, total in enumerate(sums):
        worst.append((total.low, -index))
        best.append((total.high, -index))
    by_worst = sorted(worst)
    by_best = sorted(best)
    count = len(names)
    certain: set[str] = set()
    possible: set[str] = set()
    for name, low, high in zip(names, worst, best, strict=True):
        # A cluster whose best is above its own worst does not compete with itself.
        rivals_at_best = count - bisect_right(by_best, low) - (high > low)
        rivals_at_worst = count - bisect_right(by_worst, high)
        if rivals_at_best < ranking.selected:
            certain.add(name)
        if rivals_at_worst < ranking.selected:
            possible.add(name)
    return Certainty(
        certain=frozenset(certain),
        possible=frozenset(possible),
        sums=dict(zip(names, sums, strict=True)),
    )
