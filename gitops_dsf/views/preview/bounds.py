"""Which part of a decision is certain although some scores are unknown: each sum has two bounds, and bounds
can be enough.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_dsf.simulator import Verdict
from gitops_dsf.views.preview.nextscores import Unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Certainty:
    """Clusters that are selected whatever the unknown scores are, and clusters that may be."""

    certain: frozenset[str]
    possible: frozenset[str]
    """Includes the certain clusters."""

    @property
    def decided(self) -> bool:
        """Whether the unknown scores cannot change the decision."""
        return self.certain == self.possible


def certainty(verdict: Verdict, unknown: Mapping[str, Mapping[str, Unknown]]) -> Certainty | None:
    """Computes the bounds of a verdict's ranking. Its sums contain placeholders for the unknown scores. None
    if no cluster that passed the filters has an unknown score with a weight.
    """
    ranking = verdict.ranking
    if ranking is None:
        return None
    names = [verdict.state.names[cluster] for cluster in ranking.clusters]
    lows, highs = list(ranking.sums), list(ranking.sums)
    is_open = False
    for result in verdict.prioritizers:
        cells = unknown.get(result.prioritizer.resource) if result.prioritizer.built_in is None else None
        for index, name in enumerate(names if cells else ()):
            cell = cells.get(name) if cells else None
            if cell is not None:
                is_open = True
                ends = (
                    (cell.low - (result.values[index] or 0)) * result.weight,
                    (cell.high - (result.values[index] or 0)) * result.weight,
                )
                lows[index] += min(ends)
                highs[index] += max(ends)
    if not is_open:
        return None
    # Equal sums are ordered by name, and indexes are in order of name, so the smaller index wins.
    worst = [(low, -index) for index, low in enumerate(lows)]
    best = [(high, -index) for index, high in enumerate(highs)]
    by_worst, by_best = sorted(worst), sorted(best)
    count, number_of_clusters = len(names), ranking.selected
    certain, possible = set(), set()
    for index, name in enumerate(names):
        may_beat = count - bisect_right(by_best, worst[index]) - (best[index] > worst[index])
        must_beat = count - bisect_right(by_worst, best[index])
        if may_beat < number_of_clusters:
            certain.add(name)
        if must_beat < number_of_clusters:
            possible.add(name)
    return Certainty(certain=frozenset(certain), possible=frozenset(possible))
