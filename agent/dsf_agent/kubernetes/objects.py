"""What is kept of nodes and pods. Everything else is skipped while an object is decoded.

How much a pod requests follows k8s.io/component-helpers/resource, function PodRequests, with the options that
the scheduler sets (pkg/scheduler/framework/types.go, calculateResource): containers run together; init
containers run one after another and before them; a sidecar is an init container that keeps running; pod-level
resources replace the sums; overhead is added; a resize in place counts with the larger of old and new.
"""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

NANOS: Final = 10**9
"""Billionths of one unit."""

_TEXT: Final = re.compile(
    r"([+-]?)(?=[0-9.])([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]?)|([KMGTPE])i|[eE]([+-]?[0-9]{1,3}))\Z",
    re.ASCII,
)
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {name: 2 ** (10 * power) for power, name in enumerate("KMGTPE", start=1)}
_MOST_DIGITS: Final = 100
MOST: Final = (2**63 - 1) * NANOS
"""The largest amount, to which the API limits binary ones. It accepts ``1e999``, which no float holds."""
POD_LEVEL: Final = frozenset({"cpu", "memory"})
"""Resources that a pod can request as a whole, besides those that begin with HUGE_PAGES."""
HUGE_PAGES: Final = "hugepages-"


@lru_cache(maxsize=4096)
def nanos(text: str) -> int:
    """Billionths, at most MOST, rounded away from zero, as the API does. Raises ValueError."""
    match = _TEXT.match(text)
    if match is None or len(text) > _MOST_DIGITS:
        raise ValueError(f"{text[:_MOST_DIGITS]!r} is not a quantity")
    sign, whole, rest, decimal, binary, exponent = match.groups()
    fraction = rest or ""
    digits = int(whole + fraction or "0") * NANOS * (_BINARY[binary] if binary else 1)
    power = (int(exponent) if exponent else _DECIMAL[decimal or ""]) - len(fraction)
    shift: int = 10 ** abs(power)
    amount = min(digits * shift if power >= 0 else -(-digits // shift), MOST)
    return -amount if sign == "-" else amount


Requests = dict[str, int]
"""Billionths by resource name."""


class Resources(msgspec.Struct, gc=False):
    """Quantities as they are written."""

    requests: dict[str, str] | None = None


class Container(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    restart_policy: str = ""
    resources: Resources | None = None


class ContainerStatus(msgspec.Struct, gc=False, rename="camel"):
    """``resources`` is what the kubelet applied, ``allocated_resources`` what the node admitted."""

    name: str = ""
    resources: Resources | None = None
    allocated_resources: dict[str, str] | None = None


class Condition(msgspec.Struct, gc=False):
    """A condition of a node or a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""


class PodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: dict[str, str] | None = None
    resources: Resources | None = None


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: Resources | None = None
    allocated_resources: dict[str, str] | None = None


def effective(spec: PodSpec, status: PodStatus) -> Requests:
    """The requests of a pod in billionths. Raises ValueError for a quantity that is none."""
    infeasible = any(
        one.type == "PodResizePending" and one.reason == "Infeasible"
        for one in status.conditions or ()
    )
    statuses = {
        one.name: one
        for one in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    }
    total: Requests = {}
    for container in spec.containers or ():
        _add(
            total,
            _largest(
                _read(container.resources), statuses.get(container.name), infeasible=infeasible
            ),
        )
    sidecars: Requests = {}
    most: Requests = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            found = _largest(
                _read(container.resources), statuses.get(container.name), infeasible=infeasible
            )
            _add(total, found)
            _add(sidecars, found)
        else:
            during = _read(container.resources)
            _add(during, sidecars)
            _raise(most, during)
    _raise(total, most)
    total.update(_pod_level(spec, status, infeasible=infeasible))
    _add(total, _quantities(spec.overhead))
    return total


def _pod_level(spec: PodSpec, status: PodStatus, *, infeasible: bool) -> Requests:
    """The resources that the pod requests as a whole. They replace the sums over its containers."""
    wanted = [
        name for name in _read(spec.resources) if name in POD_LEVEL or name.startswith(HUGE_PAGES)
    ]
    found = _largest(_read(spec.resources), status, infeasible=infeasible)
    return {name: found.get(name, 0) for name in wanted}


def _largest(
    wanted: Requests, status: ContainerStatus | PodStatus | None, *, infeasible: bool
) -> Requests:
    """The largest of wanted, applied and admitted amounts, without a resize that can never be admitted."""
    if status is None or status.resources is None:
        return wanted
    found = {} if infeasible else wanted
    _raise(found, _read(status.resources))
    _raise(found, _quantities(status.allocated_resources))
    return found


def _read(resources: Resources | None) -> Requests:
    return _quantities(resources.requests) if resources is not None else {}


def _quantities(written: Mapping[str, str] | None) -> Requests:
    return {name: nanos(text) for name, text in written.items()} if written else {}


def _add(total: Requests, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Requests, other: Mapping[str, int]) -> None:
    for name, amount in other.items():
        if amount > total.get(name, -1):
            total[name] = amount


Amounts = tuple[tuple[str, int], ...]
"""Resource names and billionths, sorted by name. Equal ones are one object in memory."""

CONTROL_PLANE: Final = frozenset(
    {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
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
    conditions: list[Condition] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)


_NODE: Final = msgspec.json.Decoder(_Node)
_POD: Final = msgspec.json.Decoder(_Pod)


def node(raw: msgspec.Raw) -> tuple[str, Node]:
    """Name and node. Raises ValueError or a msgspec error for an object that is no node."""
    found = _NODE.decode(raw)
    ready = any(
        one.type == "Ready" and one.status == "True" for one in found.status.conditions or ()
    )
    tainted = any(
        taint.key in CONTROL_PLANE and taint.effect in {"NoSchedule", "NoExecute"}
        for taint in found.spec.taints or ()
    )
    return sys.intern(found.metadata.name), Node(
        allocatable={
            sys.intern(name): nanos(text) for name, text in (found.status.allocatable or {}).items()
        },
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
        requests=amounts({**effective(found.spec, found.status), "pods": nanos("1")}),
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
    return _shared(tuple(sorted((sys.intern(name), amount) for name, amount in found.items())))


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
