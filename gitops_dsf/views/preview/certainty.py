"""Which part of a decision is certain although some scores are unknown.

Each unknown score has two bounds, so each weighted sum has two as well. A cluster is certainly
selected if it is selected with its lowest sum while all others have their highest. Nothing is
assumed about the values between the bounds: a decision is known where the bounds decide it, and
unknown elsewhere.
"""

from bisect import bisect_right
from dataclasses import dataclass

from gitops_dsf.simulator import Verdict
from gitops_dsf.views.preview.nextscores import UnknownScores


@dataclass(frozen=True, kw_only=True, slots=True)
class Certainty:
    """Clusters that are selected whatever the unknown scores are, and clusters that may be."""

    certain: frozenset[str]
    possible: frozenset[str]
    """It includes the certain clusters."""

    @property
    def decided(self) -> bool:
        """Whether the unknown scores cannot change the decision."""
        return self.certain == self.possible


def certainty(verdict: Verdict, unknown: UnknownScores) -> Certainty | None:
    """Computes what the bounds of unknown scores decide.

    In the sums of the verdict each unknown score counts with its present value, or with 0 if it has
    none. Returns None if no ranked cluster has an unknown score with a weight.
    """
    ranking = verdict.ranking
    if ranking is None:
        return None
    names = [verdict.state.names[cluster] for cluster in ranking.clusters]
    lowest_sums = list(ranking.sums)
    highest_sums = list(ranking.sums)
    has_unknown = False
    for result in verdict.prioritizers:
        if result.prioritizer.built_in:
            continue
        cells = unknown.get(result.prioritizer.resource, {})
        for index, name in enumerate(names if cells else ()):
            cell = cells.get(name)
            if cell is None:
                continue
            has_unknown = True
            counted = result.values[index] or 0
            # A weight may be negative. Then the low end of the score gives the highest sum.
            shifts = ((cell.low - counted) * result.weight, (cell.high - counted) * result.weight)
            lowest_sums[index] += min(shifts)
            highest_sums[index] += max(shifts)
    if not has_unknown:
        return None
    return _selected(names, lowest_sums, highest_sums, wanted=ranking.selected)


def _selected(names: list[str], lowest: list[int], highest: list[int], *, wanted: int) -> Certainty:
    """Which clusters are selected in every case, and in at least one case."""
    # OCM orders equal sums by name. The clusters of a ranking are sorted by name, so of equal sums
    # the one with the smaller index wins.
    worst = [(low, -index) for index, low in enumerate(lowest)]
    best = [(high, -index) for index, high in enumerate(highest)]
    sorted_worst = sorted(worst)
    sorted_best = sorted(best)
    certain = set()
    possible = set()
    for index, name in enumerate(names):
        may_beat_it = len(names) - bisect_right(sorted_best, worst[index])
        if best[index] > worst[index]:
            # Its own best sum is in the list, and it does not compete with itself.
            may_beat_it -= 1
        must_beat_it = len(names) - bisect_right(sorted_worst, best[index])
        if may_beat_it < wanted:
            certain.add(name)
        if must_beat_it < wanted:
            possible.add(name)
    return Certainty(certain=frozenset(certain), possible=frozenset(possible))
