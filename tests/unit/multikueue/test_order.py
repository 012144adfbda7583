"""The list of clusters for Kueue: who is in it, in which order, and why it changed."""

from typing import Any

import pytest

from gitops_dsf.multikueue.order import OrderInputs, next_order

EVERY = frozenset({"a", "b", "c"})


def inputs(shown: str = "a b c", **changes: Any) -> OrderInputs:
    names = tuple(shown.split())
    values: dict[str, Any] = {
        "shown": names,
        "last_written": names,
        "decided": EVERY,
        "served": EVERY,
        "gone": frozenset(),
        "busy": frozenset(),
        "points": {"a": 50.0, "b": 40.0, "c": 30.0},
        "stickiness": 10.0,
        "ordered_at": 0.0,
        "now": 1000.0,
        "reorder_seconds": 60.0,
    }
    return OrderInputs(**values | changes)


def outcome(**changes: Any) -> tuple[str, list[str]]:
    order = next_order(inputs(**changes))
    return " ".join(order.names), [change.text for change in order.changes]


def test_a_new_list_has_the_best_cluster_first() -> None:
    points = {"a": 1.0, "b": 3.0, "c": 2.0}
    names, changes = outcome(shown="", points=points, ordered_at=None)
    assert names == "b c a"
    assert changes == ["b joined", "c joined", "a joined"]


@pytest.mark.parametrize(
    ("points", "names", "changes"),
    [
        ({"a": 50.0, "b": 59.9, "c": 0.0}, "a b c", []),
        ({"a": 50.0, "b": 60.0, "c": 0.0}, "b a c", ["b leads a by 10.0 points"]),
        # c leads a by 12, and may not pass b, which it leads by 7.
        ({"a": 50.0, "b": 55.0, "c": 62.0}, "a b c", []),
        (
            {"a": 10.0, "b": 20.0, "c": 40.0},
            "c b a",
            ["c leads a by 30.0 points", "b leads a by 10.0 points"],
        ),
    ],
)
def test_a_cluster_overtakes_with_the_lead_that_people_wrote(
    points: dict[str, float], names: str, changes: list[str]
) -> None:
    assert outcome(points=points) == (names, changes)


def test_equal_clusters_keep_their_order_also_without_stickiness() -> None:
    assert outcome(points=dict.fromkeys("abc", 7.0), stickiness=0.0) == ("a b c", [])


def test_it_is_ordered_once_in_the_time_and_not_earlier() -> None:
    points = {"a": 0.0, "b": 100.0, "c": 50.0}
    assert outcome(points=points, ordered_at=941.0)[0] == "a b c"
    assert outcome(points=points, ordered_at=940.0)[0] == "b c a"


def test_a_time_in_the_future_is_not_waited_for() -> None:
    facts = inputs(ordered_at=90_000.0)
    assert facts.due_at == 1060.0


def test_a_new_cluster_is_appended_at_once_and_rises_when_it_is_time() -> None:
    points = {"a": 50.0, "b": 40.0, "c": 90.0}
    assert outcome(shown="a b", points=points, ordered_at=999.0) == ("a b c", ["c joined"])
    assert outcome(shown="a b", points=points) == ("c a b", ["c joined"])


def test_a_busy_cluster_that_is_not_eligible_is_last() -> None:
    assert outcome(decided=frozenset({"b", "c"}), busy=frozenset({"a"})) == (
        "b c a",
        ["a is last: it is not eligible, but jobs run there"],
    )


def test_an_idle_cluster_that_is_not_eligible_leaves() -> None:
    assert outcome(decided=frozenset({"b", "c"})) == (
        "b c",
        ["a left: it is not eligible, and no job runs there"],
    )


def test_a_busy_cluster_leaves_when_its_managedcluster_is_gone() -> None:
    assert outcome(gone=frozenset({"a"}), busy=frozenset({"a"})) == (
        "b c",
        ["a left: its ManagedCluster is gone"],
    )


def test_a_busy_cluster_without_a_multikueuecluster_stays() -> None:
    # Kueue treats it as unreachable and waits for it; out of the list, the job is lost.
    assert outcome(served=frozenset({"b", "c"}), busy=frozenset({"a"}))[0] == "b c a"


@pytest.mark.parametrize("missing", ["decided", "served"])
def test_absence_changes_nothing(missing: str) -> None:
    points = {"a": 0.0, "b": 100.0, "c": 50.0}
    assert outcome(points=points, **{missing: frozenset()}) == ("a b c", [])


