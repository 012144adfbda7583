"""The values of measures. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dsf_agent.kubernetes.objects import Node, NodeUsage
from dsf_agent.kubernetes.quantity import NANOS
from dsf_agent.kubernetes.totals import Totals
from dsf_wire.measures import Figure, Measure, Resource, Selection, spelled

NATIVE: Final = frozenset({"cpu", "memory", "pods", "ephemeral-storage", "storage"})
"""Resources of Kubernetes itself, besides huge pages. All others are extended resources."""


@dataclass(frozen=True, slots=True)
class Sample:
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
    """What is allocatable on nodes whose usage is known."""
    has_usage: bool = False

    def add(self, other: "_Amounts") -> None:
        self.allocatable += other.allocatable
        self.requested += other.requested
        self.available += other.available
        self.used += other.used
        self.measured += other.measured
        self.has_usage = self.has_usage or other.has_usage


def samples(selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]) -> list[Sample]:
    """The samples of one expression: one for the cluster, or one for each node, and for extended resources
    one for each of them. A ratio of nothing has no sample, and neither has a usage that is not known.
    """
    measure = selection.measure
    if measure.resource is None:
        return list(_counts(measure, totals))
    found = _per_node if measure.per_node else _of_cluster
    return [
        Sample(labels, value)
        for labels, amounts in found(selection, totals=totals, usage=usage)
        if (value := _value(measure.figure, amounts)) is not None
    ]


_Labelled = Iterator[tuple[tuple[tuple[str, str], ...], _Amounts]]


def _per_node(selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]) -> _Labelled:
    for name in sorted(totals.nodes):
        node = totals.nodes[name]
        if node.usable:
            for resource, amounts in _of_node(name, node, selection, totals=totals, usage=usage).items():
                yield (("node", name), *_label(selection, resource)), amounts


def _of_cluster(selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]) -> _Labelled:
    sums: dict[str, _Amounts] = {}
    for name, node in totals.nodes.items():
        if node.usable:
            for resource, amounts in _of_node(name, node, selection, totals=totals, usage=usage).items():
                sums.setdefault(resource, _Amounts()).add(amounts)
    for resource in sorted(sums):
        yield _label(selection, resource), sums[resource]


def _of_node(
    name: str, node: Node, selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]
) -> dict[str, _Amounts]:
    """The amounts of the selected resources that this node has."""
    requested, measured = totals.requested(name), usage.get(name)
    found = {}
    for resource, allocatable in node.allocatable:
        if _selected(selection, resource):
            wanted = requested.get(resource, 0)
            found[resource] = amounts = _Amounts(
                allocatable=allocatable, requested=wanted, available=max(0, allocatable - wanted)
            )
            if measured is not None and resource in {"cpu", "memory"}:
                amounts.used = measured.cpu if resource == "cpu" else measured.memory
                amounts.measured, amounts.has_usage = allocatable, True
    return found


def _selected(selection: Selection, resource: str) -> bool:
    wanted: Resource | None = selection.measure.resource
    if wanted != "extended":
        return resource == wanted
    if resource in NATIVE or resource.startswith("hugepages-"):
        return False
    return selection.resource is None or spelled(resource) == selection.resource


def _label(selection: Selection, resource: str) -> tuple[tuple[str, str], ...]:
    return (("resource", spelled(resource)),) if selection.measure.resource == "extended" else ()


def _value(figure: Figure, amounts: _Amounts) -> float | None:
    match figure:
        case "allocatable":
            return amounts.allocatable / NANOS
        case "requested":
            return amounts.requested / NANOS
        case "available":
            return amounts.available / NANOS
        case "available_ratio":
            return amounts.available / amounts.allocatable if amounts.allocatable else None
        case "used":
            return amounts.used / NANOS if amounts.has_usage else None
        case "used_ratio":
            return amounts.used / amounts.measured if amounts.measured else None
        case _:
            msg = f"{figure} is no figure of a resource"
            raise ValueError(msg)


def _counts(measure: Measure, totals: Totals) -> Iterator[Sample]:
    nodes = totals.nodes
    if measure.per_node:
        for name in sorted(nodes):
            yield Sample((("node", name),), float(nodes[name].ready))
        return
    ready = sum(node.ready for node in nodes.values())
    match measure.figure:
        case "nodes":
            yield Sample((), float(len(nodes)))
        case "nodes_usable":
            yield Sample((), float(sum(node.usable for node in nodes.values())))
        case "nodes_ready":
            yield Sample((), float(ready))
        case "nodes_ready_ratio":
            if nodes:
                yield Sample((), ready / len(nodes))
        case "pods_pending":
            yield Sample((), float(totals.pending))
        case "pods_unschedulable":
            yield Sample((), float(totals.unschedulable))
        case other:
            msg = f"{other} is no count of nodes and pods"
            raise ValueError(msg)
