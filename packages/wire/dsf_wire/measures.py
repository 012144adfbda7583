"""The measures of source type Kubernetes, and their names in a query.

A query is also valid PromQL: ``cpu_available_ratio``; for extended resources
``extended_available{resource="nvidia.com/gpu"}``; for devices of a driver
``devices_available{driver="gpu.nvidia.com"}``; several joined by ``;``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from dsf_wire.query import split

MeasuredResource = Literal["cpu", "memory", "pods", "extended", "devices"]
OfResource = Literal["allocatable", "requested", "available", "available_ratio"]
OfUsage = Literal["used", "used_ratio"]
OfDevices = Literal["allocatable", "allocated", "available", "available_ratio"]
OfNodes = Literal[
    "nodes",
    "nodes_usable",
    "nodes_ready",
    "nodes_ready_ratio",
    "pods_pending",
    "pods_unschedulable",
]
Figure = OfResource | OfUsage | OfDevices | OfNodes

SOURCE_TYPE: Final = "Kubernetes"
"""The source type whose queries name measures."""
METRICS_API: Final = "metrics.k8s.io"
"""API group of the measures of usage. Clusters without metrics-server do not serve it."""
DEVICES_API: Final = "resource.k8s.io"
"""API group of the measures of devices. Clusters serve its version v1 since Kubernetes 1.34."""

_SUFFIXES: Final[Mapping[MeasuredResource, str]] = {
    "cpu": "_cores",
    "memory": "_bytes",
    "pods": "",
    "extended": "",
    "devices": "",
}
_LABELS: Final[Mapping[MeasuredResource, str]] = {"extended": "resource", "devices": "driver"}
"""The label that distinguishes the series of a measure, besides the node."""

_EXPRESSION = re.compile(
    r"""(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)\s*
        (?:\{\s*(?:(?P<label>[a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*(?P<value>"[^"\\]*"|'[^'\\]*')\s*,?\s*)?\})?""",
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure (docs/scores/sources.md); ``resource`` is None for counts.

    ``per_node``: by ``node``.
    """

    name: str
    figure: Figure
    resource: MeasuredResource | None = None
    per_node: bool = False

    @property
    def needs_usage(self) -> bool:
        """Whether the value comes from metrics.k8s.io."""
        return self.figure in get_args(OfUsage)

    @property
    def needs_devices(self) -> bool:
        """Whether the value comes from resource.k8s.io."""
        return self.resource == "devices"

    @property
    def label(self) -> str:
        """The label that a matcher can select by; empty if there is none."""
        return "" if self.resource is None else _LABELS.get(self.resource, "")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One expression.

    ``only``: the one value of the measure's label that is selected. Extended resources are written
    as kube-state-metrics spells them.
    """

    measure: Measure
    only: str | None = None

    @property
    def has_several(self) -> bool:
        """Whether there can be several series for a node, or for the cluster."""
        return bool(self.measure.label) and self.only is None


class MeasureError(ValueError):
    """An expression that is not a measure. ``offset`` is 0-based, and shows where it goes wrong."""

    def __init__(self, message: str, *, offset: int, unknown: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.unknown = unknown
        """The unknown name, if that is the mistake."""


def _measures() -> Iterator[Measure]:
    for per_node, prefix in ((False, ""), (True, "node_")):
        for resource, suffix in _SUFFIXES.items():
            # metrics.k8s.io (metrics-server) reports only cpu and memory.
            used = get_args(OfUsage) if resource in {"cpu", "memory"} else ()
            of_resource = get_args(OfDevices if resource == "devices" else OfResource)
            for figure in (*of_resource, *used):
                name = f"{prefix}{resource}_{figure}{'' if figure.endswith('_ratio') else suffix}"
                yield Measure(name=name, figure=figure, resource=resource, per_node=per_node)
    for figure in get_args(OfNodes):
        yield Measure(name=figure, figure=figure)
    yield Measure(name="node_ready", figure="nodes_ready", per_node=True)


MEASURES: Final[Mapping[str, Measure]] = {measure.name: measure for measure in _measures()}
"""All measures by name."""


# Measuring asks this for every node and pod, of few different resources.
@lru_cache(maxsize=256)
def spelled(resource: str) -> str:
    """The resource as kube-state-metrics spells it: ``nvidia.com/gpu`` is ``nvidia_com_gpu``."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def select(query: str) -> tuple[Selection, ...]:
    """The expressions of a joined query in order.

    Raises MeasureError; its offset is in the query.
    """
    selections = []
    for part in split(query):
        try:
            selections.append(selection(part.text))
        except MeasureError as error:
            raise MeasureError(
                str(error), offset=part.offset + error.offset, unknown=error.unknown
            ) from error
    return tuple(selections)


def selection(text: str) -> Selection:
    """One expression without white space around it. Raises MeasureError."""
    match = _EXPRESSION.match(text)
    if match is None:
        raise MeasureError("this is not the name of a measure", offset=0)
    measure = MEASURES.get(match["name"])
    if measure is None:
        raise MeasureError(f"there is no measure {match['name']}", offset=0, unknown=match["name"])
    if match.end() < len(text):
        msg = (
            f"{measure.name} is followed by {_start(text[match.end() :])}; only"
            ' {resource="..."} or {driver="..."} may follow'
        )
        raise MeasureError(msg, offset=match.end())
    if match["label"] is None:
        return Selection(measure=measure)
    if match["label"] != measure.label:
        msg = (
            f"{measure.name} takes no matcher for {match['label']}; extended resources take"
            " resource, and devices take driver"
        )
        raise MeasureError(msg, offset=match.start("label"))
    value = match["value"][1:-1]
    # kube-state-metrics spells extended resources as metric names; a driver is a plain value.
    return Selection(measure=measure, only=value if measure.needs_devices else spelled(value))


def _start(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= 40 else f"{line[:40]}…"