def test_a_cluster_whose_scores_expired_holds_its_place() -> None:
    assert outcome(points={"b": 0.0, "c": 90.0})[0] == "a c b"
    assert outcome(points={"a": 0.0, "c": 90.0})[0] == "c b a"


def test_what_somebody_else_wrote_is_set_right_when_it_is_time() -> None:
    assert outcome(shown="c b a", last_written=("a", "b", "c")) == (
        "a b c",
        ["somebody else changed the list, and the reconciler restores it"],
    )
    assert outcome(shown="c b a", last_written=("a", "b", "c"), ordered_at=990.0) == ("c b a", [])


def test_a_job_that_went_to_a_cluster_of_somebody_else_keeps_it_listed() -> None:
    names, _ = outcome(
        shown="x a b c", last_written=("a", "b", "c"), busy=frozenset({"x"}), served=EVERY | {"x"}
    )
    assert names == "a b c x"


def test_a_deleted_list_has_the_clusters_with_jobs_again() -> None:
    names, changes = outcome(
        shown="",
        ordered_at=None,
        decided=frozenset({"b", "c"}),
        busy=frozenset({"a"}),
    )
    assert names == "b c a"
    assert "a joined" in changes


def many(count: int) -> tuple[str, ...]:
    return tuple(f"c{number:02}" for number in range(count))


def full(**changes: Any) -> OrderInputs:
    names = many(22)
    points = {name: 100.0 - place for place, name in enumerate(names)}
    values = {
        "shown": " ".join(names[:20]),
        "decided": frozenset(names),
        "served": frozenset(names),
        "points": points,
    }
    return inputs(**values | changes)


def test_the_best_twenty_are_listed_and_the_others_are_told() -> None:
    order = next_order(full(shown="", ordered_at=None))
    assert order.names == many(20)
    assert order.left_out == ("c20", "c21")


def test_a_better_cluster_takes_the_place_of_the_weakest_idle_one() -> None:
    points = {**full().points, "c21": 99.0}
    order = next_order(full(points=points, busy=frozenset({"c19"})))
    assert "c18" not in order.names
    assert {"c19", "c21"} <= set(order.names)
    assert [change.text for change in order.changes][:2] == [
        "c18 left: a better cluster needs its place",
        "c21 joined",
    ]
    assert order.left_out == ("c18", "c20")


def test_a_place_is_taken_only_with_the_lead() -> None:
    order = next_order(full(points={**full().points, "c21": 90.9}))
    assert order.names == many(20)
    assert order.changes == ()


def test_a_cluster_with_jobs_gets_a_place_in_a_full_list() -> None:
    order = next_order(full(busy=frozenset({"c21"})))
    assert "c21" in order.names
    assert order.left_out == ("c19", "c20")


def test_every_cluster_with_jobs_gets_a_place_in_a_full_list_that_is_restored() -> None:
    """Another program listed c20 alone. With our clusters there are more than Kueue accepts."""
    order = next_order(
        full(
            shown="c20",
            last_written=many(20),
            busy=frozenset({"c20", "c21", "c22"}),
            decided=frozenset(many(23)),
            served=frozenset(many(23)),
        )
    )
    assert {"c20", "c21", "c22"} <= set(order.names)
    assert order.left_out == ("c17", "c18", "c19")


@pytest.mark.parametrize("ordered_at", [0.0, 999.0], ids=["due", "not due"])
def test_who_gets_no_jobs_is_last_at_once(ordered_at: float) -> None:
    assert outcome(unreached=frozenset({"a"}), ordered_at=ordered_at) == (
        "b c a",
        ["a is last: Kueue does not reach it"],
    )
    assert outcome(decided=frozenset({"b", "c"}), busy=frozenset({"a"}), ordered_at=ordered_at) == (
        "b c a",
        ["a is last: it is not eligible, but jobs run there"],
    )


def test_an_idle_cluster_is_last_until_it_may_leave() -> None:
    assert outcome(decided=frozenset({"b", "c"}), ordered_at=999.0) == (
        "b c a",
        ["a is last: it is not eligible"],
    )


def test_who_is_reached_again_rises_when_it_is_time() -> None:
    points = {"a": 90.0, "b": 40.0, "c": 30.0}
    assert outcome(shown="b c a", points=points, ordered_at=999.0)[0] == "b c a"
    assert outcome(shown="b c a", points=points)[0] == "a b c"
