"""Decides Placements step by step with the simulator. It covers every Placement, also those whose passes
depend on each other's decisions (Balance), on CEL expressions over scores, or on tolerations that run out.

There is one pass of a Placement in a step of the grid in which something triggers one: at the time of the
last trigger, with the scores of that time.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from gitops_dsf.backtest.contest import Contest
from gitops_dsf.backtest.decisions import Decided, DecisionLine
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.lapses import Lapse, Tracks, lapses, tracks_of
from gitops_dsf.backtest.track import ABSENT, Track
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.scores import Score
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement
from gitops_dsf.simulator.requeue import RESYNC_SECONDS


class Replay:
    """Replays some Placements of one hub together."""

    def __init__(
        self,
        contests: Sequence[Contest],
        *,
        state: HubState,
        tracks: Tracks,
        grid: Grid,
        current: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._grid = grid
        self._state = state
        self._tracks = tracks
        self._players = [_Player(contest, tracks, grid) for contest in contests]
        self._scores: dict[str, dict[str, Score]] = {resource: {} for resource in tracks}
        self._next: dict[tuple[str, str], int] = {}
        self._decisions: dict[tuple[str, str], PlacementDecision] = dict(state.decisions)
        for key, clusters in (current or {}).items():
            self._put(key, clusters)

    def run(self) -> tuple[DecisionLine, ...]:
        """The decisions of the Placements, in the order in which they were given."""
        for _ in self.passes():
            pass
        return tuple(player.line(self._grid) for player in self._players)

    def passes(self) -> Iterator[tuple[int, Verdict]]:
        """Runs all passes in order of time. Yields the number of the point, and the verdict."""
        for number in range(self._grid.count):
            due = [player for player in self._players if player.trigger(number) is not None]
            if not due:
                continue
            self._write(self._grid.at(number))
            for player in due:
                yield number, self._pass(player, number)

    def _write(self, until: float) -> None:
        """Applies the writes up to a time."""
        for resource, by_cluster in self._tracks.items():
            for cluster, track in by_cluster.items():
                place = self._next.get((resource, cluster), 0)
                if place < len(track) and track.at[place] <= until:
                    while place < len(track) and track.at[place] <= until:
                        place += 1
                    self._next[resource, cluster] = place
                    self._scores[resource][cluster] = _score(track, place - 1)

    def _pass(self, player: "_Player", number: int) -> Verdict:
        at = player.trigger(number)
        state = self._state.scoring(self._scores).deciding(self._decisions.values())
        verdict = simulate_placement(
            player.contest.placement, state=state, now=datetime.fromtimestamp(at or 0.0, UTC)
        )
        player.take(number, verdict)
        if verdict.outcome is Outcome.SCHEDULED:
            self._put(player.contest.key, sorted(verdict.chosen))
        return verdict

    def _put(self, key: str, clusters: Sequence[str]) -> None:
        """Replaces the decision of a Placement by one page, which holds any number of clusters here."""
        namespace, _, name = key.partition("/")
        for other in [
            each for each, item in self._decisions.items() if each[0] == namespace and item.placement == name
        ]:
            del self._decisions[other]
        page = f"{name}-decision-0"
        self._decisions[namespace, page] = decision_of(
            namespace=namespace, name=page, placement=name, clusters=clusters
        )


def _score(track: Track, place: int) -> Score:
    items = [(name, values[place]) for name, values in track.values.items() if values[place] != ABSENT]
    return Score(
        datetime.fromtimestamp(track.at[place] + track.ttl, UTC),
        tuple(name for name, _ in items),
        tuple(value for _, value in items),
    )


class _Player:
    """One Placement, and what it has decided."""

    def __init__(self, contest: Contest, tracks: Tracks, grid: Grid) -> None:
        self.contest = contest
        self._triggers = _triggers(contest, tracks, grid, lapses(contest, tracks, grid=grid))
        self._decided: list[Decided] = []
        self._lost = 0.0
        self._behind = 0.0
        self._since = 0

    def trigger(self, number: int) -> float | None:
        """The last trigger in the step that ends at a point of the grid."""
        return self._triggers.get(number)

    def take(self, number: int, verdict: Verdict) -> None:
        self._lost += self._behind * (number - self._since)
        self._since = number
        chosen = tuple(sorted(verdict.chosen))
        self._behind = regret(self.contest, verdict)
        if not self._decided or self._decided[-1].clusters != chosen:
            self._decided.append(Decided(number=number, clusters=chosen))

    def line(self, grid: Grid) -> DecisionLine:
        lost = self._lost + self._behind * (grid.count - self._since)
        return DecisionLine(key=self.contest.key, decided=tuple(self._decided), regret=lost / grid.count)


def regret(contest: Contest, verdict: Verdict) -> float:
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


def _triggers(contest: Contest, tracks: Tracks, grid: Grid, found: Sequence[Lapse]) -> dict[int, float]:
    """The last trigger of each step that has one, by number of the point that ends the step."""
    last: dict[int, float] = {0: grid.start}
    times = [at for _, _, track in tracks_of(contest, tracks, contest.members) for at in track.at]
    times += [lapse.noticed for lapse in found]
    resync = grid.start
    while resync <= grid.end:
        times.append(resync)
        resync += RESYNC_SECONDS
    for at in times:
        number = max(0, math.ceil((at - grid.start) / grid.step))
        if number < grid.count and at >= last.get(number, -math.inf):
            last[number] = at
    return last
