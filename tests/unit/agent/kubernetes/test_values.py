"""The values of measures, from objects and the requests of pods."""

import asyncio
import gzip
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.errors import AgentError
from dsf_agent.fetch.stage import Fetch
from dsf_agent.kubernetes import cluster, objects
from dsf_agent.kubernetes.cluster import Labelled
from dsf_agent.kubernetes.objects import Pod
from dsf_agent.kubernetes.quantity import MAX_NANOS, NANOS, nanos
from dsf_agent.kubernetes.requests import PodSpec, PodStatus, effective
from dsf_agent.kubernetes.values import MeasuredValue, Totals, samples
from dsf_runtime.informer import Informer
from dsf_wire.measures import MEASURES, Selection, selection
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary
from tests.support.agent.clusterobjects import node, pod

BATCH_SERIES = 2_000


def raw(plain: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(plain).encode())


def totals(*plain: dict[str, Any]) -> Totals:
    found = Totals()
    for one in plain:
        if one["kind"] == "Node":
            name, kept = objects.node(raw(one))
            found.node_changed(name, None, kept)
        else:
            key, item = objects.pod(raw(one))
            found.pod_changed(key, None, item)
    return found


CLUSTER = totals(
    node("a", cpu="4", memory="8Gi", pods="10", **{"nvidia.com/gpu": "8"}),
    node("b", cpu="2", memory="4Gi", pods="10"),
    node("cordoned", cpu="64", memory="64Gi", pods="10", unschedulable=True),
    node("broken", cpu="64", memory="64Gi", pods="10", ready=False),
    node(
        "control", cpu="64", memory="64Gi", pods="10", taint="node-role.kubernetes.io/control-plane"
    ),
    pod("one", on="a", cpu="1500m", memory="2Gi", **{"nvidia.com/gpu": "2"}),
    pod("two", on="b", cpu="3", memory="1Gi"),
    pod("done", on="b", cpu="1", memory="1Gi", phase="Succeeded"),
    pod("failed", on="b", cpu="1", memory="1Gi", phase="Failed"),
    pod("elsewhere", on="cordoned", cpu="60", memory="1Gi"),
    pod("starting", on="a", cpu="500m", phase="Pending"),
    pod("waiting", cpu="100", phase="Pending", unschedulable=True),
)
USAGE = {"a": {"cpu": NANOS, "memory": NANOS * 2**30}}


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("cpu_allocatable_cores", 6.0),
        ("cpu_requested_cores", 5.0),
        # 4 - 2 on a. On b 3 of 2 cores are requested, which leaves 0.
        ("cpu_available_cores", 2.0),
        ("cpu_available_ratio", 2 / 6),
        ("memory_allocatable_bytes", 12 * 2**30),
        ("memory_requested_bytes", 3 * 2**30),
        ("memory_available_bytes", 9 * 2**30),
        ("memory_available_ratio", 0.75),
        ("pods_allocatable", 20.0),
        ("pods_requested", 3.0),
        ("pods_available", 17.0),
        ("cpu_used_cores", 1.0),
        # Of the four cores of a; nothing is known about b.
        ("cpu_used_ratio", 0.25),
        ("memory_used_bytes", 2**30),
        ("memory_used_ratio", 0.125),
        ("nodes", 5.0),
        ("nodes_usable", 2.0),
        ("nodes_ready", 4.0),
        ("nodes_ready_ratio", 0.8),
        ("pods_pending", 2.0),
        ("pods_unschedulable", 1.0),
    ],
)
def test_the_cluster_has_one_value(query: str, value: float) -> None:
    assert samples(selection(query), totals=CLUSTER, usage=USAGE, devices={}) == [
        MeasuredValue((), value)
    ]


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("node_cpu_available_cores", {"a": 2.0, "b": 0.0}),
        ("node_cpu_available_ratio", {"a": 0.5, "b": 0.0}),
        ("node_memory_requested_bytes", {"a": 2 * 2**30, "b": 2**30}),
        ("node_pods_requested", {"a": 2.0, "b": 1.0}),
        ("node_cpu_used_cores", {"a": 1.0}),
        ("node_ready", {"a": 1.0, "b": 1.0, "broken": 0.0, "control": 1.0, "cordoned": 1.0}),
    ],
)
def test_each_node_has_a_value(query: str, values: dict[str, float]) -> None:
    found = samples(selection(query), totals=CLUSTER, usage=USAGE, devices={})
    assert found == [MeasuredValue((("node", name),), value) for name, value in values.items()]


