"""Flapping: a decision that leaves a cluster and returns to it within a window of time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

WINDOW_SECONDS: Final = 3600.0
"""A cluster that is chosen again within this time counts as a return.

It is an hour: an application should not start twice within it.
"""

Leads = Mapping[str, float]
"""Points by which a cluster leads another one, by scorer."""


class ReturnLeads(NamedTuple):
    """The leads of a cluster over its rival, at both ends of a return."""

    when_left: Leads
    when_chosen_again: Leads


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionChange:
    """A change of a decision. Clusters are in order of name."""

    at: float
    """Unix seconds."""
    left: tuple[str, ...]
    joined: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Return:
    """A cluster that was left and chosen again within the window."""

    cluster: str
    left: DecisionChange
    joined: DecisionChange

    @property
    def rival(self) -> str | None:
        """The cluster that took its place; None if none did."""
        return next(iter(self.left.joined or self.joined.left), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """Returns that follow each other within the window."""

    start: float
    """The time when the first of these clusters was left, in Unix seconds."""
    end: float
    """The time when the last one was chosen again, in Unix seconds."""
    clusters: tuple[str, ...]
    """All clusters that were left or joined, in order of name."""
    returns: tuple[Return, ...]


def returns(
    changes: Sequence[DecisionChange], *, window: float = WINDOW_SECONDS
) -> Iterator[Return]:
    """The returns, in order of time. The changes must be in order of time."""
    leaves: dict[str, DecisionChange] = {}
    for change in changes:
        for cluster in change.joined:
            # Popped, so that one leave counts for one return only.
            before = leaves.pop(cluster, None)
            if before is not None and change.at - before.at <= window:
                yield Return(cluster=cluster, left=before, joined=change)
        leaves.update(dict.fromkeys(change.left, change))


def episodes(
    changes: Sequence[DecisionChange], *, window: float = WINDOW_SECONDS
) -> tuple[Episode, ...]:
    """The returns in groups, in order of time. The changes must be in order of time."""
    groups: list[list[Return]] = []
    for cluster_return in returns(changes, window=window):
        # From the last return of a group: an application that flaps for a day is one episode.
        if groups and cluster_return.left.at - groups[-1][-1].joined.at <= window:
            groups[-1].append(cluster_return)
        else:
            groups.append([cluster_return])
    return tuple(map(_episode, groups))


def moves_back(cluster_returns: Iterable[Return]) -> int:
    """The number of changes of a decision that are returns of one or several clusters."""
    return len({cluster_return.joined.at for cluster_return in cluster_returns})


def largest_swing(before: Mapping[str, float], after: Mapping[str, float]) -> str | None:
    """The name whose value changed most; None if none changed.

    Of several that changed equally, the first in order of name.
    """
    largest = 0.0
    swinging = None
    for name in sorted({*before, *after}):
        swing = abs(after.get(name, 0.0) - before.get(name, 0.0))
        if swing > largest:
            largest = swing
            swinging = name
    return swinging


def cause_of(
    cluster_returns: Sequence[Return], leads_of: Callable[[Return], ReturnLeads]
) -> str | None:
    """The scorer behind most returns; None if no score changed."""
    causes = Counter[str]()
    for cluster_return in cluster_returns:
        leads = leads_of(cluster_return)
        scorer = largest_swing(leads.when_left, leads.when_chosen_again)
        if scorer is not None:
            causes[scorer] += 1
    # If counts are equal, the first name is taken, so that two programs blame the same scorer.
    return min(causes, key=lambda name: (-causes[name], name), default=None)


def _episode(group: Sequence[Return]) -> Episode:
    clusters = set[str]()
    for cluster_return in group:
        for change in (cluster_return.left, cluster_return.joined):
            clusters.update(change.left, change.joined)
    return Episode(
        start=group[0].left.at,
        end=group[-1].joined.at,
        clusters=tuple(sorted(clusters)),
        returns=tuple(group),
    )
