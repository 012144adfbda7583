"""The score each prioritizer gives each cluster (pkg/placement/plugins/{balance,steady,resource,addon})."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import BuiltIn
from gitops_dsf.hub.selectors import label_value_error
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status
from gitops_dsf.simulator.weights import Prioritizer

MAX_SCORE = 100
PLACEMENT_LABEL_PATH = f"values[0][{PLACEMENT_LABEL}]"


@dataclass(frozen=True)
class PrioritizerResult:
    """The scores of one prioritizer, aligned with the clusters that passed the filters."""

    prioritizer: Prioritizer
    values: Sequence[int | None] = field(repr=False)
    """None means no entry, which adds 0 to the sum."""
    status: Status = SUCCESS

    @property
    def name(self) -> str:
        return self.prioritizer.name

    @property
    def weight(self) -> int:
        return self.prioritizer.weight


def go_int64(value: float) -> int:
    """Go's int64(float64): truncates; out of range it gives the smallest int64, as on amd64."""
    if math.isfinite(value) and -(2.0**63) <= value < 2.0**63:
        return int(value)
    return -(2**63)


def selector_error(placement: Placement) -> str | None:
    """Why the controller cannot select this Placement's own decisions: its name is not a label value (> 63
    bytes).
    """
    problem = label_value_error(placement.metadata.name)
    return (
        f'{PLACEMENT_LABEL_PATH}: Invalid value: "{placement.metadata.name}": {problem}' if problem else None
    )


def own_decisions(placement: Placement, state: HubState) -> frozenset[str]:
    """Clusters in this Placement's PlacementDecisions; empty if its name is not a label value."""
    if selector_error(placement):
        return frozenset()
    key = (placement.metadata.namespace or "", placement.metadata.name)
    return frozenset(name for decision in state.decisions_of.get(key, ()) for name in decision.cluster_names)


def score(
    prioritizer: Prioritizer, *, placement: Placement, state: HubState, clusters: Sequence[int], now: datetime
) -> PrioritizerResult:
    """Runs one prioritizer for the clusters that passed the filters (positions, ascending)."""
    if prioritizer.built_in is None:
        return _addon(prioritizer, state, clusters, now)
    return _BUILT_INS[prioritizer.built_in](prioritizer, placement, state, clusters)


def _pick(values: Sequence[int], clusters: Sequence[int]) -> Sequence[int]:
    return values if len(values) == len(clusters) else [values[cluster] for cluster in clusters]


def _balance(
    prioritizer: Prioritizer, placement: Placement, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    """A cluster with few decisions of other Placements scores high, relative to the busiest cluster of the
    whole hub.
    """
    others = dict(state.decision_counts)
    key = (placement.metadata.namespace or "", placement.metadata.name)
    for decision in state.decisions_of.get(key, ()):
        for name in decision.cluster_names:
            others[name] -= 1
    names = state.names
    return PrioritizerResult(prioritizer, balance(others, [names[cluster] for cluster in clusters]))


def balance(others: Mapping[str, int], names: Sequence[str]) -> list[int]:
    """The score that Balance gives these clusters. `others` counts the decisions of other Placements."""
    busiest = max(others.values(), default=0)
    by_count = {0: MAX_SCORE}
    for count in set(others.values()) - {0}:
        by_count[count] = 2 * go_int64(float(MAX_SCORE) * (0.5 - count / busiest))
    return [by_count[others.get(name, 0)] for name in names]


def _steady(
    prioritizer: Prioritizer, placement: Placement, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    problem = selector_error(placement)
    if problem:
        return PrioritizerResult(prioritizer, [], Status(Code.ERROR, problem, prioritizer.name))
    own = own_decisions(placement, state)
    names = state.names
    return PrioritizerResult(prioritizer, [MAX_SCORE if names[cluster] in own else 0 for cluster in clusters])


def _resource(
    prioritizer: Prioritizer, placement: Placement, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    """Linear between the least and the most allocatable of the filtered clusters. A cluster without data has
    no entry.
    """
    del placement
    column = state.allocatable["cpu" if prioritizer.built_in == "ResourceAllocatableCPU" else "memory"]
    found = [column[cluster] for cluster in clusters]
    known = [value for value in found if value is not None]
    least, most = (min(known), max(known)) if known else (0.0, 0.0)
    span = most - least
    if span == 0:
        values: list[int | None] = [None if value is None else MAX_SCORE for value in found]
    else:
        values = [
            None if value is None else go_int64((((value - least) / span) - 0.5) * 2.0 * 100.0)
            for value in found
        ]
    return PrioritizerResult(prioritizer, values)


def _addon(
    prioritizer: Prioritizer, state: HubState, clusters: Sequence[int], now: datetime
) -> PrioritizerResult:
    column = state.score_table.column(prioritizer.resource, prioritizer.score, now)
    values = _pick(column.values, clusters)
    expired = column.expired.intersection(clusters) if column.expired else ()
    if not expired:
        return PrioritizerResult(prioritizer, values)
    objects = " ".join(f"{state.names[cluster]}/{prioritizer.resource}" for cluster in sorted(expired))
    return PrioritizerResult(
        prioritizer, values, Status(Code.WARNING, f"AddOnPlacementScores {objects} expired", prioritizer.name)
    )


_BuiltInScore = Callable[[Prioritizer, Placement, HubState, Sequence[int]], PrioritizerResult]
_BUILT_INS: Mapping[BuiltIn, _BuiltInScore] = {
    "Balance": _balance,
    "Steady": _steady,
    "ResourceAllocatableCPU": _resource,
    "ResourceAllocatableMemory": _resource,
}