def test_extended_resources_have_a_series_each() -> None:
    gpu = (("resource", "nvidia_com_gpu"),)
    for query in ("extended_available", 'extended_available{resource="nvidia.com/gpu"}'):
        assert samples(selection(query), totals=CLUSTER, usage={}, devices={}) == [
            MeasuredValue(gpu, 6.0)
        ]
    assert samples(
        selection("node_extended_available_ratio"), totals=CLUSTER, usage={}, devices={}
    ) == [MeasuredValue((("node", "a"), *gpu), 0.75)]
    assert (
        samples(
            selection('extended_available{resource="amd.com/gpu"}'),
            totals=CLUSTER,
            usage={},
            devices={},
        )
        == []
    )


def test_a_resource_that_went_away_is_zero_and_has_no_ratio() -> None:
    """A node whose device plug-in stopped still names the resource.

    Huge pages are not an extended resource.
    """
    found = totals(
        node(
            "a",
            cpu="0",
            **{"nvidia.com/gpu": "0", "hugepages-2Mi": "64Mi", "a.com/hugepages-x": "3"},
        )
    )
    assert samples(selection("extended_available"), totals=found, usage={}, devices={}) == [
        MeasuredValue((("resource", "a_com_hugepages_x"),), 3.0),
        MeasuredValue((("resource", "nvidia_com_gpu"),), 0.0),
    ]
    gpu = 'extended_available_ratio{resource="nvidia.com/gpu"}'
    assert samples(selection(gpu), totals=found, usage={}, devices={}) == []
    for ratio in ("cpu_available_ratio", "cpu_used_ratio"):
        assert samples(selection(ratio), totals=found, usage=USAGE, devices={}) == []


def test_a_pod_that_requests_more_than_a_float_holds_has_a_value() -> None:
    """The API server accepts the quantity, from everybody who may create pods."""
    found = totals(node("a", cpu="1e999"), *(pod(name, on="a", cpu="1e999") for name in "xyz"))
    for measure in MEASURES.values():
        for sample in samples(selection(measure.name), totals=found, usage=USAGE, devices={}):
            assert math.isfinite(sample.value), measure.name


def test_nothing_of_nothing_has_no_ratio() -> None:
    empty = Totals()
    for measure in MEASURES.values():
        if measure.name.endswith("_ratio"):
            assert samples(selection(measure.name), totals=empty, usage={}, devices={}) == []
    assert samples(selection("nodes"), totals=empty, usage={}, devices={}) == [
        MeasuredValue((), 0.0)
    ]
    for unknown in ("cpu_used_cores", "memory_used_ratio", "node_cpu_used_ratio"):
        assert samples(selection(unknown), totals=CLUSTER, usage={}, devices={}) == []


_AMOUNTS = st.tuples(st.sampled_from(["cpu", "memory"]), st.integers(0, 5))
_PODS = st.builds(
    Pod,
    node=st.sampled_from(["", "a", "b"]),
    requests=st.lists(_AMOUNTS, unique_by=lambda one: one[0]).map(
        lambda found: (*sorted(found), ("pods", 1))
    ),
    pending=st.booleans(),
    unschedulable=st.booleans(),
)


@given(
    changes=st.lists(st.tuples(st.sampled_from(["p", "q", "r"]), st.none() | _PODS), max_size=20)
)
def test_sums_depend_only_on_the_pods_that_are_there(changes: list[tuple[str, Pod | None]]) -> None:
    changing, there = Totals(), dict[str, Pod]()
    for key, after in changes:
        changing.pod_changed(key, there.get(key), after)
        if after is None:
            there.pop(key, None)
        else:
            there[key] = after
    fresh = Totals()
    for key, one in there.items():
        fresh.pod_changed(key, None, one)

    def counted(found: Totals, node: str) -> dict[str, int]:
        return {name: amount for name, amount in found.requested(node).items() if amount}

    assert [counted(changing, name) for name in "ab"] == [counted(fresh, name) for name in "ab"]
    assert (changing.pending, changing.unschedulable) == (fresh.pending, fresh.unschedulable)


