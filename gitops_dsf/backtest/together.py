"""Decides Placements together whose passes depend on decisions: their own, or those of others (Balance)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gitops_dsf.backtest.contest import Contest
from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.hubdecisions import HubDecisions
from gitops_dsf.backtest.lapses import Tracks
from gitops_dsf.backtest.passes import Passes
from gitops_dsf.backtest.replay import Player, Simulation
from gitops_dsf.simulator import HubState

STRETCH: Final = 100
"""Points between two looks at the clock."""


class Together:
    """Decides like Replay, but by the simulator only where a CEL expression reads scores."""

    def __init__(
        self,
        contests: Sequence[Contest],
        *,
        state: HubState,
        tracks: Tracks,
        grid: Grid,
        current: Mapping[str, Sequence[str]] | None = None,
        known: Sequence[DecisionLine] = (),
    ) -> None:
        """`known` are decisions of other Placements of the hub."""
        self._grid = grid
        self._decisions = HubDecisions(state, current or {})
        self._simulation = Simulation(state, tracks, grid, self._decisions)
        self._players = [Player(contest, tracks, grid) for contest in contests]
        self._passes = [
            None
            if player.contest.whole
            else Passes(player.contest, tracks=tracks, grid=grid, triggers=player.triggers)
            for player in self._players
        ]
        self._known = sorted(
            ((each.number, line.key, each.clusters) for line in known for each in line.decided), reverse=True
        )

    def run(self, *, stop: Callable[[], bool] = lambda: False) -> tuple[DecisionLine, ...]:
        """The decisions of the Placements, in the order in which they were given; none if `stop` became true
        before the last point.
        """
        for number in range(self._grid.count):
            if number % STRETCH == 0 and stop():
                return ()
            while self._known and self._known[-1][0] <= number:
                _, key, clusters = self._known.pop()
                self._decisions.put(key, clusters)
            for player, passes in zip(self._players, self._passes, strict=True):
                at = player.triggers.get(number)
                if at is None:
                    continue
                if passes is None:
                    self._simulation.make(player, number, at)
                    continue
                chosen, behind = passes.decide(self._decisions)
                player.take(number, chosen, behind)
                self._decisions.put(player.contest.key, chosen)
        return tuple(player.line(self._grid) for player in self._players)
