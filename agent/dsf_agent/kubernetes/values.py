"""The values of measures. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dsf_agent.kubernetes.objects import Node, NodeUsage
from dsf_agent.kubernetes.quantity import NANOS
from dsf_agent.kubernetes.requests import HUGE_PAGES
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

    def add(self, allocatable: int, requested: int, used: int | None) -> None:
        """Adds a node. Usage is None if it is not known."""
        self.allocatable += allocatable
        self.requested += requested
        if allocatable > requested:
            self.available += allocatable - requested
        if used is not None:
            self.used += used
            self.measured += allocatable
            self.has_usage = True


def samples(selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]) -> list[Sample]:
    """The samples of one expression: one for the cluster, or one for each node, and for extended resources
    one for each of them. A ratio of nothing has no sample, and neither has a usage that is not known.
    """
    measure = selection.measure
    if measure.resource is None:
        return list(_counts(measure, totals))
    if not measure.per_node:
        found = _of(totals.nodes, selection, totals=totals, usage=usage)
        return list(_samples(found, selection))
    return [
        sample
        for name in sorted(totals.nodes)
        for sample in _samples(
            _of((name,), selection, totals=totals, usage=usage), selection, (("node", name),)
        )
    ]


def _samples(
    found: Mapping[str, _Amounts], selection: Selection, labels: tuple[tuple[str, str], ...] = ()
) -> Iterator[Sample]:
    for resource in sorted(found):
        value = _value(selection.measure.figure, found[resource])
        if value is not None:
            yield Sample((*labels, *_label(selection, resource)), value)


def _of(
    names: Iterable[str], selection: Selection, *, totals: Totals, usage: Mapping[str, NodeUsage]
) -> dict[str, _Amounts]:
    """The amounts of the selected resources, summed over those of these nodes that are usable."""
    found: dict[str, _Amounts] = {}
    nodes = totals.nodes
    for name in names:
        node = nodes[name]
        if not node.usable:
            continue
        requested, measured = totals.requested(name), usage.get(name)
        for resource in _selected(selection, node):
            allocatable = node.allocatable.get(resource)
            if allocatable is None:
                continue
            amounts = found.get(resource)
            if amounts is None:
                amounts = found[resource] = _Amounts()
            amounts.add(allocatable, requested.get(resource, 0), _used(measured, resource))
    return found


def _selected(selection: Selection, node: Node) -> Iterable[str]:
    wanted: Resource | None = selection.measure.resource
    if wanted is not None and wanted != "extended":
        return (wanted,)
    return (
        resource
        for resource in node.allocatable
        if resource not in NATIVE
        and not resource.startswith(HUGE_PAGES)
        and (selection.resource is None or spelled(resource) == selection.resource)
    )


def _used(usage: NodeUsage | None, resource: str) -> int | None:
    if usage is None:
        return None
    return {"cpu": usage.cpu, "memory": usage.memory}.get(resource)


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
