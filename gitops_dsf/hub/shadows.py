"""How the scores of a shadow and of its live scorer agree, and the scores that a promotion would leave."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import sqrt
from typing import Final

from dsf_wire.dimension import rename
from gitops_dsf.hub.freshness import expired
from gitops_dsf.hub.scores import Score

MOST_DIFFERENCES: Final = 5
"""Clusters whose difference is listed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shadow:
    """A shadow, and the live scorer that it runs beside."""

    name: str
    live: str
    """Name of the live scorer."""
    resource: str
    """Name of the shadow's AddOnPlacementScores."""
    live_resource: str
    score_name: str
    live_score_name: str
    dimension_format: str
    """Of the shadow."""

    def promoted(self, scores: Mapping[str, Score]) -> dict[str, Score]:
        """The scores of the shadow by cluster, with the names that their items would have after a
        promotion.
        """
        names: dict[tuple[str, ...], tuple[str, ...]] = {}
        found = {}
        for cluster, score in scores.items():
            new = names.get(score.names)
            if new is None:
                new = names[score.names] = tuple(map(self._item, score.names))
            found[cluster] = Score(score.valid_until, new, score.values, score.raw)
        return found

    def _item(self, name: str) -> str:
        return rename(
            self.dimension_format, name, score_name=self.score_name, new_score_name=self.live_score_name
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """The distribution of scores. The quartiles and the median are values that were published."""

    lowest: int
    lower_quartile: int
    median: int
    upper_quartile: int
    highest: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One score item of one cluster. The highest score has rank 1."""

    cluster: str
    item: str
    live: int
    shadow: int
    live_rank: int
    shadow_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Compares score items that a cluster has from both scorers, and that count now."""

    clusters: int
    """The number of clusters that have such items."""
    items: int
    correlation: float | None
    """Spearman's rank correlation, from -1 to 1. None with fewer than two items, or if all scores of one
    scorer are equal.
    """
    live: Spread | None
    """None without items."""
    shadow: Spread | None
    differences: tuple[Difference, ...]
    """The largest difference of each cluster, those with the largest difference of ranks first."""
    only_live: tuple[str, ...]
    """Clusters with live scores alone, sorted. After a promotion they would count as 0."""
    only_shadow: tuple[str, ...]


def agreement(live: Mapping[str, Score], promoted: Mapping[str, Score], *, now: datetime) -> Agreement:
    """Compares live scores with the promoted scores of a shadow, both by cluster. Expired scores do not
    count.
    """
    first, second = _counted(live, now), _counted(promoted, now)
    keys = sorted(first.keys() & second.keys())
    values = [first[key] for key in keys], [second[key] for key in keys]
    clusters, others = {cluster for cluster, _ in first}, {cluster for cluster, _ in second}
    return Agreement(
        clusters=len({cluster for cluster, _ in keys}),
        items=len(keys),
        correlation=rank_correlation(*values),
        live=_spread(values[0]),
        shadow=_spread(values[1]),
        differences=tuple(_differences(keys, *values))[:MOST_DIFFERENCES],
        only_live=tuple(sorted(clusters - others)),
        only_shadow=tuple(sorted(others - clusters)),
    )


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation: Pearson's correlation of the ranks, where equal values have the mean of
    their ranks. None if it is not defined.

    Source: C. Spearman, The proof and measurement of association between two things, 1904; equal values as in
    M. G. Kendall, Rank Correlation Methods, and scipy.stats.spearmanr.
    """
    ranks, others = _mean_ranks(first), _mean_ranks(second)
    count = len(ranks)
    middle = (count + 1) / 2
    spread = sum((rank - middle) ** 2 for rank in ranks)
    other = sum((rank - middle) ** 2 for rank in others)
    if not spread or not other:
        return None
    both = sum((one - middle) * (two - middle) for one, two in zip(ranks, others, strict=True))
    return both / sqrt(spread * other)


def _mean_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 for the lowest value."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ends = [0, *(at + 1 for at, (one, two) in enumerate(pairwise(order)) if values[one] != values[two])]
    ranks = [0.0] * len(values)
    for start, end in pairwise([*ends, len(order)]):
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
    return ranks


def _counted(scores: Mapping[str, Score], now: datetime) -> dict[tuple[str, str], int]:
    return {
        (cluster, item): value
        for cluster, score in scores.items()
        if not expired(score.valid_until, now)
        for item, value in score.items()
    }


def _spread(values: Iterable[int]) -> Spread | None:
    ordered = sorted(values)
    if not ordered:
        return None
    last = len(ordered) - 1
    return Spread(
        lowest=ordered[0],
        lower_quartile=ordered[last // 4],
        median=ordered[last // 2],
        upper_quartile=ordered[last * 3 // 4],
        highest=ordered[-1],
    )


def _differences(
    keys: Sequence[tuple[str, str]], live: Sequence[int], shadow: Sequence[int]
) -> Iterator[Difference]:
    ranks, others = _places(live), _places(shadow)
    found = [
        Difference(
            cluster=cluster, item=item, live=one, shadow=two, live_rank=ranks[one], shadow_rank=others[two]
        )
        for (cluster, item), one, two in zip(keys, live, shadow, strict=True)
        if one != two
    ]
    found.sort(key=_size)
    seen: set[str] = set()
    for each in found:
        if each.cluster not in seen:
            seen.add(each.cluster)
            yield each


def _size(item: Difference) -> tuple[int, int, str, str]:
    ranks, points = abs(item.live_rank - item.shadow_rank), abs(item.live - item.shadow)
    return -ranks, -points, item.cluster, item.item


def _places(values: Sequence[int]) -> dict[int, int]:
    """The rank of each value: 1 and the number of higher values."""
    places: dict[int, int] = {}
    for place, value in enumerate(sorted(values, reverse=True), start=1):
        places.setdefault(value, place)
    return places
