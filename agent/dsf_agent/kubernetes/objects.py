"""What is kept of nodes and pods. Everything else is skipped while an object is decoded."""

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from dsf_agent.kubernetes import requests
from dsf_agent.kubernetes.requests import nanos

Amounts = tuple[tuple[str, int], ...]
"""Resource names and billionths, sorted by name. Equal ones are one object in memory."""

CONTROL_PLANE: Final = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
"""Taints of nodes that ordinary workloads do not run on."""
COMPLETED: Final = frozenset({"Succeeded", "Failed"})
"""Phases of pods that use no resources any more."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node: what it offers, and whether new pods may run on it."""

    allocatable: Mapping[str, int]
    """Billionths by resource."""
    ready: bool
    usable: bool
    """Ready, not cordoned, and without the taint of a control plane."""


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod that is not completed. ``node`` is empty until the scheduler chose one."""

    node: str
    requests: Amounts
    pending: bool
    unschedulable: bool


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""


class _Taint(msgspec.Struct, gc=False):
    key: str = ""
    effect: str = ""


class _NodeSpec(msgspec.Struct, gc=False):
    unschedulable: bool = False
    taints: list[_Taint] | None = None


class _NodeStatus(msgspec.Struct, gc=False):
    allocatable: dict[str, str] | None = None
    conditions: list[requests.Condition] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: requests.PodSpec
    status: requests.PodStatus = msgspec.field(default_factory=requests.PodStatus)


_NODE: Final = msgspec.json.Decoder(_Node)
_POD: Final = msgspec.json.Decoder(_Pod)


def node(raw: msgspec.Raw) -> tuple[str, Node]:
    """Name and node. Raises ValueError or a msgspec error for an object that is no node."""
    found = _NODE.decode(raw)
    ready = any(one.type == "Ready" and one.status == "True" for one in found.status.conditions or ())
    tainted = any(
        taint.key in CONTROL_PLANE and taint.effect in {"NoSchedule", "NoExecute"}
        for taint in found.spec.taints or ()
    )
    return sys.intern(found.metadata.name), Node(
        allocatable=dict(
            _interned({name: nanos(text) for name, text in (found.status.allocatable or {}).items()})
        ),
        ready=ready,
        usable=ready and not found.spec.unschedulable and not tainted,
    )


def pod(raw: msgspec.Raw) -> tuple[str, Pod]:
    """Key and pod; a completed one requests nothing on no node. Raises ValueError or a msgspec error."""
    found = _POD.decode(raw)
    key = pod_key(found.metadata.namespace, found.metadata.name)
    if found.status.phase in COMPLETED:
        return key, _DONE
    return key, Pod(
        node=sys.intern(found.spec.node_name),
        requests=amounts({**requests.effective(found.spec, found.status), "pods": nanos("1")}),
        pending=found.status.phase == "Pending",
        unschedulable=any(
            one.type == "PodScheduled" and one.status == "False" and one.reason == "Unschedulable"
            for one in found.status.conditions or ()
        ),
    )


_DONE: Final = Pod(node="", requests=(), pending=False, unschedulable=False)


def pod_key(namespace: str, name: str) -> str:
    """The key of a pod."""
    return f"{namespace}/{name}"


def amounts(found: Mapping[str, int]) -> Amounts:
    """The sorted amounts. Pods of one Deployment share them."""
    return _shared(tuple(sorted(_interned(found))))


def _interned(found: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for name, amount in found.items():
        yield sys.intern(name), amount


@lru_cache(maxsize=8192)
def _shared(found: Amounts) -> Amounts:
    return found


NodeUsage = Mapping[str, int]
"""What metrics.k8s.io says about a node: billionths by resource."""


class _Usage(msgspec.Struct):
    metadata: _Metadata
    usage: dict[str, str] = {}


class NodeMetricsList(msgspec.Struct):
    """An answer of metrics.k8s.io."""

    items: list[_Usage] | None = None


def usage(found: NodeMetricsList) -> dict[str, NodeUsage]:
    """The usage by node. Raises ValueError."""
    return {
        item.metadata.name: {name: nanos(text) for name, text in item.usage.items()}
        for item in found.items or ()
    }
