"""The fast paths of a backtest against the agent's functions and the simulator.

They are compared on random histories.
"""

from __future__ import annotations

import bisect
import math
from array import array
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsf_wire.scorevalue import map_score
from dsf_wire.summary import PublishRule, ScoreRange, ScorerSummary
from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridpublisher import GridPublisher, map_all
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import prepare
from gitops_dsf.backtest.publisher import ReplayedPublisher
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.track import ABSENT, Track
from gitops_dsf.backtest.vectorised import decide
from gitops_dsf.hub.raw_results import LabelValues
from gitops_dsf.simulator import HubState, with_defaults
from tests.support.laws import examples
from tests.unit.simulator.hub import Object, cel, cluster, exact, hub, placement

NOWHERE: LabelValues = ("",) * 7
NAN = math.nan

ranges = st.none() | st.builds(
    lambda low, span, ends: ScoreRange(
        min=low, max=low + span, output_min=ends[0], output_max=ends[1]
    ),
    st.floats(-1e9, 1e9, allow_subnormal=False),
    st.floats(1e-3, 1e9),
    st.sampled_from([(1, 100), (100, 1), (-100, 100), (0, 7)]),
)


@examples(100)
@given(st.lists(st.floats(), max_size=50), ranges)
def test_many_raw_scores_are_mapped_as_one(
    raw: list[float], score_range: ScoreRange | None
) -> None:
    one_by_one = [
        map_score(each, score_range).value if math.isfinite(each) else ABSENT for each in raw
    ]
    assert map_all(np.array(raw), score_range).tolist() == one_by_one


def _scorer(interval: int, *, deadband: int = 2, min_interval: int) -> ScorerSummary:
    return ScorerSummary(
        name="cpu",
        score_name="cpu",
        scoring_interval=interval,
        publish=PublishRule(deadband=deadband, min_interval_seconds=min_interval),
        score_range=ScoreRange(min=0, max=100, output_min=1, output_max=100),
    )


@st.composite
def scorers(draw: st.DrawFn) -> ScorerSummary:
    scorer = _scorer(
        draw(st.sampled_from([1, 10, 60, 300])),
        deadband=draw(st.integers(0, 5)),
        min_interval=draw(st.sampled_from([0, 7, 60, 90, 300, 1000])),
    )
    return msgspec.structs.replace(scorer, score_ttl_seconds=draw(st.sampled_from([None, 60, 900])))


raw_scores = st.sampled_from([NAN, 10.0, 11.0, 12.0, 13.0, 15.0, 60.0])
walks = st.integers(1, 80).flatmap(
    lambda count: st.lists(
        st.lists(raw_scores, min_size=count, max_size=count), min_size=1, max_size=3
    )
)


@examples(25, soak=1200)
@given(scorers(), walks, st.integers(1, 40))
@example(_scorer(1, min_interval=1000), [[10.0, 60.0]], 2)
def test_objects_with_one_item_are_written_as_any_other(
    scorer: ScorerSummary, walks: list[list[float]], points: int
) -> None:
    """The path for single items of several clusters, also in pages, against the path that calls the
    agent's rule at each point.
    """
    clusters = {f"c{number}": raw for number, raw in enumerate(walks)}
    grid = TimeGrid(start=1_000_000, step=scorer.scoring_interval, count=len(walks[0]))
    paged = {name: GridPublisher(scorer=scorer, cluster=name, grid=grid) for name in clusters}
    for first in range(0, grid.count, points):
        for name, raw in clusters.items():
            paged[name].add(first, {NOWHERE: np.array(raw[first : first + points])})
    for name, raw in clusters.items():
        whole = ReplayedPublisher(scorer=scorer, cluster=name)
        for number, score in enumerate(raw):
            whole.step(grid.at(number), whole.items([(NOWHERE, score)]))
        whole.write_due(grid.end)
        paged[name].finish()
        found, expected = paged[name].track, whole.track
        assert list(found.at) == pytest.approx(list(expected.at))
        assert {item: list(values) for item, values in found.values.items()} == {
            item: list(values) for item, values in expected.values.items()
        }


