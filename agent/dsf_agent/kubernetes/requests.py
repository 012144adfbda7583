"""The resources that a pod requests, by the rules of Kubernetes' scheduler. Pure.

They are those of k8s.io/component-helpers/resource, function PodRequests, with the options that the
scheduler sets (pkg/scheduler/framework/types.go, calculateResource):

- containers run together; init containers run one after another and before them;
- a sidecar is an init container that keeps running;
- pod-level resources replace the sums, and overhead is added;
- a resize in place counts with the larger of old and new.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from dsf_agent.kubernetes.quantity import nanos

Requests = dict[str, int]
"""Billionths by resource name."""

POD_LEVEL: Final = frozenset({"cpu", "memory"})
"""Resources that a pod can request as a whole, besides those that begin with HUGE_PAGES."""
HUGE_PAGES: Final = "hugepages-"


class ContainerResources(msgspec.Struct, gc=False):
    """Quantities as they are written."""

    requests: dict[str, str] | None = None


class Container(msgspec.Struct, gc=False, rename="camel"):
    """A container of a pod, with what it requests."""

    name: str = ""
    restart_policy: str = ""
    resources: ContainerResources | None = None


class ContainerStatus(msgspec.Struct, gc=False, rename="camel"):
    """``resources`` is what the kubelet applied, ``allocated_resources`` what the node admitted."""

    name: str = ""
    resources: ContainerResources | None = None
    allocated_resources: dict[str, str] | None = None


class ObjectCondition(msgspec.Struct, gc=False):
    """A condition of a node or a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""


class PodSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of a pod's spec that its requests depend on."""

    node_name: str = ""
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: dict[str, str] | None = None
    resources: ContainerResources | None = None


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    """The fields of a pod's status that its requests depend on."""

    phase: str = ""
    conditions: list[ObjectCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: ContainerResources | None = None
    allocated_resources: dict[str, str] | None = None


def effective(spec: PodSpec, status: PodStatus) -> Requests:
    """The requests of a pod in billionths. Raises ValueError for a text that is not a quantity."""
    infeasible = any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in status.conditions or ()
    )
    statuses: dict[str, ContainerStatus] = {}
    for reported in (status.container_statuses, status.init_container_statuses):
        for container_status in reported or ():
            statuses[container_status.name] = container_status
    total: Requests = {}
    for container in spec.containers or ():
        _add(total, _of_container(container, statuses, infeasible=infeasible))
    sidecars: Requests = {}
    largest_init: Requests = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            requested = _of_container(container, statuses, infeasible=infeasible)
            _add(total, requested)
            _add(sidecars, requested)
        else:
            # The sidecars that were started before this init container run beside it.
            during = _read(container.resources)
            _add(during, sidecars)
            _raise(largest_init, during)
    # They have ended before the others begin, so only the largest of them counts.
    _raise(total, largest_init)
    total.update(_pod_level(spec, status, infeasible=infeasible))
    # Overhead is what the runtime itself needs, so it comes on top of pod-level resources, too.
    _add(total, _quantities(spec.overhead))
    return total


def _of_container(
    container: Container, statuses: Mapping[str, ContainerStatus], *, infeasible: bool
) -> Requests:
    wanted = _read(container.resources)
    return _largest(wanted, statuses.get(container.name), infeasible=infeasible)


def _pod_level(spec: PodSpec, status: PodStatus, *, infeasible: bool) -> Requests:
    """The resources that the pod requests as a whole. They replace the sums over its containers."""
    names = [name for name in _read(spec.resources) if _is_pod_level(name)]
    largest = _largest(_read(spec.resources), status, infeasible=infeasible)
    return {name: largest.get(name, 0) for name in names}


def _is_pod_level(name: str) -> bool:
    return name in POD_LEVEL or name.startswith(HUGE_PAGES)


def _largest(
    wanted: Requests, status: ContainerStatus | PodStatus | None, *, infeasible: bool
) -> Requests:
    """The largest amount of each resource that is wanted, applied or admitted.

    A resize that the node can never admit does not count.
    """
    if status is None or status.resources is None:
        return wanted
    largest = {} if infeasible else wanted
    _raise(largest, _read(status.resources))
    _raise(largest, _quantities(status.allocated_resources))
    return largest


def _read(resources: ContainerResources | None) -> Requests:
    return _quantities(resources.requests) if resources is not None else {}


def _quantities(written: Mapping[str, str] | None) -> Requests:
    return {name: nanos(text) for name, text in written.items()} if written else {}


def _add(total: Requests, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Requests, other: Mapping[str, int]) -> None:
    for name, amount in other.items():
        # Also an amount of 0 gets an entry, as in `_add`.
        if amount > total.get(name, -1):
            total[name] = amount
