"""Debounces decisions of paced Placements: one counts when it has not changed for a while.

While others keep changing, it says where moves may go.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from gitops_dsf.pacing.desired import Paced
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS, DecisionSets

PATIENCE_SECONDS: Final = 60.0
"""The longest time for which all moves wait for decisions that change.

After it, only moves to the clusters in such a decision wait, because one Placement whose decision
changes every few seconds must not stop all others.
"""


class DebouncedDecisions(NamedTuple):
    """The decisions that count now."""

    decided: Mapping[str, frozenset[str]]
    """The clusters of complete decisions that have not changed for a while, by namespace/name."""
    changing_targets: frozenset[str] | None
    """Clusters that no move may go to; None while no move may begin at all.

    A decision that keeps changing names them.
    """


class DecisionDebounce:
    """Remembers since when there has always been a decision that changes.

    A new leader counts again.
    """

    def __init__(self, decisions: DecisionSets, *, clock: Callable[[], float]) -> None:
        self._decisions = decisions
        self._clock = clock
        self._changing_since: float | None = None
        self._changing: dict[str, frozenset[str]] = {}
        """The clusters that changing decisions have named meanwhile, by Placement."""

    def of(self, paced: Mapping[str, Paced]) -> DebouncedDecisions:
        """The decisions of these Placements that count."""
        now = self._clock()
        decided: dict[str, frozenset[str]] = {}
        changing: dict[str, frozenset[str]] = {}
        for key, placement in paced.items():
            _, _, name = key.partition("/")
            decision = self._decisions.get(name)
            wanted = placement.placement.spec.number_of_clusters or 0
            if decision is None:
                continue
            if now < decision.since + DEBOUNCE_SECONDS:
                changing[key] = decision.clusters
            # More clusters than are wanted are pages of two decisions.
            elif decision.clusters and len(decision.clusters) <= wanted:
                decided[key] = decision.clusters
        return DebouncedDecisions(decided, self._targets_of(changing))

    def _targets_of(self, changing: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
        if not changing:
            self._changing_since = None
            self._changing = {}
            return frozenset()
        now = self._clock()
        if self._changing_since is None:
            self._changing_since = now
        nothing = frozenset[str]()
        # All clusters that it has named while it changed: it may go back to each of them.
        merged: dict[str, frozenset[str]] = {}
        for key, clusters in changing.items():
            merged[key] = self._changing.get(key, nothing) | clusters
        self._changing = merged
        if now < self._changing_since + PATIENCE_SECONDS:
            return None
        return nothing.union(*self._changing.values())
