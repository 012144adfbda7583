"""What Placements desire is what the simulator says of each, and few of them are simulated."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gitops_dsf.pacing import contenders
from gitops_dsf.pacing.admit import admit
from gitops_dsf.pacing.contenders import Contenders
from gitops_dsf.pacing.desired import Paced, desired_move
from gitops_dsf.simulator import HubState
from tests.unit.pacing.fleet import MOMENT, herd, situation

UNREACHABLE = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
ONLY_IF_NEW = {"key": "example.com/full", "effect": "NoSelectIfNew"}
Hub = tuple[HubState, dict[str, Paced]]


def targets(found: Hub) -> dict[str, str]:
    """Where the Placements desire to go, by their names."""
    state, paced = found
    contenders = Contenders(state, now=MOMENT)
    moves = {each.placement.metadata.name: contenders.desired(each) for each in paced.values()}
    return {name: move.target for name, move in moves.items() if move is not None}


def test_who_is_on_the_best_cluster_desires_no_move() -> None:
    placed = {"on-the-best": ("c2",), "on-another": ("c1",), "undecided": ()}
    assert targets(herd({"c1": 10, "c2": 30, "c3": 20}, placed)) == {"on-another": "c2"}


@pytest.mark.parametrize(("lead", "moves"), [(19, {}), (20, {}), (21, {"a": "c2"})])
def test_another_cluster_has_to_lead_by_what_steady_adds(lead: int, moves: Any) -> None:
    """Of equal sums the first name is better, and that is the one where it is."""
    assert targets(herd({"c1": 10, "c2": 10 + lead}, {"a": ("c1",)}, steady=1, weight=5)) == moves


def test_of_equal_sums_the_first_name_is_better() -> None:
    placed = {"on-the-first": ("c1",), "on-the-second": ("c2",)}
    assert targets(herd({"c1": 10, "c2": 10}, placed)) == {"on-the-second": "c1"}


@pytest.mark.parametrize("seed", range(150))
def test_the_answers_are_those_of_the_simulator(seed: int) -> None:
    drawn = random.Random(seed)
    names = [f"c{number}" for number in range(drawn.randint(1, 7))]
    scores = {name: drawn.choice([-100, -5, 0, 0, 5, 40, 100]) for name in names}
    placed: Mapping[str, Sequence[str]] = {
        f"app-{number}": tuple(drawn.sample(names, drawn.randint(0, min(3, len(names)))))
        for number in range(12)
    }
    taints: dict[str, list[Mapping[str, Any]]] = {
        name: [drawn.choice([UNREACHABLE, UNREACHABLE, ONLY_IF_NEW])]
        for name in names
        if drawn.random() < 0.2
    }
    drained = {name for name, each in taints.items() if drawn.random() < 0.5}
    weight, steady = drawn.choice([-3, 1, 10]), drawn.randint(0, 3)
    demand = drawn.choice([0, 0, 4])
    state, paced = herd(scores, placed, steady=steady, weight=weight, taints=taints, demand=demand)
    contenders = Contenders(state, now=MOMENT, drained=drained)
    for each in paced.values():
        expected = desired_move(each, state=state, now=MOMENT, drained=drained)
        assert contenders.desired(each) == expected, each.key


def test_placements_of_one_kind_are_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {f"c{number}": number for number in range(8)}
    placed = {f"app-{number:02}": (f"c{number % 8}",) for number in range(60)}
    found = situation(herd(scores, placed))
    simulated: list[str] = []
    real = contenders.simulate_placement

    def counting(placement: Any, **how: Any) -> Any:
        simulated.append(placement.key)
        return real(placement, **how)

    monkeypatch.setattr(contenders, "simulate_placement", counting)
    assert len(admit(found).moves) == 1
    assert simulated == ["ns/app-00"]


def test_with_a_taint_that_spares_the_decided_each_is_simulated() -> None:
    """Then the clusters that pass the filters are others for each Placement."""
    placed = {"a": ("c1",), "b": ("c2",)}
    found = herd({"c1": 90, "c2": 10}, placed, taints={"c1": [ONLY_IF_NEW]})
    assert targets(found) == {}
