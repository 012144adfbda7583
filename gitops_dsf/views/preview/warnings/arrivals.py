"""Warnings of many applications that go to one cluster at once.

The scores of the cluster do not show the coming arrivals, so it looks free to each of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove
from gitops_dsf.views.preview.paced import is_paced

MAX_AT_ONCE: Final = 5
"""Applications that may go to one cluster at once without a warning."""


@dataclass(frozen=True, kw_only=True)
class ManyArrivals:
    """More applications than usual that go to one cluster at once."""

    cluster: str
    applications: tuple[str, ...]
    could_be_paced: int
    """The number of them that a pace would hold, but does not."""
    has_pace: bool
    """Whether the fleet has a pace that they could follow."""


def arrival_warnings(
    moves: Iterable[DecisionMove], base: CheckedFleet | None, head: CheckedFleet
) -> Iterator[ManyArrivals]:
    """Warns of each cluster that gets too many applications, and says what a pace can do."""
    arriving = defaultdict[str, list[str]](list)
    could_be_paced = defaultdict[str, list[str]](list)
    for move in moves:
        # Its target is open, so it is unknown which others arrive with it.
        if move.target == UNKNOWN:
            continue
        # A pace holds only what has a cluster already.
        is_new = base is None or move.application not in applied(base).placements
        for cluster in move.target:
            arriving[cluster] += move.followers
            if not is_new and not is_paced(head, move.application):
                could_be_paced[cluster] += move.followers
    for cluster, names in sorted(arriving.items()):
        if len(names) > MAX_AT_ONCE:
            yield ManyArrivals(
                cluster=cluster,
                applications=tuple(sorted(names)),
                could_be_paced=len(could_be_paced[cluster]),
                has_pace=head.repository.spec.pace is not None,
            )
