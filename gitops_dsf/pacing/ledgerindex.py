"""An index of the moves of a ledger, by Placement and by cluster.

A pass that asks about each Placement of a fleet builds it once. A walk through the whole ledger for
each Placement takes their product: millions of steps for a large fleet.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gitops_dsf.pacing.ledger import LedgerMove


class LedgerIndex:
    """The moves of a ledger, to which moves can be added.

    It is not part of the ledger: that is compared and written in each pass.
    """

    def __init__(self, moves: Iterable[LedgerMove] = ()) -> None:
        self._of_placement: defaultdict[str, list[LedgerMove]] = defaultdict(list)
        self._under_way: dict[str, LedgerMove] = {}
        self._last_ends: dict[str, float] = {}
        self._arrivals: defaultdict[str, list[LedgerMove]] = defaultdict(list)
        self._departures: defaultdict[str, list[LedgerMove]] = defaultdict(list)
        self._admitted_under_way = 0
        for move in moves:
            self.add(move)

    @property
    def admitted_under_way(self) -> int:
        """The number of admitted moves that are under way."""
        return self._admitted_under_way

    def add(self, move: LedgerMove) -> None:
        """Adds a move after those that it has."""
        self._of_placement[move.placement].append(move)
        self._arrivals[move.target].append(move)
        self._departures[move.source].append(move)
        if move.under_way:
            # There is one at most, unless the ConfigMap was edited. Then the first one counts.
            self._under_way.setdefault(move.placement, move)
            self._admitted_under_way += move.admitted
        # A move that OCM made by itself has no cooldown: it would keep the application on a cluster
        # to which it was only sent because another one was lost.
        elif move.admitted:
            last_end = self._last_ends.get(move.placement, move.phase_since)
            self._last_ends[move.placement] = max(last_end, move.phase_since)

    def of(self, placement: str) -> Sequence[LedgerMove]:
        """The moves of a Placement (namespace/name), in their order."""
        return self._of_placement.get(placement, ())

    def under_way(self, placement: str) -> LedgerMove | None:
        """The move of a Placement (namespace/name) that is under way."""
        return self._under_way.get(placement)

    def last_end(self, placement: str) -> float | None:
        """The time when the last admitted move of a Placement ended; None if none is remembered."""
        return self._last_ends.get(placement)

    def arrivals(self, cluster: str) -> Sequence[LedgerMove]:
        """The moves to a cluster."""
        return self._arrivals.get(cluster, ())

    def touching(self, cluster: str) -> Sequence[LedgerMove]:
        """The moves to a cluster and away from it."""
        return (*self._arrivals.get(cluster, ()), *self._departures.get(cluster, ()))
