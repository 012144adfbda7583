"""Decides Placements pass by pass with the simulator.

It covers every Placement, also those whose passes depend on the decisions of others (Balance), on
taints, on CEL expressions over scores, or on tolerations that run out.

There is one pass of a Placement in a step of the grid in which something triggers one: at the time
of the last trigger, with the scores of the end of the step.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import PreparedPlacement, tracks_on_members
from gitops_dsf.backtest.track import ABSENT, Track, Tracks
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement
from gitops_dsf.simulator.notes import RESYNC_SECONDS


class Pass(NamedTuple):
    """One pass of the simulator over one Placement."""

    number: int
    """The point of the grid that ends the step of the pass."""
    verdict: Verdict


class _OtherDecision(NamedTuple):
    """A decision of a Placement that is decided elsewhere."""

    number: int
    key: str
    clusters: tuple[str, ...]


class Replay:
    """Replays some Placements of one hub together."""

    def __init__(
        self,
        placements: Iterable[PreparedPlacement],
        *,
        state: HubState,
        tracks: Tracks,
        grid: TimeGrid,
        known: Sequence[DecisionLine] = (),
    ) -> None:
        """`known` are decisions of other Placements of the hub, which Balance counts."""
        self._grid = grid
        self._placements = [_ReplayedPlacement(prepared, tracks, grid) for prepared in placements]
        self._state = state
        self._others: list[_OtherDecision] = []
        """The last one first, so that the next one is popped from the end."""
        for line in known:
            for decision in line.decided:
                self._others.append(_OtherDecision(decision.number, line.key, decision.clusters))
        self._others.sort(reverse=True)
        self._tracks = tracks
        self._scores: dict[str, dict[str, PublishedScore]] = {}
        for resource in tracks:
            self._scores[resource] = {}
        self._next: dict[tuple[str, str], int] = {}
        """The next write of each track, by resource and cluster."""
        self._written = -math.inf

    def run(self, *, stop: Callable[[], bool] = lambda: False) -> tuple[DecisionLine, ...]:
        """The decisions, in order of the Placements; none if `stop` became true before the end."""
        for _ in self.passes():
            if stop():
                return ()
        return tuple(replayed.line(self._grid) for replayed in self._placements)

    def passes(self) -> Iterator[Pass]:
        """Runs all passes in order of time."""
        for number in range(self._grid.count):
            while self._others and self._others[-1].number <= number:
                other = self._others.pop()
                self._decide(other.key, other.clusters)
            for replayed in self._placements:
                trigger = replayed.triggers.get(number)
                if trigger is not None:
                    yield Pass(number, self._pass(replayed, number, trigger))

    def _pass(self, replayed: "_ReplayedPlacement", number: int, trigger: float) -> Verdict:
        """A pass at the time of a trigger, in the step that ends at a point of the grid."""
        self._write(self._grid.at(number))
        prepared = replayed.prepared
        verdict = simulate_placement(
            prepared.placement, state=self._state, now=datetime.fromtimestamp(trigger, UTC)
        )
        chosen = tuple(sorted(verdict.chosen))
        replayed.take(number, chosen, regret(prepared, verdict))
        # OCM writes only changed decisions, and none in a pass that fails.
        if verdict.outcome is Outcome.SCHEDULED and verdict.chosen != verdict.current:
            self._decide(prepared.key, chosen)
        return verdict

    def _decide(self, key: str, clusters: Sequence[str]) -> None:
        """Replaces the decision of a Placement."""
        namespace, _, name = key.partition("/")
        decisions = []
        for (page_namespace, _), page in self._state.decisions.items():
            if page_namespace != namespace or page.placement != name:
                decisions.append(page)
        # One page is enough: here it holds any number of clusters, on a hub at most 100.
        decisions.append(decision_of(namespace=namespace, placement=name, clusters=clusters))
        self._state = self._state.deciding(decisions)

    def _write(self, until: float) -> None:
        """Applies the writes up to a time."""
        if until == self._written:
            return
        self._written = until
        # Each write replaces the whole object, so only the last one before the time counts.
        for resource, by_cluster in self._tracks.items():
            for cluster, track in by_cluster.items():
                write = self._next.get((resource, cluster), 0)
                if write < len(track) and track.at[write] <= until:
                    while write < len(track) and track.at[write] <= until:
                        write += 1
                    self._next[resource, cluster] = write
                    self._scores[resource][cluster] = _score(track, write - 1)
        self._state = self._state.scoring(self._scores)


def _score(track: Track, write: int) -> PublishedScore:
    """The content that a write of an AddOnPlacementScore left on the hub."""
    names: list[str] = []
    values: list[int] = []
    for name, column in track.values.items():
        if column[write] != ABSENT:
            names.append(name)
            values.append(column[write])
    valid_until = datetime.fromtimestamp(track.at[write] + track.ttl, UTC)
    return PublishedScore(valid_until, tuple(names), tuple(values))


class _ReplayedPlacement:
    """One Placement, and what it has decided."""

    def __init__(self, prepared: PreparedPlacement, tracks: Tracks, grid: TimeGrid) -> None:
        self.prepared = prepared
        self.triggers = _triggers(prepared, tracks, grid)
        """The last trigger of each step that has one, by number of the point that ends the step."""
        self._decided: list[GridDecision] = []
        self._lost = 0.0
        self._behind = 0.0
        """The regret of the current decision."""
        self._since = 0

    def take(self, number: int, chosen: tuple[str, ...], behind: float) -> None:
        """Takes what a pass has chosen, by name, and the points by which that is behind."""
        self._lost += self._behind * (number - self._since)
        self._since = number
        self._behind = behind
        if not self._decided or self._decided[-1].clusters != chosen:
            self._decided.append(GridDecision(number=number, clusters=chosen))

    def line(self, grid: TimeGrid) -> DecisionLine:
        """All its decisions."""
        lost = self._lost + self._behind * (grid.count - self._since)
        return DecisionLine(
            key=self.prepared.key, decided=tuple(self._decided), regret=lost / grid.count
        )


def regret(prepared: PreparedPlacement, verdict: Verdict) -> float:
    """The score points by which the chosen clusters are behind the best ones.

    Steady and Balance do not count: they say how decisions are made, not how good a cluster is.
    """
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
    return (sum(best) - sum(sums[cluster] for cluster in chosen)) / prepared.total_weight


def _triggers(prepared: PreparedPlacement, tracks: Tracks, grid: TimeGrid) -> dict[int, float]:
    times: set[float] = set()
    for ranked in tracks_on_members(prepared, tracks):
        times.update(ranked.track.at)
    for expiry in score_expiries(prepared, tracks, grid=grid):
        times.add(expiry.noticed)
    resyncs = int((grid.end - grid.start) // RESYNC_SECONDS) + 1
    for number in range(resyncs):
        times.add(grid.start + number * RESYNC_SECONDS)
    triggers: dict[int, float] = {}
    # If a step has several triggers, the last one stays.
    for trigger in sorted(times):
        if trigger >= grid.start:
            number = math.ceil((trigger - grid.start) / grid.step)
            if number < grid.count:
                triggers[number] = trigger
    return triggers
