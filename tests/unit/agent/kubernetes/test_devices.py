"""Devices of dynamic resource allocation: which are offered, given to claims, and available."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.kubernetes import devices, objects
from dsf_agent.kubernetes.devices import DeviceTotals
from dsf_agent.kubernetes.values import Totals, samples
from dsf_wire.measures import selection
from tests.support.agent.clusterobjects import Object, claim, device, node, resource_slice

DRIVER = "gpu.example.com"
HOLD_SECONDS = 60.0


def raw(plain: Object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(plain).encode())


class Cluster:
    """Nodes, slices and claims, as an agent hears of them."""

    def __init__(self, *plain: Object) -> None:
        self.totals, self.devices = Totals(), DeviceTotals()
        self.known: dict[str, Any] = {}
        for one in plain:
            self.put(one)

    def put(self, plain: Object) -> None:
        self._change(plain, there=True)

    def remove(self, plain: Object) -> None:
        self._change(plain, there=False)

    def _change(self, plain: Object, *, there: bool) -> None:
        if plain["kind"] == "Node":
            name, kept = objects.node(raw(plain))
            self.totals.node_changed(name, None, kept if there else None)
            return
        is_slice = plain["kind"] == "ResourceSlice"
        key, item = (devices.resource_slice if is_slice else devices.resource_claim)(raw(plain))
        taken = self.devices.slice_changed if is_slice else self.devices.claim_changed
        changed: Any = taken
        changed(key, self.known.get(key), item if there else None)
        self.known[key] = item if there else None

    def values(self, query: str, *, now: float = 0.0) -> dict[str, float]:
        """The values by node, if there is one, and driver."""
        counts = self.devices.counts(now=now)
        measured = samples(selection(query), totals=self.totals, usage={}, devices=counts)
        return {"/".join(value for _, value in one.labels): one.value for one in measured}

    def counted(self, *, now: float = 0.0) -> tuple[float, ...]:
        """Allocatable, allocated and available devices of the one driver."""
        figures = ("allocatable", "allocated", "available")
        return tuple(self.values(f"devices_{one}", now=now).get(DRIVER, -1.0) for one in figures)


def of_node(name: str, *names: str, **more: Any) -> Object:
    """The slice of a driver that offers plain devices of a node."""
    return resource_slice(name, *(device(one) for one in names), node=name, **more)


def test_devices_are_counted_by_driver_and_node() -> None:
    cluster = Cluster(
        node("a"),
        node("b"),
        of_node("a", "gpu-0", "gpu-1", "gpu-2"),
        of_node("b", "gpu-0"),
        resource_slice("a-nic", device("eth0"), node="a", driver="nic.example.com"),
        claim("one", ("a", "gpu-0")),
        claim("two", ("a", "gpu-1"), ("b", "gpu-0")),
        claim("waiting"),
    )
    assert cluster.values("devices_allocatable") == {DRIVER: 4.0, "nic.example.com": 1.0}
    assert cluster.values('devices_allocated{driver="gpu.example.com"}') == {DRIVER: 3.0}
    assert cluster.values("devices_available") == {DRIVER: 1.0, "nic.example.com": 1.0}
    assert cluster.values('devices_available_ratio{driver="gpu.example.com"}') == {DRIVER: 0.25}
    assert cluster.values("node_devices_available") == {
        f"a/{DRIVER}": 1.0,
        f"b/{DRIVER}": 0.0,
        "a/nic.example.com": 1.0,
    }
    assert cluster.values('devices_available{driver="other.example.com"}') == {}


def test_devices_of_nodes_that_take_no_pods_do_not_count() -> None:
    """As other resources: what cannot run new pods offers nothing, whatever is free there."""
    cluster = Cluster(
        node("a"),
        node("cordoned", unschedulable=True),
        node("broken", ready=False),
        node("control", taint="node-role.kubernetes.io/control-plane"),
        *(of_node(name, "gpu-0") for name in ("a", "cordoned", "broken", "control", "gone")),
        claim("one", ("cordoned", "gpu-0")),
    )
    assert cluster.counted() == (1.0, 0.0, 1.0)
    assert cluster.values("node_devices_allocatable") == {f"a/{DRIVER}": 1.0}
    cluster.put(node("a", ready=False))
    assert cluster.values("devices_allocatable") == {}


def test_a_driver_that_has_no_device_any_more_offers_zero() -> None:
    cluster = Cluster(node("a"), of_node("a"))
    assert cluster.values("devices_available") == {DRIVER: 0.0}
    assert cluster.values("devices_available_ratio") == {}


def test_only_the_newest_generation_counts() -> None:
    """A driver may leave the old slices for a while."""
    cluster = Cluster(
        node("a"),
        of_node("a", "gpu-0", "gpu-1", generation=1),
        {**of_node("a", "gpu-0", generation=2), "metadata": {"name": "a-new"}},
    )
    assert cluster.counted() == (1.0, 0.0, 1.0)


def part(name: str, *names: str, generation: int) -> Object:
    """One of the two slices of pool a."""
    return resource_slice(
        name, *(device(one) for one in names), node="a", generation=generation, slices=2
    )


def test_a_pool_that_its_driver_replaces_counts_as_before_for_a_minute() -> None:
    """Then it counts nothing, as for the scheduler. Claims of that minute are seen."""
    cluster = Cluster(
        node("a"), part("x", "0", "1", generation=1), part("y", "2", "3", generation=1)
    )
    assert cluster.counted(now=100.0) == (4.0, 0.0, 4.0)
    cluster.put(part("x", "0", generation=2))
    assert cluster.counted(now=200.0) == (4.0, 0.0, 4.0)
    cluster.put(claim("one", ("a", "3")))
    assert cluster.counted(now=200.0 + HOLD_SECONDS - 1) == (4.0, 1.0, 3.0)
    assert cluster.values("devices_available", now=200.0 + HOLD_SECONDS) == {}
    cluster.put(part("y", "2", generation=2))
    assert cluster.counted(now=900.0) == (2.0, 0.0, 2.0)


def test_a_pool_that_never_was_complete_does_not_count() -> None:
    cluster = Cluster(node("a"), part("x", "0", generation=1))
    assert cluster.values("devices_available") == {}
    cluster.put(part("y", "1", generation=1))
    assert cluster.counted() == (2.0, 0.0, 2.0)


def test_a_pool_with_two_devices_of_one_name_is_not_used() -> None:
    cluster = Cluster(node("a"), part("x", "0", generation=1), part("y", "0", generation=1))
    assert cluster.values("devices_available") == {}


def test_a_pool_that_is_gone_counts_at_once_no_more() -> None:
    cluster = Cluster(node("a"), of_node("a", "0"), node("b"), of_node("b", "0"))
    cluster.counted()
    cluster.remove(of_node("a", "0"))
    assert cluster.counted() == (1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("effect", "offered"),
    [("NoSchedule", 0.0), ("NoExecute", 0.0), ("None", 1.0), ("FromTheFuture", 1.0)],
)
def test_a_tainted_device_is_not_offered(effect: str, offered: float) -> None:
    tainted = device("0", taints=[{"key": "example.com/broken", "effect": effect}])
    cluster = Cluster(node("a"), resource_slice("a", tainted, node="a"))
    assert cluster.counted() == (offered, 0.0, offered)
    cluster.put(claim("one", ("a", "0")))
    assert cluster.counted() == (offered, offered, 0.0)


def test_a_claim_for_admin_access_allocates_nothing() -> None:
    cluster = Cluster(
        node("a"), of_node("a", "0", "1"), claim("monitor", ("a", "0"), ("a", "1"), admin=True)
    )
    assert cluster.counted() == (2.0, 0.0, 2.0)


def test_a_shared_device_is_allocated_from_its_first_claim_to_its_last() -> None:
    shared = device("0", allowMultipleAllocations=True)
    one, two = claim("one", ("a", "0")), claim("two", ("a", "0"))
    cluster = Cluster(node("a"), resource_slice("a", shared, node="a"), one, two)
    assert cluster.counted() == (1.0, 1.0, 0.0)
    cluster.remove(one)
    assert cluster.counted() == (1.0, 1.0, 0.0)
    cluster.put(claim("two"))
    assert cluster.counted() == (1.0, 0.0, 1.0)


def consuming(name: str, slots: str) -> Object:
    counters = {"slots": {"value": slots}}
    return device(name, consumesCounters=[{"counterSet": "gpu-0", "counters": counters}])


def test_partitions_are_available_while_their_counters_suffice() -> None:
    """A whole GPU, its halves and its quarters are devices, and only some fit together."""
    sets = [{"name": "gpu-0", "counters": {"slots": {"value": "4"}}}]
    cluster = Cluster(
        node("a"),
        resource_slice("counters", node="a", slices=2, sharedCounters=sets),
        resource_slice(
            "devices",
            consuming("whole", "4"),
            consuming("half-0", "2"),
            consuming("half-1", "2"),
            consuming("quarter-0", "1"),
            node="a",
            slices=2,
        ),
    )
    assert cluster.counted() == (4.0, 0.0, 4.0)
    cluster.put(claim("one", ("a", "half-0")))
    assert cluster.counted() == (4.0, 1.0, 2.0)
    cluster.put(claim("two", ("a", "quarter-0")))
    assert cluster.counted() == (4.0, 2.0, 0.0)
    cluster.remove(claim("one"))
    cluster.remove(claim("two"))
    cluster.put(claim("all", ("a", "whole")))
    assert cluster.counted() == (4.0, 1.0, 0.0)


def test_what_several_nodes_reach_counts_while_one_of_them_takes_pods() -> None:
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}
    cluster = Cluster(
        node("a"),
        resource_slice("everywhere", device("0"), pool="p", allNodes=True),
        resource_slice("rack", device("0"), pool="q", nodeSelector={"nodeSelectorTerms": [term]}),
        resource_slice("unknown", device("0"), pool="r"),
    )
    assert cluster.counted() == (2.0, 0.0, 2.0)
    assert cluster.values("node_devices_allocatable") == {}
    cluster.put(node("a", unschedulable=True))
    assert cluster.values("devices_allocatable") == {}


def test_each_device_can_have_a_node_of_its_own() -> None:
    cluster = Cluster(
        node("a"),
        node("b", ready=False),
        resource_slice(
            "s",
            device("0", nodeName="a"),
            device("1", nodeName="b"),
            device("2", allNodes=True),
            device("3"),
            pool="p",
            perDeviceNodeSelection=True,
        ),
    )
    assert cluster.counted() == (2.0, 0.0, 2.0)
    assert cluster.values("node_devices_allocatable") == {f"a/{DRIVER}": 1.0}


def test_a_driver_that_another_pool_is_named_like_has_its_own_devices() -> None:
    cluster = Cluster(
        node("a"), of_node("a", "0"), claim("other", ("a", "0"), driver="nic.example.com")
    )
    assert cluster.counted() == (1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "ResourceSlice", "metadata": {"name": "x"}},
        {"kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": {"pool": {"generation": "1"}}},
        resource_slice(
            "x", node="a", sharedCounters=[{"name": "s", "counters": {"c": {"value": "much"}}}]
        ),
    ],
)
def test_an_object_that_is_no_slice_cannot_be_read(broken: Object) -> None:
    with pytest.raises((ValueError, msgspec.MsgspecError)):
        devices.resource_slice(raw(broken))


_SLICES = st.builds(
    lambda pool, names, generation, slices: (pool, names, generation, slices),
    st.sampled_from("ab"),
    st.lists(st.sampled_from("0123"), unique=True, max_size=3),
    st.integers(1, 2),
    st.integers(1, 2),
)
_CHANGES = st.one_of(
    st.tuples(st.just("slice"), st.sampled_from("xyz"), st.none() | _SLICES),
    st.tuples(
        st.just("claim"),
        st.sampled_from("xyz"),
        st.none() | st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("0123")), max_size=3),
    ),
)


@given(changes=st.lists(_CHANGES, max_size=20))
def test_counts_depend_only_on_the_objects_that_are_there(changes: list[Any]) -> None:
    """After the minute for which an incomplete pool counts as before."""
    changing = Cluster(node("a"))
    there: dict[str, Object] = {}
    for kind, name, what in changes:
        key = f"{kind} {name}"
        before = there.pop(key, None)
        if what is None:
            if before is not None:
                changing.remove(before)
            # The minute begins when the pool is first seen to be incomplete.
            changing.counted(now=0.0)
            continue
        if kind == "slice":
            pool, names, generation, slices = what
            plain = resource_slice(
                f"s-{name}",
                *map(device, names),
                node="a",
                pool=pool,
                generation=generation,
                slices=slices,
            )
        else:
            plain = claim(f"c-{name}", *what)
        there[key] = plain
        changing.put(plain)
        changing.counted(now=0.0)
    fresh = Cluster(node("a"), *there.values())
    assert changing.counted(now=1000.0) == fresh.counted(now=1000.0)
