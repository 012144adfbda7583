"""The values of measures: sums over nodes, pods and devices that follow each change. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dsf_agent.kubernetes.devices import ANY_NODE, CountsByNode, DeviceCounts
from dsf_agent.kubernetes.objects import Node, NodeUsage, Pod
from dsf_agent.kubernetes.quantity import NANOS
from dsf_agent.kubernetes.requests import HUGE_PAGES
from dsf_wire.measures import Figure, MeasuredResource, Selection, spelled

NATIVE: Final = frozenset({"cpu", "memory", "pods", "ephemeral-storage", "storage"})
"""Resources of Kubernetes itself, besides huge pages. All others are extended resources."""


class Totals:
    """The total requests of the pods of each node, and the number of pods that wait."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pending = 0
        self.unschedulable = 0
        self._requested: dict[str, dict[str, int]] = {}
        """Billionths by node (also if it is not known yet) and resource.

        A node without pods has no entry.
        """

    def requested(self, node: str) -> Mapping[str, int]:
        """Billionths by resource that the pods of a node request."""
        return self._requested.get(node, {})

    def node_changed(self, name: str, _before: Node | None, after: Node | None) -> None:
        """Takes a node that was added, changed or deleted."""
        if after is None:
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = after

    def pod_changed(self, _key: str, before: Pod | None, after: Pod | None) -> None:
        """Takes a pod that was added, changed or deleted."""
        for pod, sign in ((before, -1), (after, 1)):
            if pod is not None:
                self._add(pod, sign)

    def _add(self, pod: Pod, sign: int) -> None:
        self.pending += sign * pod.pending
        self.unschedulable += sign * pod.unschedulable
        if not pod.node:
            return
        requested = self._requested.setdefault(pod.node, {})
        for name, amount in pod.requests:
            requested[name] = requested.get(name, 0) + sign * amount
        # Every pod requests one of the resource "pods", so this is the number of pods.
        if not requested.get("pods"):
            del self._requested[pod.node]


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """One value with its labels, besides the name of the measure."""

    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(slots=True)
class _Amounts:
    """Billionths of one resource, of a node or of all usable nodes."""

    allocatable: int = 0
    requested: int = 0
    available: int = 0
    used: int = 0
    measured: int = 0
    """The allocatable amount on nodes whose usage is known."""
    has_usage: bool = False

    def add(self, allocatable: int, requested: int, used: int | None) -> None:
        """Adds a node. Usage is None if it is not known."""
        self.allocatable += allocatable
        self.requested += requested
        # Requests can exceed what a node offers, for instance after it lost a device. What is
        # missing there takes nothing from the other nodes.
        if allocatable > requested:
            self.available += allocatable - requested
        if used is not None:
            self.used += used
            self.measured += allocatable
            self.has_usage = True


_FIGURES: Final[Mapping[Figure, Callable[[_Amounts], float | None]]] = {
    "allocatable": lambda amounts: amounts.allocatable / NANOS,
    "requested": lambda amounts: amounts.requested / NANOS,
    "available": lambda amounts: amounts.available / NANOS,
    "available_ratio": lambda amounts: (
        amounts.available / amounts.allocatable if amounts.allocatable else None
    ),
    "used": lambda amounts: amounts.used / NANOS if amounts.has_usage else None,
    "used_ratio": lambda amounts: amounts.used / amounts.measured if amounts.measured else None,
}
_OF_DEVICES: Final[Mapping[Figure, Callable[[DeviceCounts], float | None]]] = {
    "allocatable": lambda devices: devices.allocatable,
    "allocated": lambda devices: devices.allocated,
    "available": lambda devices: devices.available,
    "available_ratio": lambda devices: (
        devices.available / devices.allocatable if devices.allocatable else None
    ),
}
_COUNTS: Final[Mapping[Figure, Callable[[Totals], float | None]]] = {
    "nodes": lambda totals: len(totals.nodes),
    "nodes_usable": lambda totals: sum(node.usable for node in totals.nodes.values()),
    "nodes_ready": lambda totals: sum(node.ready for node in totals.nodes.values()),
    "nodes_ready_ratio": lambda totals: (
        sum(node.ready for node in totals.nodes.values()) / len(totals.nodes)
        if totals.nodes
        else None
    ),
    "pods_pending": lambda totals: totals.pending,
    "pods_unschedulable": lambda totals: totals.unschedulable,
}


