"""Advice on a history with two clusters that change places."""

from array import array

from gitops_dsf.backtest.advice import advise
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import prepare
from gitops_dsf.backtest.result import Advice
from gitops_dsf.backtest.track import Track
from gitops_dsf.resolve.stickiness import expressible
from gitops_dsf.simulator import HubState, with_defaults
from tests.unit.simulator.hub import cluster, exact, hub, placement

GRID = TimeGrid(start=1_700_000_000, step=60, count=600)


def _track(values: list[int]) -> Track:
    at = array("d", [GRID.at(number) for number in range(GRID.count)])
    return Track(ttl=900.0, at=at, values={"v": array("b", values)})


def _advise(a: list[int], b: list[int], *, stickiness: int) -> Advice:
    weights = expressible([1])
    written = weights[stickiness]
    terms = [("r/v", written.factor), *([("Steady", written.steady)] if written.steady else [])]
    spec = placement(numberOfClusters=1, prioritizerPolicy=exact(*terms))
    state = HubState.build(hub(cluster("a"), cluster("b"), *with_defaults([spec])))
    return advise(
        prepare(state.placement("ns/p"), state=state, start=GRID.start),
        values=weights,
        written=stickiness,
        histories={None: {"r": {"a": _track(a), "b": _track(b)}}},
        grid=GRID,
        window=3600.0,
    )


def test_noise_asks_for_more_stickiness_and_no_more_than_needed() -> None:
    noisy = [50 + 12 * (number % 2) for number in range(GRID.count)]
    found = _advise(noisy, [56] * GRID.count, stickiness=0)
    assert found.written.moves == GRID.count - 1
    assert found.recommended.stickiness == 10
    assert (found.recommended.moves, found.recommended.returns) == (0, 0)
    assert found.reason.startswith("0 moves instead of ")
    assert found.changes


def test_the_front_has_fewer_moves_for_more_regret() -> None:
    waves = [50 + 15 * ((number // 30) % 2) + number % 3 for number in range(GRID.count)]
    found = _advise(waves, [57] * GRID.count, stickiness=0)
    moves = [trial.moves for trial in found.front]
    regrets = [trial.regret for trial in found.front]
    assert found.recommended in found.front
    assert {each.returns for each in found.front} == {min(each.returns for each in found.trials)}
    assert moves == sorted(set(moves))
    assert regrets == sorted(regrets, reverse=True)
    assert len(found.trials) == len(expressible([1]))


def test_a_multiplied_weight_changes_nothing_but_the_weights() -> None:
    """The written stickiness is tried as the others are."""
    noisy = [50 + (number * 7) % 40 for number in range(GRID.count)]
    for points in (0, 10, 25, 50):
        found = _advise(noisy, [60] * GRID.count, stickiness=points)
        other = next(trial for trial in found.trials if trial.stickiness == points)
        assert other == found.written
