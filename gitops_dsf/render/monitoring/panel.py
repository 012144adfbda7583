"""What a panel of the dashboard is, before it becomes Grafana's JSON."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Thresholds = tuple[tuple[int | None, str], ...]
"""(from this value on, colour); the first from no value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One panel. Queries are (PromQL, legend); the unit is one of Grafana's (short, s, ops)."""

    title: str
    kind: str
    queries: tuple[tuple[str, str], ...]
    width: int
    description: str
    unit: str = "short"
    stacked: bool = False
    thresholds: Thresholds = ()
    mappings: list[Json] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Panels side by side under one heading."""

    title: str
    height: int
    panels: tuple[Panel, ...]