def samples(
    selection: Selection,
    *,
    totals: Totals,
    usage: Mapping[str, NodeUsage],
    devices: Mapping[str, CountsByNode],
) -> list[MeasuredValue]:
    """One sample, or one for each node and extended resource, or driver of devices.

    There is none for a ratio of nothing, nor while the usage is not known. ``devices`` are by
    driver.
    """
    measure = selection.measure
    if measure.needs_devices:
        return _of_devices(selection, nodes=totals.nodes, devices=devices)
    nodes = sorted(totals.nodes)
    if measure.resource is None:
        if measure.per_node:
            ready: list[MeasuredValue] = []
            for name in nodes:
                ready.append(MeasuredValue((("node", name),), float(totals.nodes[name].ready)))
            return ready
        count = _COUNTS[measure.figure](totals)
        return [] if count is None else [MeasuredValue((), float(count))]
    groups: list[tuple[tuple[tuple[str, str], ...], Iterable[str]]] = [((), nodes)]
    if measure.per_node:
        groups = [((("node", name),), (name,)) for name in nodes]
    measured: list[MeasuredValue] = []
    for labels, names in groups:
        summed = _sums(names, selection, totals=totals, usage=usage)
        for resource, amounts in sorted(summed.items()):
            value = _FIGURES[measure.figure](amounts)
            if value is not None:
                measured.append(MeasuredValue((*labels, *_label(selection, resource)), value))
    return measured


def _of_devices(
    selection: Selection, *, nodes: Mapping[str, Node], devices: Mapping[str, CountsByNode]
) -> list[MeasuredValue]:
    measure = selection.measure
    usable = {name for name, node in nodes.items() if node.usable}
    # A device that several nodes reach is there as long as one of them is.
    reachable = {*usable, ANY_NODE} if usable else usable
    value_of = _OF_DEVICES[measure.figure]
    measured: list[MeasuredValue] = []
    for driver, by_node in sorted(devices.items()):
        if selection.only not in {None, driver}:
            continue
        label = (measure.label, driver)
        if measure.per_node:
            for name in sorted(usable & by_node.keys()):
                value = value_of(by_node[name])
                if value is not None:
                    measured.append(MeasuredValue((("node", name), label), float(value)))
            continue
        counted = [by_node[name] for name in reachable & by_node.keys()]
        summed = DeviceCounts()
        for counts in counted:
            summed.add(counts)
        value = value_of(summed)
        if counted and value is not None:
            measured.append(MeasuredValue((label,), float(value)))
    return measured


def _sums(
    names: Iterable[str], selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]
) -> dict[str, _Amounts]:
    """The amounts of the selected resources, summed over those of these nodes that are usable."""
    sums: dict[str, _Amounts] = {}
    nodes = totals.nodes
    for name in names:
        node = nodes[name]
        # A node that cannot run new pods offers nothing, whatever is free there.
        if not node.usable:
            continue
        requested = totals.requested(name)
        used = usage.get(name, {})
        for resource in _selected(selection, node):
            allocatable = node.allocatable.get(resource)
            if allocatable is None:
                continue
            amounts = sums.get(resource)
            if amounts is None:
                amounts = sums[resource] = _Amounts()
            amounts.add(allocatable, requested.get(resource, 0), used.get(resource))
    return sums


def _selected(selection: Selection, node: Node) -> Iterable[str]:
    wanted: MeasuredResource | None = selection.measure.resource
    if wanted is not None and wanted != "extended":
        return (wanted,)
    return (
        resource
        for resource in node.allocatable
        if resource not in NATIVE
        and not resource.startswith(HUGE_PAGES)
        and (selection.only is None or spelled(resource) == selection.only)
    )


def _label(selection: Selection, resource: str) -> tuple[tuple[str, str], ...]:
    label = selection.measure.label
    return ((label, spelled(resource)),) if label else ()
