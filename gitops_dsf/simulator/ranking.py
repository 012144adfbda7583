"""Sums, rank order and selection of clusters.

Source: Schedule and selectClusters of OCM v1.2.1, in
pkg/placement/controllers/scheduling/schedule.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gitops_dsf.simulator.prioritizers import PrioritizerResult

_INT64 = 2**63


class SchedulerPanic(Exception):  # noqa: N818 - it happens to OCM, not to the simulator
    """The real scheduler panics here. The message is that of the Go runtime."""


@dataclass(frozen=True, slots=True)
class RankedClusters:
    clusters: Sequence[int] = field(repr=False)
    """Clusters that passed the filters, in order of name."""
    sums: Sequence[int] = field(repr=False)
    """Aligned with clusters."""
    order: Sequence[int] = field(repr=False)
    """Indexes into clusters, best first."""
    selected: int
    """The number of clusters in order that are selected."""

    @property
    def selected_clusters(self) -> list[int]:
        return [self.clusters[index] for index in self.order[: self.selected]]


def add_up(results: Sequence[PrioritizerResult], count: int) -> list[int]:
    """The weighted sum per cluster. int64 wraps, as in Go."""
    sums = [0] * count
    for result in results:
        weight = result.weight
        # A comprehension, because this is the inner loop of every pass and of every backtest.
        sums = [
            total + (value or 0) * weight for total, value in zip(sums, result.values, strict=True)
        ]
    # Scores and weights are small. Only those of a hub without the CRD's bounds get so far.
    if sums and not -_INT64 <= min(sums) <= max(sums) < _INT64:
        sums = [(total + _INT64) % (2 * _INT64) - _INT64 for total in sums]
    return sums


def rank(
    clusters: Sequence[int], results: Sequence[PrioritizerResult], *, number_of_clusters: int | None
) -> RankedClusters:
    """Ranks by sum, then by name. `clusters` are in order of name.

    Raises SchedulerPanic for a negative number of clusters.
    """
    sums = add_up(results, len(clusters))
    # A stable sort, so equal sums stay ordered by name. OCM v1.2.1 sorts by name, too, although its
    # API says that it takes a random subset of them.
    order = sorted(range(len(clusters)), key=sums.__getitem__, reverse=True)
    # The CRD has no minimum, and selectClusters slices without a check.
    if number_of_clusters is not None and number_of_clusters < 0:
        raise SchedulerPanic(f"runtime error: slice bounds out of range [:{number_of_clusters}]")
    selected = len(clusters)
    if number_of_clusters is not None:
        selected = min(number_of_clusters, selected)
    return RankedClusters(clusters, sums, order, selected)
