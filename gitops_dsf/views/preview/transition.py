"""Where a change leads a hub: from the decisions that the base leads to, to those of the head.

All parts of a comparison read it here, so that each version is simulated once.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.simulator import HubState, Verdict
from gitops_dsf.simulator.settle import settle
from gitops_dsf.views.preview.hub import hub_state
from gitops_dsf.views.preview.nextscores import NextScores, next_scores
from gitops_dsf.views.preview.paced import stored_moves
from gitops_dsf.views.preview.version import FleetVersion


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A change on a hub. Without a base, everything is new."""

    base: FleetVersion | None
    head: FleetVersion
    snapshot: Snapshot
    now: datetime

    @cached_property
    def scores(self) -> NextScores:
        """The scores after the change."""
        return next_scores(self.base, self.head, self.snapshot)

    @cached_property
    def first(self) -> HubState | None:
        """The hub with the Placements of the base; None without a base."""
        if self.base is None:
            return None
        return hub_state(self.base, self.snapshot, decisions=self.snapshot.decisions)

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The last verdicts on the Placements of the base."""
        return self._settled[0]

    @cached_property
    def decisions(self) -> tuple[PlacementDecision, ...]:
        """The decisions that the Placements of the base lead to."""
        return self._settled[1]

    @cached_property
    def second(self) -> HubState:
        """The hub with the Placements of the head and these decisions. Scores that are not known yet are as
        they are now.
        """
        return hub_state(self.head, self.snapshot, scores=self.scores.scores, decisions=self.decisions)

    @cached_property
    def after(self) -> HubState:
        """The same with the decisions that the Placements of the head lead to."""
        _, decisions = settle(self.second, self.head.placements, self.now)
        return self.second.deciding(decisions)

    @cached_property
    def ledger(self) -> Ledger:
        """The paced moves that are stored on the hub."""
        return stored_moves(self.snapshot).ledger

    @cached_property
    def _settled(self) -> tuple[dict[str, Verdict], tuple[PlacementDecision, ...]]:
        if self.base is None or self.first is None:
            return {}, tuple(self.snapshot.decisions)
        return settle(self.first, self.base.placements, self.now)
