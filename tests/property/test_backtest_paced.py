"""Paced Placements in a backtest: the same moves as by the simulator, and the pace holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.paced import PacedReplay
from gitops_dsf.backtest.placement import prepare
from gitops_dsf.backtest.run import Backtest, run
from gitops_dsf.backtest.track import ABSENT, Track
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.pacing import admit as admission
from gitops_dsf.pacing.admit import Admission, DesiredMoves, Situation, admit
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState, with_defaults
from tests.support.laws import examples
from tests.unit.simulator.hub import Object, cel, cluster, exact, hub, placement

CLUSTERS = ("c1", "c2", "c3", "c4")
START, STEP = 1_700_000_000, 60
FREE = Pace(concurrent=1000, arrivals_per_cluster=1000, settle_seconds=0, cooldown_seconds=0)
EXISTS = 'managedCluster.scores("r").exists(score, score.name == "v")'

Tracks = dict[str, dict[str, Track]]
Told = tuple[HubState, dict[str, Paced], Tracks, TimeGrid]


@st.composite
def stories(
    draw: st.DrawFn,
    *,
    gaps: bool = True,
    max_clusters: int = 2,
    demand: int = 9,
    excluding: bool = True,
) -> Told:
    grid = TimeGrid(start=START, step=STEP, count=draw(st.integers(1, 50)))
    walks = st.lists(
        st.sampled_from([0, 20, 25, 25, 40, 95, 100, *([ABSENT] if gaps else [])]),
        min_size=grid.count,
        max_size=grid.count,
    )
    ttl = draw(st.sampled_from([150.0, 900.0])) if gaps else 900.0
    tracks: Tracks = {name: {} for name in ("r", "s")}
    for by_cluster in tracks.values():
        for name in CLUSTERS:
            found = Track(ttl=ttl)
            for number, value in enumerate(draw(walks)):
                if not gaps or draw(st.integers(0, 3)):
                    found.add(grid.at(number), {"v": value})
            by_cluster[name] = found
    documents: list[Object] = []
    rankings = {}
    for name in draw(st.sampled_from([("a",), ("a", "b"), ("a", "b", "c", "d")])):
        weights = draw(st.tuples(st.integers(1, 3), st.integers(-2, 2).filter(bool)))
        spec: dict[str, Any] = {
            "numberOfClusters": draw(st.integers(1, max_clusters)),
            "prioritizerPolicy": exact(("r/v", weights[0]), ("s/v", weights[1]), ("Steady", 10)),
        }
        if excluding and draw(st.booleans()):
            spec["predicates"] = cel(EXISTS)
        documents.append({**placement(**spec), "metadata": {"name": name, "namespace": "ns"}})
        load = st.integers(0, demand)
        rankings[f"ns/{name}"] = PacedRanking(
            tuple(
                PacedTerm(
                    resource,
                    "v",
                    weight,
                    demand=draw(load),
                    delay=60.0,
                    range=draw(st.sampled_from([0.0, 300.0])),
                )
                for resource, weight in zip(("r", "s"), weights, strict=True)
            ),
            steady=draw(st.integers(0, 2)),
        )
    state = HubState.build(
        hub(*(cluster(name) for name in CLUSTERS), *map(dict, with_defaults(documents)))
    )
    paced = {key: Paced.of(state.placement(key), ranking) for key, ranking in rankings.items()}
    return state, paced, tracks, grid


paces = st.builds(
    Pace,
    concurrent=st.integers(1, 3),
    arrivals_per_cluster=st.integers(1, 2),
    settle_seconds=st.sampled_from([None, 0, 60, 400]),
    cooldown_seconds=st.sampled_from([0, 60, 900]),
)


def _run(told: Told, pace: Pace | None) -> Backtest:
    state, paced, tracks, grid = told
    return run(
        [each.written for each in paced.values()],
        state=state,
        tracks=tracks,
        grid=grid,
        paced=paced if pace is not None else {},
        pace=pace,
    )


def _decided(lines: Mapping[str, DecisionLine]) -> dict[str, Any]:
    return {key: line.decided for key, line in lines.items()}


@examples(12, soak=1200)
@given(stories(gaps=False, max_clusters=1, demand=0, excluding=False))
def test_an_unlimited_pace_changes_nothing(told: Told) -> None:
    """Without a demand and without limits, each Placement moves when OCM would move it."""
    free, paced = _run(told, None), _run(told, FREE)
    assert _decided(paced.lines) == _decided(free.lines) == _decided(paced.unpaced)
    assert {key: line.regret for key, line in paced.lines.items()} == pytest.approx(
        {key: line.regret for key, line in free.lines.items()}
    )
    assert not any(each.waits for each in paced.paced.values())


def _replay(told: Told, pace: Pace) -> PacedReplay:
    state, paced, tracks, grid = told
    contests = [prepare(each.written, state=state, start=grid.start) for each in paced.values()]
    scores = GridScores(tracks=tracks, grid=grid)
    return PacedReplay(contests, paced=paced, pace=pace, state=state, scores=scores)


@examples(10, soak=1200)
@given(stories(), paces)
def test_the_pace_is_never_exceeded(told: Told, pace: Pace) -> None:
    _, paced, _, grid = told
    replay = _replay(told, pace)
    began: list[tuple[float, str, str]] = []
    arrivals: list[tuple[float, str, str]] = []
    for number in replay.points():
        under_way = [*replay.ledger.under_way]
        assert {each.since for each in under_way} <= {grid.at(number)}, (
            "a move ends at the next point"
        )
        assert sum(each.admitted for each in under_way) <= pace.concurrent
        arrivals += [(each.since, each.placement, each.target) for each in under_way]
        for each in under_way:
            if not each.admitted:
                continue
            last = max((at for at, name, _ in began if name == each.placement), default=None)
            assert last is None or each.since >= last + STEP + pace.cooldown_seconds
            began.append((each.since, each.placement, each.target))
            window = [
                name
                for at, name, target in arrivals
                if target == each.target
                and each.since - STEP - pace.measured_after(paced[name].ranking.measured_after)
                < at
                <= each.since
            ]
            assert len(window) <= pace.arrivals_per_cluster


class _Both:
    """Asks the backtest and the simulator, and compares."""

    def __init__(self, situation: Situation, fast: DesiredMoves, slow: DesiredMoves) -> None:
        self._situation, self._fast, self._slow = situation, fast, slow

    def asking(self, shifts: Any) -> list[str]:
        found = list(self._fast.asking(shifts))
        for key in self._slow.asking(shifts):
            if self._slow.of(key, shifts) is not None:
                assert key in found
        return found

    def of(self, key: str, shifts: Any, *, held: Any = ()) -> Any:
        found = self._fast.of(key, shifts, held=held)
        assert found == self._slow.of(key, shifts, held=held)
        return found


@examples(6, soak=400)
@given(stories(), paces)
def test_desired_moves_are_those_of_the_simulator(told: Told, pace: Pace) -> None:
    """At each point, with the scores and decisions of that point and the assumed load."""
    state, _, tracks, _ = told
    replay = _replay(told, pace)

    def compared(situation: Situation, desired_moves: DesiredMoves) -> Admission:
        found = Situation(
            hub=_seen(state, tracks, situation.seen).deciding(_pages(replay)),
            paced=situation.paced,
            ledger=situation.ledger,
            pace=situation.pace,
            now=situation.now,
        )
        return admit(situation, _Both(situation, desired_moves, admission._Simulated(found)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gitops_dsf.backtest.paced.admit", compared)
        replay.run()


def _seen(state: HubState, tracks: Tracks, now: float) -> HubState:
    """The hub with the scores that were written up to a time."""
    found: dict[str, dict[str, PublishedScore]] = {}
    for resource, by_cluster in tracks.items():
        for name, track in by_cluster.items():
            places = [place for place, at in enumerate(track.at) if at <= now]
            if not places:
                continue
            value = track.values["v"][places[-1]]
            items = {} if value == ABSENT else {"v": value}
            found.setdefault(resource, {})[name] = PublishedScore(
                datetime.fromtimestamp(track.at[places[-1]] + track.ttl, UTC),
                tuple(items),
                tuple(items.values()),
            )
    return state.scoring(found)


def _pages(replay: PacedReplay) -> Any:
    for each, members in zip(replay._placements, replay._table.members, strict=True):
        clusters = [
            name for name, chosen in zip(replay._table.names, members, strict=True) if chosen
        ]
        name = each.key.partition("/")[2]
        yield decision_of(namespace="ns", placement=name, clusters=clusters)
