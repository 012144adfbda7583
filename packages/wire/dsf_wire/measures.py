"""The measures of source type Kubernetes, and how a query names them.

A query is a metric name, such as ``cpu_available_ratio``. Extended resources take a matcher, such as
``extended_available{resource="nvidia.com/gpu"}``. Several expressions are joined by ``;``. So every query is
also valid PromQL.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from dsf_wire.query import split

Resource = Literal["cpu", "memory", "pods", "extended"]
Figure = Literal[
    "allocatable",
    "requested",
    "available",
    "available_ratio",
    "used",
    "used_ratio",
    "nodes",
    "nodes_usable",
    "nodes_ready",
    "nodes_ready_ratio",
    "pods_pending",
    "pods_unschedulable",
]

SOURCE_TYPE: Final = "Kubernetes"
"""The source type whose queries name measures."""
METRICS_API: Final = "metrics.k8s.io"
"""API group of the measures of usage. Clusters without metrics-server do not serve it."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure, and what it counts. ``resource`` is None for counts of nodes and pods.

    ``per_node`` means one series for each node, with the label ``node``.
    """

    name: str
    figure: Figure
    meaning: str
    unit: str
    state_metrics: str
    """The nearest PromQL over metrics of kube-state-metrics; empty if there is none."""
    resource: Resource | None = None
    per_node: bool = False

    @property
    def needs_usage(self) -> bool:
        """Whether the value comes from metrics.k8s.io."""
        return self.figure in {"used", "used_ratio"}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One expression of a query. ``resource`` limits the measures of extended resources to one of them, as
    kube-state-metrics spells it.
    """

    measure: Measure
    resource: str | None = None


class MeasureError(ValueError):
    """An expression that is no measure. ``offset`` is the 0-based character where it goes wrong."""

    def __init__(self, message: str, *, offset: int, unknown: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.unknown = unknown
        """The unknown name, if that is the mistake."""


_UNITS: Final[Mapping[Resource, tuple[str, str]]] = MappingProxyType(
    {
        "cpu": ("_cores", "cores"),
        "memory": ("_bytes", "bytes"),
        "pods": ("", "pods"),
        "extended": ("", "units of the resource"),
    }
)
"""The suffix of a measure's name, and the unit in words."""
_WHAT: Final[Mapping[Resource, str]] = MappingProxyType(
    {"cpu": "CPU", "memory": "memory", "pods": "pods", "extended": "each extended resource"}
)
_SUMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "allocatable": 'kube_node_status_allocatable{{resource="{}"}}',
        "requested": 'kube_pod_container_resource_requests{{resource="{}"}}',
    }
)


def _resources() -> Iterator[Measure]:
    for per_node, prefix in ((False, ""), (True, "node_")):
        for resource in _UNITS:
            for figure, meaning in _figures(resource, per_node=per_node):
                suffix, unit = _UNITS[resource]
                ratio = figure.endswith("_ratio")
                yield Measure(
                    name=f"{prefix}{resource}_{figure}{'' if ratio else suffix}",
                    figure=figure,
                    meaning=meaning,
                    unit="ratio" if ratio else unit,
                    state_metrics=_state_metrics(resource, figure, per_node=per_node),
                    resource=resource,
                    per_node=per_node,
                )


def _figures(resource: Resource, *, per_node: bool) -> Iterator[tuple[Figure, str]]:
    what = _WHAT[resource]
    nodes, each = ("the node", "") if per_node else ("usable nodes", ", summed over usable nodes")
    offer = "offers" if per_node else "offer"
    yield "allocatable", f"{what} that {nodes} {offer} (allocatable)"
    if resource == "pods":
        yield "requested", f"pods on {nodes} that are not completed"
    else:
        yield "requested", f"{what} that pods on {nodes} request"
    yield "available", f"{what}: allocatable less requested, at least 0{each}"
    yield "available_ratio", f"{what}: available as a share of allocatable"
    if resource in {"cpu", "memory"}:
        yield "used", f"{what} in use on {nodes}, from {METRICS_API}"
        yield "used_ratio", f"{what}: used as a share of allocatable, from {METRICS_API}"


