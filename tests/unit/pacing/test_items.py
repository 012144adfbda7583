"""The items that carry moves out, and the order in which they are written."""

from gitops_dsf.pacing.ledger import Move, Phase
from gitops_dsf.pacing.refuges import drawn_by, items_of, moving_in, writes

MOVE = Move(placement="ns/a", source="c1", target="c2", since=0)


def test_items_of_a_move() -> None:
    """Only until OCM has followed."""
    assert items_of([MOVE], {}) == {"c1": {"ns/a": -100}, "c2": {"ns/a": 50}}
    for phase in (Phase.HANDOVER, Phase.WITHDRAWN, Phase.ENDED):
        assert items_of([MOVE.entered(phase, 1)], {}) == {}


def test_the_target_of_a_move_takes_the_place_of_the_refuge() -> None:
    """Two clusters that draw it would leave the choice to the scores."""
    assert items_of([MOVE], {"ns/a": "c3", "ns/b": "c2"}) == {
        "c1": {"ns/a": -100},
        "c2": {"ns/a": 50, "ns/b": 50},
    }
    published = items_of([], {"ns/a": "c3"})
    assert writes(published, items_of([MOVE], {"ns/a": "c3"})) == [
        ("c2", {"ns/a": 50}),
        ("c3", {}),
        ("c1", {"ns/a": -100}),
    ]


def test_a_placement_is_drawn_before_it_is_pushed() -> None:
    """And no longer pushed before it is no longer drawn: in between it stays where it is."""
    wanted = items_of([MOVE], {})
    assert writes({}, wanted) == [("c2", {"ns/a": 50}), ("c1", {"ns/a": -100})]
    assert writes(wanted, {}) == [("c1", {}), ("c2", {})]
    assert writes(wanted, wanted) == []


def test_other_items_of_a_cluster_stay() -> None:
    """Each write holds all items of its cluster."""
    other = Move(placement="ns/b", source="c2", target="c1", since=0)
    published = items_of([other], {})
    steps = writes(published, items_of([other, MOVE], {}))
    assert steps == [
        ("c2", {"ns/a": 50, "ns/b": -100}),
        ("c1", {"ns/a": -100, "ns/b": 50}),
    ]


def test_refuges_are_read_back() -> None:
    """They survive a restart. A cluster that is left is none."""
    assert drawn_by(items_of([MOVE], {"ns/b": "c3"})) == {"ns/a": "c2", "ns/b": "c3"}
    assert drawn_by({"c1": {"ns/b": 50}, "c2": {"ns/b": 50}}) == {"ns/b": "c1"}, "between two writes"


def test_a_source_that_becomes_the_refuge_is_no_longer_pushed_first() -> None:
    """Else the target would stop to draw while the source is pushed away, and OCM would go anywhere."""
    move = Move(placement="ns/a", source="c2", target="c1", since=0)
    steps = writes(items_of([move], {}), items_of([], {"ns/a": "c2"}))
    assert steps == [("c2", {}), ("c1", {}), ("c2", {"ns/a": 50})]


def test_a_move_is_carried_out_by_the_item_that_pushes() -> None:
    """The other one moves nothing alone, and may be a refuge."""
    assert moving_in({"c1": {"ns/a": -100}}, [MOVE]) == {"ns/a"}
    assert moving_in({"c0": {"ns/a": -100}, "c2": {"ns/a": 50}}, [MOVE]) == set()
