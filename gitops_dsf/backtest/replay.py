"""Decides Placements pass by pass with the simulator. It covers every Placement, also those whose passes
depend on the decisions of others (Balance), on taints, on CEL expressions over scores, or on tolerations that
run out.

There is one pass of a Placement in a step of the grid in which something triggers one: at the time of the
last trigger, with the scores of that time.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.expiry import score_expiries, tracks_of
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.track import ABSENT, Track, Tracks
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement
from gitops_dsf.simulator.notes import RESYNC_SECONDS


class Replay:
    """Replays some Placements of one hub together."""

    def __init__(
        self,
        contests: Sequence[PreparedPlacement],
        *,
        state: HubState,
        tracks: Tracks,
        grid: TimeGrid,
        known: Sequence[DecisionLine] = (),
    ) -> None:
        """`known` are decisions of other Placements of the hub."""
        self._grid = grid
        self._players = [Player(contest, tracks, grid) for contest in contests]
        self._state = state
        self._known = sorted(
            ((each.number, line.key, each.clusters) for line in known for each in line.decided),
            reverse=True,
        )
        self._tracks = tracks
        self._scores: dict[str, dict[str, PublishedScore]] = {resource: {} for resource in tracks}
        self._next: dict[tuple[str, str], int] = {}
        self._written = -math.inf

    def run(self, *, stop: Callable[[], bool] = lambda: False) -> tuple[DecisionLine, ...]:
        """The decisions of the Placements, in their order; none if `stop` became true before the end."""
        for _ in self.passes():
            if stop():
                return ()
        return tuple(player.line(self._grid) for player in self._players)

    def passes(self) -> Iterator[tuple[int, Verdict]]:
        """Runs all passes in order of time. Yields the number of the point, and the verdict."""
        for number in range(self._grid.count):
            while self._known and self._known[-1][0] <= number:
                self._decide(*self._known.pop()[1:])
            for player in self._players:
                at = player.triggers.get(number)
                if at is not None:
                    yield number, self._pass(player, number, at)

    def _pass(self, player: "Player", number: int, at: float) -> Verdict:
        """A pass at a time in the step that ends at a point of the grid."""
        self._write(self._grid.at(number))
        verdict = simulate_placement(
            player.contest.placement, state=self._state, now=datetime.fromtimestamp(at, UTC)
        )
        chosen = tuple(sorted(verdict.chosen))
        player.take(number, chosen, regret(player.contest, verdict))
        if verdict.outcome is Outcome.SCHEDULED and verdict.chosen != verdict.current:
            self._decide(player.contest.key, chosen)
        return verdict

    def _decide(self, key: str, clusters: Sequence[str]) -> None:
        """Replaces the decision of a Placement by one page, which holds any number of clusters here."""
        namespace, _, name = key.partition("/")
        page = decision_of(namespace=namespace, placement=name, clusters=clusters)
        others = [
            each
            for (where, _), each in self._state.decisions.items()
            if where != namespace or each.placement != name
        ]
        self._state = self._state.deciding([*others, page])

    def _write(self, until: float) -> None:
        """Applies the writes up to a time."""
        if until == self._written:
            return
        self._written = until
        for resource, by_cluster in self._tracks.items():
            for cluster, track in by_cluster.items():
                place = self._next.get((resource, cluster), 0)
                if place < len(track) and track.at[place] <= until:
                    while place < len(track) and track.at[place] <= until:
                        place += 1
                    self._next[resource, cluster] = place
                    self._scores[resource][cluster] = _score(track, place - 1)
        self._state = self._state.scoring(self._scores)


def _score(track: Track, place: int) -> PublishedScore:
    items = [
        (name, values[place]) for name, values in track.values.items() if values[place] != ABSENT
    ]
    return PublishedScore(
        datetime.fromtimestamp(track.at[place] + track.ttl, UTC),
        tuple(name for name, _ in items),
        tuple(value for _, value in items),
    )


class Player:
    """One Placement, and what it has decided."""

    def __init__(self, contest: PreparedPlacement, tracks: Tracks, grid: TimeGrid) -> None:
        self.contest = contest
        self.triggers = _triggers(contest, tracks, grid)
        """The last trigger of each step that has one, by number of the point that ends the step."""
        self._decided: list[GridDecision] = []
        self._lost = 0.0
        self._behind = 0.0
        self._since = 0

    def take(self, number: int, chosen: tuple[str, ...], behind: float) -> None:
        """Takes what a pass has chosen, in order of name, and the points by which that is behind."""
        self._lost += self._behind * (number - self._since)
        self._since, self._behind = number, behind
        if not self._decided or self._decided[-1].clusters != chosen:
            self._decided.append(GridDecision(number=number, clusters=chosen))

    def line(self, grid: TimeGrid) -> DecisionLine:
        """All its decisions."""
        lost = self._lost + self._behind * (grid.count - self._since)
        return DecisionLine(
            key=self.contest.key, decided=tuple(self._decided), regret=lost / grid.count
        )


def regret(contest: PreparedPlacement, verdict: Verdict) -> float:
    """How many score points the chosen clusters are behind the best ones, without Steady and Balance."""
    if verdict.ranking is None:
        return 0.0
    sums: dict[int, int] = dict.fromkeys(verdict.ranking.clusters, 0)
    for result in verdict.prioritizers:
        if result.prioritizer.built_in in ("Steady", "Balance"):
            continue
        for cluster, value in zip(verdict.ranking.clusters, result.values, strict=True):
            sums[cluster] += (value or 0) * result.weight
    chosen = verdict.ranking.selected_clusters
    best = sorted(sums.values(), reverse=True)[: len(chosen)]
    return (sum(best) - sum(sums[cluster] for cluster in chosen)) / contest.total_weight


def _triggers(contest: PreparedPlacement, tracks: Tracks, grid: TimeGrid) -> dict[int, float]:
    times = {at for _, _, track in tracks_of(contest, tracks, contest.members) for at in track.at}
    times.update(expiry.noticed for expiry in score_expiries(contest, tracks, grid=grid))
    times.update(
        grid.start + number * RESYNC_SECONDS
        for number in range(int((grid.end - grid.start) // RESYNC_SECONDS) + 1)
    )
    numbered = (
        (math.ceil((at - grid.start) / grid.step), at) for at in sorted(times) if at >= grid.start
    )
    return {number: at for number, at in numbered if number < grid.count}
