"""The items that carry moves out, and the order in which they are written."""

import pytest

from gitops_dsf.hub.pace import PacedRanking, Term
from gitops_dsf.pacing.items import items_of, moving_in, pins_of, refuges_in, writes
from gitops_dsf.pacing.ledger import Move, Phase

MOVE = Move(placement="ns/a", source="c1", target="c2", since=0)
RANKINGS = {"ns/a": PacedRanking((Term("r", "free", 2), Term("r", "idle", -4)), steady=1)}


def test_items_of_a_move() -> None:
    """Only until OCM has followed."""
    assert items_of([MOVE], {}) == {"c1": {"ns/a": -100}, "c2": {"ns/a": 100}}
    for phase in (Phase.HANDOVER, Phase.WITHDRAWN, Phase.ENDED):
        assert items_of([MOVE.entered(phase, 1)], {}) == {}


def test_a_refuge_stands_beside_a_move() -> None:
    """And the move counts where both name one cluster."""
    assert items_of([MOVE], {"ns/a": "c3", "ns/b": "c2"}) == {
        "c1": {"ns/a": -100},
        "c2": {"ns/a": 100, "ns/b": 50},
        "c3": {"ns/a": 50},
    }
    assert items_of([MOVE], {"ns/a": "c2"})["c2"] == {"ns/a": 100}


def test_a_placement_is_drawn_before_it_is_pushed() -> None:
    """And no longer pushed before it is no longer drawn: in between it stays where it is."""
    wanted = items_of([MOVE], {})
    assert writes({}, wanted) == [("c2", {"ns/a": 100}), ("c1", {"ns/a": -100})]
    assert writes(wanted, {}) == [("c1", {}), ("c2", {})]
    assert writes(wanted, wanted) == []


def test_other_items_of_a_cluster_stay() -> None:
    """Each write holds all items of its cluster."""
    other = Move(placement="ns/b", source="c2", target="c1", since=0)
    published = items_of([other], {})
    steps = writes(published, items_of([other, MOVE], {}))
    assert steps == [
        ("c2", {"ns/a": 100, "ns/b": -100}),
        ("c1", {"ns/a": -100, "ns/b": 100}),
    ]


def test_refuges_are_read_back() -> None:
    """They survive a restart. Items of moves are no refuges."""
    refuges = {"ns/a": "c3", "ns/b": "c2"}
    assert refuges_in(items_of([MOVE], refuges)) == refuges
    assert refuges_in({"c1": {"ns/b": 50}, "c2": {"ns/b": 50}}) == {"ns/b": "c1"}, "between two writes"


def test_a_source_that_becomes_the_refuge_is_no_longer_pushed_first() -> None:
    """Else the target would stop to draw while the source is pushed away, and OCM would go anywhere."""
    move = Move(placement="ns/a", source="c2", target="c1", since=0)
    steps = writes(items_of([move], {}), items_of([], {"ns/a": "c2"}))
    assert steps == [("c2", {}), ("c1", {}), ("c2", {"ns/a": 50})]


def test_the_clusters_that_stay_are_pinned_first() -> None:
    """And longest, if the move is withdrawn: else one of them could be left instead of the source."""
    pins = pins_of([MOVE], {"ns/a": ("c0", "c1")}, RANKINGS)
    assert pins == {"c0": {"ns/a": 61}}
    carried = items_of([MOVE], {}, pins)
    assert [cluster for cluster, _ in writes({}, carried, pins)] == ["c0", "c2", "c1"]
    withdrawn = MOVE.entered(Phase.WITHDRAWN, 1)
    assert pins_of([withdrawn], {"ns/a": ("c0", "c1")}, RANKINGS) == pins
    assert writes(carried, items_of([withdrawn], {}, pins), pins) == [("c1", {}), ("c2", {})]
    assert pins_of([MOVE.entered(Phase.HANDOVER, 1)], {"ns/a": ("c0", "c2")}, RANKINGS) == {}
    assert pins_of([MOVE], {"ns/a": ("c1",)}, RANKINGS) == {}


def test_a_move_is_carried_out_by_one_of_its_items() -> None:
    """A pin or a refuge is none of them."""
    assert moving_in({"c1": {"ns/a": -100}}, [MOVE]) == {"ns/a"}
    assert moving_in({"c2": {"ns/a": 100}}, [MOVE]) == {"ns/a"}
    assert moving_in({"c0": {"ns/a": 100}, "c2": {"ns/a": 50}}, [MOVE]) == set()


@pytest.mark.parametrize(
    ("weights", "refuges", "pin"),
    [((1,), False, 21), ((4, -8), False, 61), ((1,), True, 21), ((3, 1), True, 41), ((9, 1), False, 100)],
)
def test_a_pin_is_as_weak_as_the_scores_allow(weights: tuple[int, ...], refuges: bool, pin: int) -> None:
    """Scores of one proportion differ by 200 points at most for each unit of weight."""
    terms = tuple(Term("r", f"s{number}", weight) for number, weight in enumerate(weights))
    assert PacedRanking(terms, steady=0, refuges=refuges).pin == pin
