"""Capacity during maintenance windows: applications for which too few clusters are left.

Sets of clusters are numbers with a bit for each cluster: thousands of sets are compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import eligible

MAX_STRANDING: Final = 10
"""Sets of several windows that are named for one application."""


class Need(NamedTuple):
    """The clusters that an application needs."""

    eligible: int
    """The clusters that may run it."""
    wanted: int
    """The number of clusters that it needs."""

    def is_stranded(self, taken: int) -> bool:
        """Whether too few clusters are left for it without these."""
        loses_some = bool(self.eligible & taken)
        return loses_some and (self.eligible & ~taken).bit_count() < self.wanted


def needs_of(context: Context, bits: Mapping[str, int]) -> Mapping[Need, list[str]]:
    """The names of the applications by what they need: many need the same."""
    names: dict[tuple[frozenset[str], int], list[str]] = {}
    for ranking in context.declared.rankings:
        clusters = eligible(context, ranking)
        # An application on all eligible clusters goes on as long as one is left.
        wanted = ranking.value.spec.placement.number_of_clusters or 1
        # One that asks for more clusters than are eligible lacks them without any maintenance.
        # Another rule reports that.
        names.setdefault((clusters, min(len(clusters), wanted)), []).append(ranking.name)
    needs: dict[Need, list[str]] = {}
    for (clusters, count), applications in names.items():
        needs[Need(sum(bits[cluster] for cluster in clusters), count)] = applications
    return needs


def stranding(
    need: Need, taken: Sequence[int], groups: Iterable[tuple[frozenset[int], int]]
) -> Iterator[frozenset[int]]:
    """The smallest sets of windows that leave an application too few clusters when open at once.

    `taken` has the clusters of each window. `groups` are windows that are open at once, with the
    clusters that they take together, the smallest group first.
    """
    alone: frozenset[int] = frozenset()
    several: list[frozenset[int]] = []
    for group, taken_together in groups:
        if not need.is_stranded(taken_together):
            continue
        # A window that strands the application alone explains nothing about the others.
        smallest = group - alone
        if not need.is_stranded(union(smallest, taken)):
            continue
        # A group that contains an earlier answer says nothing new.
        if any(earlier <= smallest for earlier in several):
            continue
        # Windows that the others do not need to strand it are dropped, so that the finding names
        # only those of which one must be moved.
        for window in sorted(smallest):
            if need.is_stranded(union(smallest - {window}, taken)):
                smallest -= {window}
        yield smallest
        if len(smallest) == 1:
            alone |= smallest
        elif len(several) < MAX_STRANDING:
            several.append(smallest)
        else:
            return


def union(windows: Iterable[int], taken: Sequence[int]) -> int:
    """The clusters that these windows take together."""
    clusters = 0
    for window in windows:
        clusters |= taken[window]
    return clusters
