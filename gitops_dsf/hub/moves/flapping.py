"""Flapping: a decision that leaves a cluster and returns to it within a window of time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

WINDOW_SECONDS: Final = 3600.0
"""A cluster that is chosen again within this time counts as a return: nobody wants two starts an
hour.
"""


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
    start: float
    """When the first of these clusters was left, in Unix seconds."""
    end: float
    """When the last one was chosen again."""
    clusters: tuple[str, ...]
    """All clusters that were left or joined, in order of name."""
    returns: tuple[Return, ...]


def returns(
    changes: Sequence[DecisionChange], *, window: float = WINDOW_SECONDS
) -> Iterator[Return]:
    """The returns, in order of time. The changes must be in order of time."""
    left: dict[str, DecisionChange] = {}
    for change in changes:
        for cluster in change.joined:
            before = left.pop(cluster, None)
            if before is not None and change.at - before.at <= window:
                yield Return(cluster=cluster, left=before, joined=change)
        left.update(dict.fromkeys(change.left, change))


def episodes(
    changes: Sequence[DecisionChange], *, window: float = WINDOW_SECONDS
) -> tuple[Episode, ...]:
    found: list[list[Return]] = []
    for each in returns(changes, window=window):
        if found and each.left.at - found[-1][-1].joined.at <= window:
            found[-1].append(each)
        else:
            found.append([each])
    result = []
    for parts in found:
        changes = [change for each in parts for change in (each.left, each.joined)]
        clusters = sorted({name for change in changes for name in (*change.left, *change.joined)})
        start, end = parts[0].left.at, parts[-1].joined.at
        result.append(Episode(start=start, end=end, clusters=tuple(clusters), returns=tuple(parts)))
    return tuple(result)


def moves_back(found: Iterable[Return]) -> int:
    """How many changes of a decision are returns, of one cluster or of several at once."""
    return len({each.joined.at for each in found})


def largest_swing(before: Mapping[str, float], after: Mapping[str, float]) -> str | None:
    """The name whose value changed most, the first of equal ones in order of name; None if none changed."""
    swings = {
        name: abs(after.get(name, 0.0) - before.get(name, 0.0))
        for name in sorted({*before, *after})
    }
    best = max(swings, key=swings.__getitem__, default=None)
    return best if best is not None and swings[best] > 0 else None


Leads = Mapping[str, float]
"""Points by which a cluster leads another one, by scorer."""


def cause_of(found: Sequence[Return], leads: Callable[[Return], tuple[Leads, Leads]]) -> str | None:
    """The scorer behind most returns.

    `leads`: over the rival when it was left, and when chosen again.
    """
    causes = Counter(cause for each in found if (cause := largest_swing(*leads(each))) is not None)
    return min(causes, key=lambda name: (-causes[name], name), default=None)