CLUSTERS = ["c1", "c2", "c3", "c4", "c5"]
sizes = st.sampled_from(["1", "2", "8"]).map(
    lambda cpu: {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}
)


@st.composite
def tracks(draw: st.DrawFn, *, grid: TimeGrid) -> Track:
    """Writes at some points of the grid and between them, some of them further apart than the
    TTL.
    """
    steps = draw(
        st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.5, 3.25, 16.0, 40.0]), max_size=grid.count)
    )
    at = array("d")
    now = grid.start + draw(st.sampled_from([0.0, 60.0, 600.0]))
    for step in steps:
        if now > grid.end:
            break
        at.append(now)
        now += step * grid.step
    values = draw(
        st.lists(st.sampled_from([-128, -5, 0, 10, 11, 12, 20]), min_size=len(at), max_size=len(at))
    )
    return Track(ttl=900.0, at=at, values={"v": array("b", values)})


def _exists(name: str) -> str:
    """What onMissingScore: Exclude renders."""
    resource, _, item = name.partition("/")
    return f'managedCluster.scores("{resource}").exists(score, score.name == "{item}")'


@examples(80, soak=4000)
@given(
    st.sampled_from([0.1, 1_000_000.0, 1_780_272_000.3]),
    st.sampled_from([0.1, 7.0, 60.0]),
    st.lists(st.integers(-3, 40) | st.floats(-3, 40), min_size=1, max_size=30),
)
def test_a_point_has_the_score_of_the_last_write_before_it(
    start: float, step: float, written: list[float]
) -> None:
    """Writes at points and between them, also where times have no exact binary form."""
    grid = TimeGrid(start=start, step=step, count=30)
    at = array("d", sorted(start + number * step for number in written))
    track = Track(ttl=1.0, at=at, values={"v": array("b", range(1, len(at) + 1))})
    column = GridScores(tracks={"r": {"c1": track}}, grid=grid).column("r", "v", "c1")
    assert column is not None
    assert column.tolist() == [
        bisect.bisect_right(at, grid.at(number)) for number in range(grid.count)
    ]


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Object], dict[str, dict[str, Track]], TimeGrid]:
    grid = TimeGrid(start=1_700_000_000, step=60, count=draw(st.integers(1, 60)))
    weights = [(f"r{n}/v", draw(st.integers(-10, 10))) for n in range(draw(st.integers(1, 2)))]
    built_in = {
        "Steady": draw(st.integers(0, 10)),
        "ResourceAllocatableCPU": draw(st.sampled_from([0, 0, 2])),
    }
    used = [(name, weight) for name, weight in built_in.items() if weight]
    spec: dict[str, Any] = {"prioritizerPolicy": exact(*weights, *used)}
    count = draw(st.none() | st.integers(0, 6))
    if count is not None:
        spec["numberOfClusters"] = count
    if draw(st.booleans()):
        spec["predicates"] = cel(*(_exists(name) for name, weight in weights if weight))
    objects = hub(
        *(
            cluster(
                name,
                taints=draw(st.sampled_from([[], [], [], [{"key": "k", "effect": "NoSelect"}]])),
                status=draw(sizes),
            )
            for name in CLUSTERS
        ),
        *with_defaults([placement(**spec)]),
    )
    found = {
        f"r{n}": {name: draw(tracks(grid=grid)) for name in CLUSTERS if draw(st.integers(0, 5))}
        for n in range(2)
    }
    return objects, found, grid


@examples(8, soak=800)
@given(stories())
def test_all_points_at_once_are_decided_as_one_by_one(
    story: tuple[list[Object], dict[str, dict[str, Track]], TimeGrid],
) -> None:
    objects, found, grid = story
    state = HubState.build(objects)
    one = prepare(state.placement("ns/p"), state=state, start=grid.start)
    assert not one.special
    [stepwise] = Replay([one], state=state, tracks=found, grid=grid).run()
    scores = GridScores(tracks=found, grid=grid)
    line = decide(
        one, scores=scores, expiries=score_expiries(one, found, grid=grid), steady=one.steady
    )
    assert line.decided == stepwise.decided
    assert line.regret == pytest.approx(stepwise.regret)
