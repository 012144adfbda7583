"""Raw scores of clusters that were read from a metric store, by the scorer that they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LabelValues = tuple[str, ...]
"""Labels of a result, in the order of dsf_wire.dimension.LABELS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawResult:
    """One result of a scorer's last cycle."""

    labels: LabelValues
    low: float
    high: float
    """More than `low` if several series of the store say different numbers of the same result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterResults:
    """All results of one scorer on one cluster."""

    results: tuple[RawResult, ...]
    measured: float
    """The time when the oldest of them was measured, in Unix seconds."""


ByCluster = Mapping[str, ClusterResults]


@dataclass(frozen=True, kw_only=True)
class RawScores:
    """Raw scores, by name of the AddOnPlacementScore after a change, then by cluster."""

    exported: Mapping[str, ByCluster] = field(default_factory=dict)
    """The raw scores that the agents exported. They belong to the scorer before the change."""
    reevaluated: Mapping[str, ByCluster] = field(default_factory=dict)
    """The raw scores of a changed query, which the store evaluated as it is after the change."""


NO_RAW_SCORES = RawScores()
