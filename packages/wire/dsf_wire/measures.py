"""The measures of source type Kubernetes, and how a query names them.

A query is also valid PromQL: ``cpu_available_ratio``; for extended resources
``extended_available{resource="nvidia.com/gpu"}``; several joined by ``;``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from dsf_wire.query import split

Resource = Literal["cpu", "memory", "pods", "extended"]
OfResource = Literal["allocatable", "requested", "available", "available_ratio"]
OfUsage = Literal["used", "used_ratio"]
OfNodes = Literal[
    "nodes",
    "nodes_usable",
    "nodes_ready",
    "nodes_ready_ratio",
    "pods_pending",
    "pods_unschedulable",
]
Figure = OfResource | OfUsage | OfNodes

SOURCE_TYPE: Final = "Kubernetes"
"""The source type whose queries name measures."""
METRICS_API: Final = "metrics.k8s.io"
"""API group of the measures of usage. Clusters without metrics-server do not serve it."""

_SUFFIXES: Final[Mapping[Resource, str]] = {
    "cpu": "_cores",
    "memory": "_bytes",
    "pods": "",
    "extended": "",
}

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
    resource: Resource | None = None
    per_node: bool = False

    @property
    def needs_usage(self) -> bool:
        """Whether the value comes from metrics.k8s.io."""
        return self.figure in get_args(OfUsage)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One expression.

    ``resource``: one of the extended resources, as kube-state-metrics spells it.
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


def _measures() -> Iterator[Measure]:
    for per_node, prefix in ((False, ""), (True, "node_")):
        for resource, suffix in _SUFFIXES.items():
            # metrics.k8s.io reports only cpu and memory.
            used = get_args(OfUsage) if resource in {"cpu", "memory"} else ()
            for figure in (*get_args(OfResource), *used):
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
            ' {resource="..."} may follow'
        )
        raise MeasureError(msg, offset=match.end())
    if match["label"] is None:
        return Selection(measure=measure)
    if match["label"] != "resource" or measure.resource != "extended":
        msg = (
            f"{measure.name} takes no matcher for {match['label']}; extended resources take"
            " resource"
        )
        raise MeasureError(msg, offset=match.start("label"))
    return Selection(measure=measure, resource=spelled(match["value"][1:-1]))


def _start(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line if len(line) <= 40 else f"{line[:40]}…"
