"""The fields that are kept of nodes, pods and usage. All others are skipped by the decoder.

A cluster may have 5,000 nodes and 150,000 pods, so equal texts and amounts are kept once.
"""

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from dsf_agent.kubernetes.quantity import nanos
from dsf_agent.kubernetes.requests import ObjectCondition, PodSpec, PodStatus, effective

Amounts = tuple[tuple[str, int], ...]
"""Resource names and billionths, sorted by name. Equal ones are one object in memory."""
NodeUsage = Mapping[str, int]
"""The usage of a node in metrics.k8s.io: billionths by resource."""

CONTROL_PLANE: Final = frozenset(
    {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
"""Taints of nodes that ordinary workloads do not run on."""
PREVENTING: Final = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods off a node, or claims off a device. PreferNoSchedule does not.
"""
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


class NodeMetricsList(msgspec.Struct):
    """An answer of metrics.k8s.io."""

    items: "list[_NodeMetrics] | None" = None


class OwnMetadata(msgspec.Struct, gc=False):
    """The name of an object, as it is sent."""

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
    conditions: list[ObjectCondition] | None = None


class _NodeAsSent(msgspec.Struct, gc=False):
    metadata: OwnMetadata
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _PodAsSent(msgspec.Struct, gc=False):
    metadata: OwnMetadata
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class _NodeMetrics(msgspec.Struct):
    metadata: OwnMetadata
    usage: dict[str, str] = {}


_NODE: Final = msgspec.json.Decoder(_NodeAsSent)
_POD: Final = msgspec.json.Decoder(_PodAsSent)
_COMPLETED_POD: Final = Pod(node="", requests=(), pending=False, unschedulable=False)


def node(raw: msgspec.Raw) -> tuple[str, Node]:
    """Name and node. Raises ValueError or a msgspec error for an object that is not a node."""
    sent = _NODE.decode(raw)
    allocatable: dict[str, int] = {}
    for name, text in (sent.status.allocatable or {}).items():
        allocatable[sys.intern(name)] = nanos(text)
    ready = _has(sent.status.conditions, kind="Ready", status="True")
    tainted = any(
        taint.key in CONTROL_PLANE and taint.effect in PREVENTING
        for taint in sent.spec.taints or ()
    )
    usable = ready and not sent.spec.unschedulable and not tainted
    kept = Node(allocatable=allocatable, ready=ready, usable=usable)
    return sys.intern(sent.metadata.name), kept


def pod(raw: msgspec.Raw) -> tuple[str, Pod]:
    """Key and pod. Raises ValueError or a msgspec error for an object that is not a pod.

    A pod that completed requests nothing on no node.
    """
    sent = _POD.decode(raw)
    key = object_key(sent.metadata.namespace, sent.metadata.name)
    # The list leaves them out, but a pod that completes is an event of the watch.
    if sent.status.phase in COMPLETED:
        return key, _COMPLETED_POD
    requests = effective(sent.spec, sent.status)
    # Nodes offer a number of pods, like any other resource.
    requests["pods"] = nanos("1")
    unschedulable = _has(
        sent.status.conditions, kind="PodScheduled", status="False", reason="Unschedulable"
    )
    kept = Pod(
        # The pods of one node share its name, of which each arrives in a text of its own.
        node=sys.intern(sent.spec.node_name),
        requests=amounts(requests),
        pending=sent.status.phase == "Pending",
        unschedulable=unschedulable,
    )
    return key, kept


def object_key(namespace: str, name: str) -> str:
    """The key of an object in a namespace."""
    return f"{namespace}/{name}"


def usage(metrics: NodeMetricsList) -> dict[str, NodeUsage]:
    """The usage by node. Raises ValueError for a text that is not a quantity."""
    return {node.metadata.name: _amounts_of(node.usage) for node in metrics.items or ()}


def amounts(requests: Mapping[str, int]) -> Amounts:
    """The sorted amounts. Pods of one Deployment share them."""
    return _shared(tuple(sorted((sys.intern(name), amount) for name, amount in requests.items())))


@lru_cache(maxsize=8192)
def _shared(sorted_amounts: Amounts) -> Amounts:
    """The first of equal amounts that was seen."""
    return sorted_amounts


def _amounts_of(texts: Mapping[str, str]) -> NodeUsage:
    return {name: nanos(text) for name, text in texts.items()}


def _has(
    conditions: list[ObjectCondition] | None, *, kind: str, status: str, reason: str | None = None
) -> bool:
    return any(
        condition.type == kind
        and condition.status == status
        and (reason is None or condition.reason == reason)
        for condition in conditions or ()
    )
