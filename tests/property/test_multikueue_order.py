"""The laws of the list of clusters that the reconciler writes for Kueue."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.multikueue.order import Order, OrderCause, OrderInputs, next_order
from tests.support.laws import examples

NAMES = tuple(f"c{number}" for number in range(23))
MAX_LISTED = 20

few = st.frozensets(st.sampled_from(NAMES), max_size=4)
nearly_all = few.map(frozenset(NAMES).difference)
lists = st.builds(
    lambda names, count: tuple(names[:count]),
    st.permutations(NAMES),
    st.sampled_from([0, 1, 5, MAX_LISTED]),
)


@st.composite
def inputs(draw: st.DrawFn) -> OrderInputs:
    shown = draw(lists)
    values = draw(
        st.lists(
            st.integers(-100, 100) | st.integers(40, 60),
            min_size=len(NAMES),
            max_size=len(NAMES),
        )
    )
    known = draw(nearly_all)
    points = dict(zip(NAMES, map(float, values), strict=True))
    return OrderInputs(
        shown=shown,
        last_written=shown if draw(st.booleans()) else draw(lists),
        decided=draw(nearly_all | few),
        served=draw(nearly_all),
        gone=draw(few),
        busy=draw(few | nearly_all),
        unreached=draw(few),
        points={name: value for name, value in points.items() if name in known},
        stickiness=draw(st.sampled_from([0, 1, 10, 200])),
        ordered_at=draw(st.none() | st.sampled_from([0.0, 950.0, 990.0, 5000.0])),
        now=1000.0,
        reorder_seconds=draw(st.sampled_from([5.0, 60.0])),
    )


def due(given_inputs: OrderInputs) -> bool:
    at = given_inputs.ordered_at
    return (
        at is None or given_inputs.now >= min(at, given_inputs.now) + given_inputs.reorder_seconds
    )


def written_back(before: OrderInputs, order: Order) -> OrderInputs:
    """The same hub after the list was written."""
    return OrderInputs(
        shown=order.names,
        last_written=order.names,
        decided=before.decided,
        served=before.served,
        gone=before.gone,
        busy=before.busy,
        unreached=before.unreached,
        points=before.points,
        stickiness=before.stickiness,
        ordered_at=None,
        now=before.now,
        reorder_seconds=before.reorder_seconds,
    )


@examples(20, soak=1200)
@given(inputs())
def test_a_listed_cluster_with_jobs_never_leaves_while_its_managedcluster_exists(
    facts: OrderInputs,
) -> None:
    order = next_order(facts)
    for name in facts.shown:
        if name in facts.busy and name not in facts.gone:
            assert name in order.names


@examples(20, soak=1200)
@given(inputs())
def test_the_list_is_one_that_kueue_accepts(facts: OrderInputs) -> None:
    names = next_order(facts).names
    assert len(names) <= 20
    assert len(set(names)) == len(names)
    assert names or not facts.shown


@examples(20, soak=1200)
@given(inputs())
def test_without_an_eligible_cluster_nothing_changes(facts: OrderInputs) -> None:
    if not (facts.decided & facts.served) - facts.gone:
        order = next_order(facts)
        assert (order.names, order.changes, order.is_ordered) == (facts.shown, (), False)


@examples(30, soak=2000)
@given(inputs())
def test_a_cluster_overtakes_another_one_only_with_the_lead(facts: OrderInputs) -> None:
    before = facts.last_written or facts.shown
    after = next_order(facts).names
    if not due(facts):
        return
    eligible = (facts.decided & facts.served) - facts.gone
    ready = eligible - facts.unreached
    for one, other in combinations([name for name in before if name in ready], 2):
        if not {one, other} <= set(after) or not {one, other} <= facts.points.keys():
            continue
        if after.index(other) < after.index(one):
            lead = facts.points[other] - facts.points[one]
            assert lead > 0
            assert lead >= facts.stickiness


@examples(20, soak=1200)
@given(inputs())
def test_before_it_is_due_a_list_grows_and_only_who_gets_no_jobs_is_put_last(
    facts: OrderInputs,
) -> None:
    if due(facts):
        return
    order = next_order(facts)
    ready = (facts.decided & facts.served) - facts.gone - facts.unreached
    before = [name for name in facts.shown if name in ready]
    assert [name for name in order.names if name in ready][: len(before)] == before
    others = [name for name in facts.shown if name not in ready]
    assert [name for name in order.names if name not in ready][: len(others)] == others
    if len(before) == len(facts.shown):
        assert order.names[: len(before)] == facts.shown


@examples(20, soak=1200)
@given(inputs())
def test_a_list_that_was_written_stays_while_nothing_else_changes(facts: OrderInputs) -> None:
    order = next_order(facts)
    if not due(facts):
        return
    again = next_order(written_back(facts, order))
    assert again.names == order.names
    assert again.changes == ()


@examples(20, soak=1200)
@given(inputs())
def test_who_is_not_eligible_is_last(facts: OrderInputs) -> None:
    eligible = (facts.decided & facts.served) - facts.gone
    if not eligible or not due(facts):
        return
    kinds = [name in eligible for name in next_order(facts).names]
    assert kinds == sorted(kinds, reverse=True)


@examples(20, soak=1200)
@given(inputs())
def test_every_difference_has_a_reason_and_nothing_else_has(facts: OrderInputs) -> None:
    order = next_order(facts)
    assert bool(order.changes) == (order.names != facts.shown)
    left = {
        change.cluster
        for change in order.changes
        if change.cause in {OrderCause.LEFT, OrderCause.GONE, OrderCause.DISPLACED}
    }
    assert left == set(facts.shown) - set(order.names)
    for change in order.changes:
        if change.cause is OrderCause.OVERTOOK:
            assert change.lead > 0
            assert change.lead >= facts.stickiness
    joined = {change.cluster for change in order.changes if change.cause is OrderCause.JOINED}
    assert joined == set(order.names) - set(facts.shown)


@examples(20, soak=1200)
@given(inputs())
def test_an_eligible_cluster_is_listed_or_left_out(facts: OrderInputs) -> None:
    eligible = (facts.decided & facts.served) - facts.gone
    order = next_order(facts)
    if eligible:
        assert set(order.left_out) == eligible - set(order.names)
    if due(facts) and order.left_out:
        assert len(order.names) == 20
