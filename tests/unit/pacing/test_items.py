"""The items that carry moves out, and the order in which they are written."""

from gitops_dsf.pacing.items import items_of, writes
from gitops_dsf.pacing.ledger import Move, Phase

MOVE = Move(placement="ns/a", source="c1", target="c2", since=0)


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
