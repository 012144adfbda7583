"""The transition of a hub by a change: the states before and after it, each computed once.

The Placements of the base are simulated from the hub's decisions until they are stable, and those
of the head from there. So OCM's stickiness is taken into account, and a move that would happen
anyway is not attributed to the change. All parts of a preview share one `Transition`.

Not guaranteed: moves that follow from other moves by the prioritizer Balance. Rendered Placements
never use it.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from gitops_dsf.hub.raw_results import NO_RAW_SCORES, RawScores
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.scheduler import ScheduledPlacements, schedule_all
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import hub_state, stored_moves
from gitops_dsf.views.preview.nextscores import NextScores, next_scores


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A change on a hub. Without a base, everything is new."""

    base: CheckedFleet | None
    head: CheckedFleet
    snapshot: Snapshot
    now: datetime
    raw: RawScores = NO_RAW_SCORES
    """Raw scores from a metric store, as far as one was asked."""

    @cached_property
    def scores(self) -> NextScores:
        """The scores after the change."""
        return next_scores(self.base, self.head, self.snapshot, now=self.now, raw=self.raw)

    @cached_property
    def base_state(self) -> HubState | None:
        """The hub with the Placements of the base and its decisions of now; None without a base."""
        return None if self.base is None else hub_state(self.base, self.snapshot)

    @cached_property
    def decided_base(self) -> ScheduledPlacements:
        """The base after all moves that would happen without the change."""
        if self.base is None or self.base_state is None:
            # The hub may have decisions of an earlier repository, from which OCM goes on.
            return ScheduledPlacements(verdicts={}, decisions=tuple(self.snapshot.decisions))
        return schedule_all(self.base_state, applied(self.base).placements, self.now)

    @cached_property
    def head_state(self) -> HubState:
        """The hub with the Placements of the head and the decisions of the decided base.

        Numbers stand in for unknown scores (`NextScores.scores`).
        """
        return hub_state(
            self.head,
            self.snapshot,
            scores=self.scores.scores,
            decisions=self.decided_base.decisions,
            base=self.base,
        )

    @cached_property
    def after(self) -> HubState:
        """`head_state` with the decisions that the Placements of the head lead to."""
        scheduled = schedule_all(self.head_state, applied(self.head).placements, self.now)
        return self.head_state.deciding(scheduled.decisions)

    @cached_property
    def known_scores(self) -> frozenset[str]:
        """The AddOnPlacementScores whose values after the change are known on every cluster."""
        # On any cluster: an overload is judged by the score of the target, which may be each one.
        unknown = {resource for resource, cells in self.scores.unknown.items() if cells}
        return frozenset(self.after.scores) - unknown

    @cached_property
    def ledger(self) -> Ledger:
        """The paced moves that are under way on the hub. Raises MovesError."""
        return stored_moves(self.snapshot).ledger
