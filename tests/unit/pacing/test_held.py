"""Clusters that are held for an application, and a fleet that stopped: what may begin."""

import random

import pytest

from gitops_dsf.hub.moves.causes import MoveCause, by_drain, by_pace
from gitops_dsf.hub.pace import DRAW, PUSH
from gitops_dsf.pacing.admit import Situation, admit
from gitops_dsf.pacing.contenders import Contenders
from gitops_dsf.pacing.desired import desired_move
from gitops_dsf.pacing.items import items_of
from gitops_dsf.pacing.ledger import Hold, Ledger, LedgerMove, Phase
from gitops_dsf.repository.model.reconciler import Pace
from tests.unit.pacing.fleet import MOMENT, SECONDS, herd, situation

ONLY_IF_NEW = {"key": "example.com/full", "effect": "NoSelectIfNew"}
PACE = Pace(concurrent=5, arrivals_per_cluster=5, settle_seconds=0, cooldown_seconds=0)


def hold(placement: str, target: str, *, until: float = 100.0) -> Hold:
    return Hold(
        placement=placement,
        target=target,
        since=SECONDS - 50,
        until=SECONDS + until,
        detail="slo 62 of at least 80",
    )


def held(*holds: Hold, scores: dict[str, int], stopped: float = 0.0) -> Situation:
    """Two applications on c1."""
    found = situation(herd(scores, {"a": ("c1",), "b": ("c1",)}), pace=PACE)
    ledger = Ledger(holds=holds, stopped_since=stopped)
    return Situation(
        hub=found.hub, paced=found.paced, ledger=ledger, pace=found.pace, now=found.now
    )


def told(found: Situation) -> tuple[dict[str, str], dict[str, str]]:
    """Where applications go, and what others wait for."""
    admission = admit(found)
    moves = {move.placement: move.target for move in admission.moves}
    return moves, {held.move.placement: str(held.reason) for held in admission.waiting}


def test_another_cluster_takes_the_place_of_one_that_is_held() -> None:
    found = held(hold("ns/a", "c2"), scores={"c1": 0, "c2": 60, "c3": 50})
    assert told(found) == ({"ns/a": "c3", "ns/b": "c2"}, {})


def test_an_application_that_may_go_nowhere_else_waits_until_the_hold_ends() -> None:
    found = held(hold("ns/a", "c2"), scores={"c1": 10, "c2": 60, "c3": 0})
    assert told(found) == ({"ns/b": "c2"}, {"ns/a": "Held"})
    [waiting] = admit(found).waiting
    assert waiting.message == "it came back from c2: slo 62 of at least 80"
    assert waiting.until == SECONDS + 100


def test_a_hold_that_is_over_holds_nothing() -> None:
    found = held(hold("ns/a", "c2", until=0.0), scores={"c1": 0, "c2": 60})
    assert told(found) == ({"ns/a": "c2", "ns/b": "c2"}, {})


def test_a_hold_of_the_cluster_where_it_is_moves_nothing() -> None:
    found = held(hold("ns/a", "c1"), scores={"c1": 60, "c2": 50})
    assert told(found) == ({}, {})


def test_while_a_fleet_is_stopped_nothing_begins_and_each_move_says_so() -> None:
    found = held(scores={"c1": 0, "c2": 60}, stopped=SECONDS - 500)
    assert told(found) == ({}, {"ns/a": "Stopped", "ns/b": "Stopped"})


@pytest.mark.parametrize("seed", range(100))
def test_with_holds_the_quick_answers_are_those_of_the_simulator(seed: int) -> None:
    drawn = random.Random(seed)
    names = [f"c{number}" for number in range(drawn.randint(2, 7))]
    scores = {name: drawn.choice([-100, -5, 0, 0, 5, 40, 100]) for name in names}
    placed = {
        f"app-{number}": tuple(drawn.sample(names, drawn.randint(1, min(3, len(names)))))
        for number in range(8)
    }
    taints = {name: [ONLY_IF_NEW] for name in names if drawn.random() < 0.1}
    state, paced = herd(scores, placed, steady=drawn.randint(0, 2), taints=taints)
    contenders = Contenders(state, now=MOMENT)
    for each in paced.values():
        clusters = set(drawn.sample(names, drawn.randint(1, len(names))))
        expected = desired_move(each, state=state, now=MOMENT, held=clusters)
        assert contenders.desired(each, held=clusters) == expected
        assert expected is None or expected.target not in clusters


def move(
    phase: Phase,
    *,
    passed_at: float = 0.0,
    verified: bool = True,
    admitted: bool = True,
    cause: MoveCause | None = None,
) -> LedgerMove:
    return LedgerMove(
        placement="ns/a",
        source="eu-1",
        target="us-1",
        since=SECONDS,
        phase=phase,
        verified=verified,
        passed_at=passed_at,
        admitted=admitted,
        cause=cause,
    )


REFUGE = {"ns/a": "us-2", "ns/b": "us-2"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (move(Phase.ADMITTED), {"us-1": {"ns/a": DRAW}, "eu-1": {"ns/a": PUSH}}),
        (move(Phase.HANDOVER), {"eu-1": {"ns/a": DRAW}}),
        (move(Phase.HANDOVER, verified=False), {"us-2": {"ns/a": DRAW}}),
        (move(Phase.HANDOVER, admitted=False), {"us-2": {"ns/a": DRAW}}),
        (move(Phase.VERIFYING, cause=by_drain("eu-1", "")), {"us-2": {"ns/a": DRAW}}),
        (move(Phase.VERIFYING, cause=by_pace(9)), {"eu-1": {"ns/a": DRAW}}),
        (move(Phase.VERIFYING), {"eu-1": {"ns/a": DRAW}}),
        (move(Phase.VERIFYING, passed_at=SECONDS), {"us-2": {"ns/a": DRAW}}),
    ],
)
def test_a_lost_target_is_left_for_where_a_copy_still_runs(
    found: LedgerMove, expected: dict[str, dict[str, int]]
) -> None:
    """While a move is verified, and rather than for the refuge."""
    items = {cluster: dict(values) for cluster, values in items_of([found], REFUGE).items()}
    assert items.setdefault("us-2", {}).pop("ns/b") == DRAW
    assert {cluster: values for cluster, values in items.items() if values} == expected