def test_a_node_without_the_resource_has_no_value() -> None:
    found = totals(node("a", cpu="4", memory="8Gi"), node("silent", cpu="2"))
    assert samples(selection("cpu_allocatable_cores"), totals=found, usage={}, devices={}) == [
        MeasuredValue((), 6.0)
    ]
    assert samples(selection("memory_available_ratio"), totals=found, usage={}, devices={}) == [
        MeasuredValue((), 1.0)
    ]
    per_node = samples(
        selection("node_memory_allocatable_bytes"), totals=found, usage={}, devices={}
    )
    assert per_node == [MeasuredValue((("node", "a"),), 8 * 2**30)]


def test_nothing_is_kept_of_a_node_without_pods() -> None:
    """Nodes of an autoscaled cluster come and go under new names."""
    found = Totals()
    key, one = objects.pod(raw(pod("one", on="a", cpu="1")))
    found.pod_changed(key, None, one)
    assert found.requested("a") == {"cpu": NANOS, "pods": NANOS}
    found.pod_changed(key, one, None)
    assert found.requested("a") == {}


def test_a_pod_whose_requests_are_no_quantities_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="'a lot' is not a quantity"):
        objects.pod(raw(pod("bad", on="a", cpu="a lot")))


def test_equal_requests_are_one_object() -> None:
    """30,000 pods of a few Deployments share them."""
    first, second = (objects.pod(raw(pod(name, on="a", cpu="1", memory="1Gi")))[1] for name in "xy")
    assert first.requests is second.requests
    assert first.node is second.node


MASTER = "node-role.kubernetes.io/master"


@pytest.mark.parametrize(
    ("conditions", "taints", "usable"),
    [
        ([("MemoryPressure", "False"), ("Ready", "True")], [], True),
        ([("MemoryPressure", "True"), ("Ready", "False")], [], False),
        ([], [], False),
        ([("Ready", "True")], [(MASTER, "NoSchedule")], False),
        ([("Ready", "True")], [(MASTER, "NoExecute")], False),
        ([("Ready", "True")], [("other", "NoSchedule"), (MASTER, "NoSchedule")], False),
        ([("Ready", "True")], [(MASTER, "PreferNoSchedule")], True),
        ([("Ready", "True")], [("other", "NoSchedule")], True),
    ],
)
def test_nodes_that_workloads_may_use(
    conditions: list[tuple[str, str]], taints: list[tuple[str, str]], usable: bool
) -> None:
    plain = node("a")
    plain["status"]["conditions"] = [
        {"type": kind, "status": status} for kind, status in conditions
    ]
    plain["spec"]["taints"] = [{"key": key, "effect": effect} for key, effect in taints]
    assert objects.node(raw(plain))[1].usable is usable


@pytest.mark.parametrize(
    ("kind", "status", "reason", "unschedulable"),
    [
        ("PodScheduled", "False", "Unschedulable", True),
        ("PodScheduled", "False", "SchedulingGated", False),
        ("PodScheduled", "True", "Unschedulable", False),
        ("Ready", "False", "Unschedulable", False),
    ],
)
def test_pods_that_no_node_takes(kind: str, status: str, reason: str, unschedulable: bool) -> None:
    plain = pod("a", phase="Pending")
    plain["status"]["conditions"] = [
        {"type": "Initialized", "status": "True"},
        {"type": kind, "status": status, "reason": reason},
    ]
    assert objects.pod(raw(plain))[1].unschedulable is unschedulable


def test_resources_of_kubernetes_itself_are_no_extended_ones() -> None:
    offers = {"cpu": "1", "memory": "1", "pods": "1", "ephemeral-storage": "1", "storage": "1"}
    found = totals(node("a", **offers, **{"hugepages-2Mi": "1", "x.com/y": "2"}))
    assert samples(selection("extended_allocatable"), totals=found, usage={}, devices={}) == [
        MeasuredValue((("resource", "x_com_y"),), 2.0)
    ]


