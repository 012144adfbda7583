"""Where applications go when their cluster is lost, and that the plan moves nothing before."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from gitops_dsf.hub.objects import Toleration
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.items import MoveItems, drawn_by, items_of, moving_in
from gitops_dsf.pacing.ledger import LedgerMove, Phase
from gitops_dsf.pacing.publication import ClusterItems, ItemWrites
from gitops_dsf.pacing.refuges import by_lost_cluster, plan_refuges
from gitops_dsf.simulator import HubState
from tests.unit.pacing.fleet import MOMENT, herd

FOUR = {"c1": 40, "c2": 62, "c3": 58, "c4": 55}
TWENTY = {f"app-{number:02}": ("c1",) for number in range(20)}
NO_NEW = [{"key": "x", "effect": "NoSelectIfNew"}]


def writes(published: MoveItems, wanted: MoveItems) -> list[tuple[str, ClusterItems]]:
    """All writes of a look in which each one succeeds."""
    look, found = ItemWrites({name: (items,) for name, items in published.items()}, wanted), []
    for cluster, items in look.writes():
        look.wrote(cluster, items)
        found.append((cluster, items))
    return found


def planned(
    found: tuple[HubState, dict[str, Paced]],
    current: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    held: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, str]:
    state, paced = found
    short = plan_refuges(
        paced,
        state=state,
        now=MOMENT,
        current={f"ns/{name}": cluster for name, cluster in (current or {}).items()},
        held={f"ns/{name}": clusters for name, clusters in (held or {}).items()},
        only=None if only is None else [f"ns/{name}" for name in only],
    )
    return {key.removeprefix("ns/"): cluster for key, cluster in short.items()}


def hub(scores: Mapping[str, int], placed: Mapping[str, Sequence[str]], **more: Any) -> Any:
    return herd(scores, placed, refuges=True, **more)


@pytest.mark.parametrize("demand", [0, 1, 2, 5, 12])
def test_a_lost_cluster_ends_in_no_herd(demand: int) -> None:
    """Whatever the applications take, the other clusters are within ten points of even with it, or
    within one application, if that takes more.
    """
    found = planned(hub(FOUR, TWENTY, demand=demand))
    assert found.keys() == TWENTY.keys()
    counts = Counter(found.values())
    left = [FOUR[name] - demand * counts[name] for name in ("c2", "c3", "c4")]
    assert max(left) - min(left) <= max(10, demand)
    assert max(counts.values()) <= 10


def test_clusters_that_are_nearly_equal_are_used_evenly() -> None:
    """62 and 58 and 55 are within ten points; 20 is not, until the others are full."""
    counts = Counter(planned(hub({**FOUR, "c5": 20}, TWENTY)).values())
    assert counts == {"c2": 7, "c3": 7, "c4": 6}


def test_only_clusters_that_may_be_chosen_are_refuges() -> None:
    """No tainted one, and none of the decision. Where there is no other, there is no refuge."""
    scores = {"c1": 0, "c2": 90, "c3": 10}
    assert planned(hub(scores, {"a": ("c1",)})) == {"a": "c2"}
    assert planned(hub(scores, {"a": ("c1",)}, taints={"c2": NO_NEW})) == {"a": "c3"}
    assert planned(hub(scores, {"a": ("c1", "c2")})) == {"a": "c3"}
    assert planned(hub(scores, {"a": ("c1", "c2", "c3")})) == {}
    assert planned(hub(scores, {"a": ()})) == {}
    assert planned(herd(scores, {"a": ("c1",)})) == {}, "refuges are off"


def test_no_refuge_is_a_cluster_that_the_application_came_back_from() -> None:
    """Others may still go there. Where there is no other cluster, there is no refuge."""
    scores = {"c1": 0, "c2": 90, "c3": 10}
    found = hub(scores, {"a": ("c1",), "b": ("c1",)})
    assert planned(found, held={"a": ("c2",)}) == {"a": "c3", "b": "c2"}
    assert planned(found, {"a": "c2", "b": "c2"}, held={"a": ("c2",)}) == {"a": "c3", "b": "c2"}
    assert planned(found, {"a": "c2"}, held={"a": ("c2", "c3")}) == {"b": "c2"}


def test_a_lower_score_is_better_with_a_negative_weight() -> None:
    """And an arrival raises it."""
    scores = {"c1": 50, "c2": 10, "c3": 24}
    found = planned(hub(scores, {"a": ("c1",), "b": ("c1",), "c": ("c1",)}, weight=-1, demand=10))
    assert found == {"a": "c2", "b": "c2", "c": "c3"}


def test_a_refuge_stays_until_another_is_clearly_better() -> None:
    """Ten points. A refuge that may no longer be chosen goes at once."""
    for score, refuge in ((50, "c3"), (59, "c3"), (60, "c2")):
        scores = {"c1": 0, "c2": score, "c3": 50}
        assert planned(hub(scores, {"a": ("c1",)}), {"a": "c3"}) == {"a": refuge}
    scores = {"c1": 0, "c2": 10, "c3": 50}
    assert planned(hub(scores, {"a": ("c1",)}, taints={"c3": NO_NEW}), {"a": "c3"}) == {"a": "c2"}
    assert planned(hub(scores, {"a": ("c3",)}), {"a": "c3"}) == {"a": "c2"}, "it went there"
    assert planned(hub(scores, {"a": ("c1",)}), {"a": "gone"}) == {"a": "c3"}
    assert planned(hub(scores, {}), {"a": "c3"}) == {}, "the Placement is gone"


def test_a_plan_stays_the_same_while_nothing_changes() -> None:
    """So nothing is written again."""
    for demand in (0, 3, 15):
        found = hub(FOUR, TWENTY, demand=demand)
        first = planned(found)
        assert planned(found, first) == first


def test_only_some_are_planned_again() -> None:
    """With the load of those that keep theirs."""
    found = hub({"c1": 0, "c2": 20, "c3": 20}, {"a": ("c1",), "b": ("c1",), "c": ("c1",)}, demand=5)
    current = {"a": "c2", "b": "c2"}
    assert planned(found, current, only=["c"]) == {**current, "c": "c3"}
    assert planned(found, {**current, "c": "gone"}, only=[]) == {**current, "c": "gone"}


def test_a_mistake_of_the_placement_keeps_its_refuge() -> None:
    """OCM keeps the decision too."""
    state, paced = hub({"c1": 0, "c2": 20}, {"a": ("c1",)})
    bound = HubState.of(
        clusters=state.clusters,
        sets=(),
        bindings=(),
        placements=state.placements.values(),
        decisions=state.decisions.values(),
        scores=state.scores,
    )
    assert planned((bound, paced), {"a": "c2"}) == {}, "no cluster is eligible without a set"
    broken = {
        key: dataclasses.replace(each, written=_misconfigured(each)) for key, each in paced.items()
    }
    assert planned((state, broken), {"a": "c2"}) == {"a": "c2"}


def _misconfigured(item: Paced) -> Any:
    spec = replace(item.written.spec, tolerations=(Toleration(operator="Equal"),))
    return replace(item.written, spec=spec)


def test_the_plan_by_lost_cluster() -> None:
    """A Placement on two clusters appears twice; one that is at its refuge does not."""
    refuges = {"ns/a": "c3", "ns/b": "c2", "ns/c": "c1", "ns/d": "c9"}
    decided = {"ns/a": ("c1", "c2"), "ns/b": ("c1",), "ns/c": ("c1",)}
    assert by_lost_cluster(refuges, decided) == {
        "c1": {"ns/a": "c3", "ns/b": "c2"},
        "c2": {"ns/a": "c3"},
    }


MOVE = LedgerMove(placement="ns/a", source="c1", target="c2", since=0)


def test_items_of_a_move() -> None:
    """Only until OCM has followed."""
    assert items_of([MOVE], {}) == {"c1": {"ns/a": -100}, "c2": {"ns/a": 50}}
    for phase in (Phase.HANDOVER, Phase.WITHDRAWN, Phase.ENDED):
        assert items_of([MOVE.entered(phase, 1)], {}) == {}


def test_a_placement_is_drawn_before_it_is_pushed() -> None:
    """And no longer pushed before it is no longer drawn: in between it stays where it is."""
    wanted = items_of([MOVE], {})
    assert writes({}, wanted) == [("c2", {"ns/a": 50}), ("c1", {"ns/a": -100})]
    assert writes(wanted, {}) == [("c1", {}), ("c2", {})]
    assert writes(wanted, wanted) == []


def test_refuges_are_read_back() -> None:
    """They survive a restart. A cluster that is left is none."""
    assert drawn_by(items_of([MOVE], {"ns/b": "c3"})) == {"ns/a": "c2", "ns/b": "c3"}
    assert drawn_by({"c1": {"ns/b": 50}, "c2": {"ns/b": 50}}) == {"ns/b": "c1"}, (
        "between two writes"
    )


def test_a_move_is_carried_out_by_the_item_that_pushes() -> None:
    """The other one moves nothing alone, and may be a refuge."""
    assert moving_in({"c1": {"ns/a": -100}}, [MOVE]) == {"ns/a"}
    assert moving_in({"c0": {"ns/a": -100}, "c2": {"ns/a": 50}}, [MOVE]) == set()