def _state_metrics(resource: Resource, figure: Figure, *, per_node: bool) -> str:
    if figure not in _SUMS or resource == "extended" or (resource == "pods" and figure == "requested"):
        return ""
    of = _SUMS[figure].format(resource)
    return f"sum by (node) ({of})" if per_node else f"sum({of})"


def _counts() -> Iterator[Measure]:
    ready = 'kube_node_status_condition{condition="Ready",status="true"}'
    yield Measure(
        name="nodes", figure="nodes", meaning="nodes", unit="nodes", state_metrics="count(kube_node_info)"
    )
    yield Measure(
        name="nodes_usable",
        figure="nodes_usable",
        meaning="usable nodes",
        unit="nodes",
        state_metrics="",
    )
    yield Measure(
        name="nodes_ready",
        figure="nodes_ready",
        meaning="nodes whose condition Ready is True",
        unit="nodes",
        state_metrics=f"sum({ready})",
    )
    yield Measure(
        name="nodes_ready_ratio",
        figure="nodes_ready_ratio",
        meaning="ready nodes as a share of all nodes",
        unit="ratio",
        state_metrics=f"avg({ready})",
    )
    yield Measure(
        name="pods_pending",
        figure="pods_pending",
        meaning="pods of phase Pending",
        unit="pods",
        state_metrics='sum(kube_pod_status_phase{phase="Pending"})',
    )
    yield Measure(
        name="pods_unschedulable",
        figure="pods_unschedulable",
        meaning="pods for which the scheduler found no node",
        unit="pods",
        state_metrics="sum(kube_pod_status_unschedulable)",
    )
    yield Measure(
        name="node_ready",
        figure="nodes_ready",
        meaning="1 for a node whose condition Ready is True, else 0",
        unit="0 or 1",
        state_metrics=ready,
        per_node=True,
    )


MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {measure.name: measure for measure in (*_resources(), *_counts())}
)
"""All measures by name."""

_EXPRESSION = re.compile(
    r"""(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)\s*
        (?:\{\s*(?:(?P<label>[a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*(?P<value>"[^"\\]*"|'[^'\\]*')\s*,?\s*)?\})?""",
    re.VERBOSE,
)


@lru_cache(maxsize=256)
def spelled(resource: str) -> str:
    """The resource as kube-state-metrics spells it: ``nvidia.com/gpu`` is ``nvidia_com_gpu``."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def select(query: str) -> tuple[Selection, ...]:
    """The expressions of a joined query in order. Raises MeasureError; its offset is in the query."""
    found = []
    for part in split(query):
        try:
            found.append(selection(part.text))
        except MeasureError as error:
            raise MeasureError(
                str(error), offset=part.offset + error.offset, unknown=error.unknown
            ) from error
    return tuple(found)


def selection(text: str) -> Selection:
    """One expression without white space around it. Raises MeasureError."""
    match = _EXPRESSION.match(text)
    if match is None:
        msg = "this is not the name of a measure"
        raise MeasureError(msg, offset=0)
    measure = MEASURES.get(match["name"])
    if measure is None:
        msg = f"there is no measure {match['name']}"
        raise MeasureError(msg, offset=0, unknown=match["name"])
    if match.end() < len(text):
        msg = (
            f'{measure.name} is followed by {_start(text[match.end() :])}; only {{resource="..."}} may follow'
        )
        raise MeasureError(msg, offset=match.end())
    if match["label"] is None:
        return Selection(measure=measure)
    if match["label"] != "resource" or measure.resource != "extended":
        msg = f"{measure.name} takes no matcher for {match['label']}; extended resources take resource"
        raise MeasureError(msg, offset=match.start("label"))
    return Selection(measure=measure, resource=spelled(match["value"][1:-1]))


def _start(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= 40 else f"{line[:40]}…"