def test_a_node_that_is_deleted_counts_no_more() -> None:
    found = totals(node("a", cpu="1"), node("b", cpu="2"))
    for _ in range(2):
        found.node_changed("a", None, None)
    assert samples(selection("cpu_allocatable_cores"), totals=found, usage={}, devices={}) == [
        MeasuredValue((), 2.0)
    ]


ASKING = ScorerSummary(
    name="s",
    score_name="s",
    source_type="Kubernetes",
    source_query="node_ready",
    source_range=600,
    source_step=10,
)


class Given:
    def __init__(self, *, nodes: int) -> None:
        self.names = [f"n{number}" for number in range(nodes)]

    async def read(self, _selections: Sequence[Selection]) -> list[Labelled]:
        keys = (
            json.dumps({"__name__": "node_ready", "node": name}).encode() for name in self.names
        )
        return [(key, number + 0.5) for number, key in enumerate(keys)]

    def hide(self, text: str) -> str:
        return text


@pytest.mark.parametrize("nodes", [0, 1, BATCH_SERIES - 1, BATCH_SERIES, 2 * BATCH_SERIES + 1])
async def test_each_series_has_one_point_the_present(nodes: int) -> None:
    given: Any = Given(nodes=nodes)
    found = await Fetch(scorer=ASKING, endpoint=given, cluster=given)(now=1700000000.25)
    data = json.loads(b"[%b]" % b",".join(map(bytes, found.parts)))
    assert [one["metric"]["node"] for one in data] == given.names
    assert [one["values"] for one in data] == [[[1700000000.25, f"{n}.5"]] for n in range(nodes)]
    assert (found.count, found.size, found.warnings) == (nodes, sum(map(len, found.parts)), ())


async def test_objects_of_which_nothing_is_heard_may_be_outdated() -> None:
    """Also without a failure, as when a watch is silent."""
    server: Any = None
    informer = Informer(api=server, path="/api/v1/nodes", project=objects.node)
    informer.synced.set()
    cluster._check(informer)
    await asyncio.sleep(1000)
    with pytest.raises(AgentError, match="nodes: nothing was heard") as raised:
        cluster._check(informer)
    assert raised.value.reason is Reason.TIMEOUT


ORACLE = Path(__file__).parents[3] / "data" / "oracle" / "podrequests" / "pods.jsonl.gz"


def test_pods_request_what_kubernetes_says() -> None:
    """400 random pods with init containers, sidecars, overhead, pod-level resources and resizes."""
    lines = gzip.decompress(ORACLE.read_bytes()).splitlines()
    assert len(lines) == 400
    for line in lines:
        case = json.loads(line)
        found = effective(
            msgspec.convert(case["pod"]["spec"], PodSpec),
            msgspec.convert(case["pod"]["status"], PodStatus),
        )
        exact = {name: Fraction(amount, NANOS) for name, amount in found.items()}
        assert exact == {name: Fraction(text) for name, text in case["requests"].items()}, case[
            "pod"
        ]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1.5Gi", 3 * 2**29 * NANOS),
        ("1E3", 1000 * NANOS),
        ("2E", 2 * 10**18 * NANOS),
        ("1e-3", NANOS // 1000),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("+7", 7 * NANOS),
        ("9223372036854775807", MAX_NANOS),
        ("9223372036854775808", MAX_NANOS),
        ("8Ei", MAX_NANOS),
        ("1e999", MAX_NANOS),
        ("-1e999", -MAX_NANOS),
        ("9" * 100, MAX_NANOS),
        ("1E", 10**18 * NANOS),
        ("1Ei", 2**60 * NANOS),
    ],
)
def test_quantities_are_read_exactly(text: str, amount: int) -> None:
    assert nanos(text) == amount


@pytest.mark.parametrize(
    "text", ["", "m", "1 Gi", "1gi", "Infinity", "1e", "٣", "1e9999", "9" * 101, "1.2.3"]
)
def test_other_text_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        nanos(text)
