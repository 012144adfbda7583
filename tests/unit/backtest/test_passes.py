"""Single stories of passes that depend on more than the scores.

Random ones are in tests/property.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import prepare
from gitops_dsf.backtest.replay import Replay
from gitops_dsf.backtest.run import run
from gitops_dsf.backtest.track import ABSENT, Track, Tracks
from gitops_dsf.simulator import HubState, with_defaults
from tests.unit.simulator.hub import Object, cel, cluster, exact, hub, placement

GRID = TimeGrid(start=1_700_000_000, step=60, count=41)
SIZES = {"a": "1", "b": "8", "c": "2"}


def _hub(**placements: Mapping[str, Any]) -> HubState:
    found: list[Object] = [
        {**placement(**spec), "metadata": {"name": name, "namespace": "ns"}}
        for name, spec in placements.items()
    ]
    clusters = [
        cluster(name, status={"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}})
        for name, cpu in SIZES.items()
    ]
    return HubState.build(hub(*clusters, *with_defaults(found)))


def _track(values: Sequence[int]) -> Track:
    """A write at each point."""
    at = array("d", [GRID.at(number) for number in range(len(values))])
    return Track(ttl=900.0, at=at, values={"v": array("b", values)})


def _decided(
    state: HubState, tracks: Tracks, *, name: str = "p"
) -> list[tuple[int, tuple[str, ...]]]:
    """Number of the point and clusters of each decision."""
    found = run(state.placements.values(), state=state, tracks=tracks, grid=GRID)
    return [(each.number, each.clusters) for each in found.lines[f"ns/{name}"].decided]


@pytest.mark.parametrize("others", [{}, {"Balance": 1}])
def test_clusters_are_compared_only_with_those_that_pass_the_filters(
    others: Mapping[str, int],
) -> None:
    """While b has no score, c has the most CPU, and 100 points for it."""
    exists = 'managedCluster.scores("r").exists(score, score.name == "v")'
    policy = exact(("r/v", 1), ("ResourceAllocatableCPU", 1), *others.items())
    state = _hub(p={"numberOfClusters": 1, "prioritizerPolicy": policy, "predicates": cel(exists)})
    tracks = {
        "r": {
            "a": _track([50] * 41),
            "b": _track([ABSENT] * 20 + [-100] * 21),
            "c": _track([10] * 41),
        }
    }
    assert _decided(state, tracks) == [(0, ("c",)), (20, ("b",))]


@pytest.mark.parametrize(("others", "lead"), [({}, 10), ({"Balance": 1}, 5)])
def test_regret_counts_to_the_end_of_the_span(others: Mapping[str, int], lead: int) -> None:
    """From point 20 on b has a score of 10 more than a, which stays by its stickiness: at 21 of 41
    points.

    Beside another prioritizer of the same weight that is half as much in the mean, as `explain`
    says it.
    """
    policy = exact(("r/v", 1), ("Steady", 1), *others.items())
    state = _hub(p={"numberOfClusters": 1, "prioritizerPolicy": policy})
    at = array("d", [GRID.at(0), GRID.at(20)])
    tracks = {
        "r": {
            name: Track(ttl=1e6, at=at, values={"v": array("b", values)})
            for name, values in {"a": (50, 50), "b": (10, 60), "c": (0, 0)}.items()
        }
    }
    one = prepare(state.placement("ns/p"), state=state, start=GRID.start)
    [stepwise] = Replay([one], state=state, tracks=tracks, grid=GRID).run()
    at_once = run(state.placements.values(), state=state, tracks=tracks, grid=GRID).lines["ns/p"]
    for line in (stepwise, at_once):
        assert [each.clusters for each in line.decided] == [("a",)]
        assert line.regret == pytest.approx(21 * lead / 41)


def test_balance_counts_decisions_that_are_made_at_once() -> None:
    """q is ranked by scores alone. When it moves to b, Balance moves p to a."""
    state = _hub(
        q={"numberOfClusters": 1, "prioritizerPolicy": exact(("r/v", 1))},
        p={"numberOfClusters": 1, "prioritizerPolicy": exact(("Balance", 1))},
    )
    tracks = {
        "r": {"a": _track([20] * 41), "b": _track([10] * 20 + [30] * 21), "c": _track([5] * 41)}
    }
    assert _decided(state, tracks, name="q") == [(0, ("a",)), (20, ("b",))]
    assert _decided(state, tracks) == [(0, ("b",)), (20, ("a",))]


@pytest.mark.parametrize("policy", [exact(("r/v", 1)), exact(("r/v", 1), ("Balance", 1))])
def test_what_is_not_decided_in_time_has_no_decisions(policy: Object) -> None:
    state = _hub(p={"numberOfClusters": 1, "prioritizerPolicy": policy})
    tracks = {"r": {"a": _track([20] * 41)}}
    found = run(state.placements.values(), state=state, tracks=tracks, grid=GRID, stop=lambda: True)
    assert list(found.placements) == ["ns/p"]
    assert found.lines == {}


def test_placements_that_depend_on_each_other_are_decided_to_the_end_or_not_at_all() -> None:
    policy = exact(("r/v", 1), ("Balance", 1))
    state = _hub(p={"numberOfClusters": 1, "prioritizerPolicy": policy})
    long = TimeGrid(start=GRID.start, step=60, count=1000)
    looks = iter([False, False, False, True])
    found = run(
        state.placements.values(),
        state=state,
        tracks={"r": {"a": _track([20] * 41)}},
        grid=long,
        stop=lambda: next(looks),
    )
    assert found.lines == {}
    assert list(looks) == []
