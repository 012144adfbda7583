"""From prioritizers to a selection: which run with which weights (schedule.go: getWeights, mergeWeights,
getPrioritizers), the score each gives a cluster (pkg/placement/plugins/{balance,steady,resource,addon}),
sums, rank order and selection (schedule.go: Schedule, selectClusters).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import Placement, PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate
from gitops_dsf.hub.placements import BUILT_INS, BuiltIn
from gitops_dsf.hub.selectors import label_value_error
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

DEFAULTS = tuple(
    PrioritizerConfig(score_coordinate=ScoreCoordinate(type="BuiltIn", built_in=name), weight=1)
    for name in ("Balance", "Steady")
)
"""The defaults of every mode but Exact."""


@dataclass(frozen=True, slots=True)
class Prioritizer:
    """One prioritizer of a Placement: a built-in one, or one score of an AddOnPlacementScore."""

    weight: int
    built_in: BuiltIn | None = None
    resource: str = ""
    score: str = ""

    @property
    def name(self) -> str:
        return self.built_in or f"AddOn/{self.resource}/{self.score}"


class PrioritizerError(Exception):
    """The policy is misconfigured. The message is that of the controller."""


def prioritizers_of(placement: Placement) -> tuple[Prioritizer, ...]:
    """The prioritizers that run: those with a weight other than 0.

    Go visits them in random map order; here it is the order in which they were configured. Raises
    PrioritizerError: an unknown mode or built-in name, a missing coordinate.
    """
    return _prioritizers(placement.spec.prioritizer_policy)


@lru_cache(maxsize=4096)
def _prioritizers(policy: PrioritizerPolicy | None) -> tuple[Prioritizer, ...]:
    """Cached, because the Placements of a hub are simulated again with each change of a score."""
    mode = (policy.mode if policy else None) or ""
    if mode not in ("", "Additive", "Exact"):
        raise PrioritizerError(f"incorrect prioritizer policy mode: {mode}")
    configured = (policy.configurations if policy else None) or ()
    merged = _merge(configured if mode == "Exact" else (*DEFAULTS, *configured))
    return tuple(_prioritizer(coordinate, weight) for coordinate, weight in merged if weight != 0)


def _merge(configurations: tuple[PrioritizerConfig, ...]) -> list[tuple[ScoreCoordinate, int]]:
    """Merges the configurations as Go's map does. Its key is a struct with a *pointer* to the add-on
    coordinate, so entries that have one never share a key: duplicates of an add-on score both count, and a
    BuiltIn entry with an addOn block does not replace its default.
    """
    kept: dict[tuple[object, ...], tuple[ScoreCoordinate, int]] = {}
    for position, configuration in enumerate(configurations):
        coordinate = configuration.score_coordinate
        if coordinate is None:
            raise PrioritizerError("scoreCoordinate field is required")
        key: tuple[object, ...] = (coordinate.type, coordinate.built_in)
        if coordinate.add_on is not None:
            key = (*key, position)
        kept[key] = (coordinate, configuration.weight)
    return list(kept.values())


def _prioritizer(coordinate: ScoreCoordinate, weight: int) -> Prioritizer:
    if coordinate.type == "BuiltIn":
        name = next((name for name in BUILT_INS if name == coordinate.built_in), None)
        if name is None:
            raise PrioritizerError(f"incorrect builtin prioritizer: {coordinate.built_in}")
        return Prioritizer(weight, built_in=name)
    if coordinate.add_on is None:
        raise PrioritizerError("addOn should not be empty")
    return Prioritizer(
        weight, resource=coordinate.add_on.resource_name, score=coordinate.add_on.score_name
    )


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
    """Why the controller cannot select its own decisions: the name is no label value (> 63 bytes)."""
    problem = label_value_error(placement.metadata.name)
    return (
        f'{PLACEMENT_LABEL_PATH}: Invalid value: "{placement.metadata.name}": {problem}'
        if problem
        else None
    )


def own_decisions(placement: Placement, state: HubState) -> frozenset[str]:
    """Clusters in this Placement's PlacementDecisions; empty if its name is not a label value."""
    if selector_error(placement):
        return frozenset()
    key = (placement.metadata.namespace or "", placement.metadata.name)
    return frozenset(
        name for decision in state.decisions_of.get(key, ()) for name in decision.cluster_names
    )


def score(
    prioritizer: Prioritizer,
    *,
    placement: Placement,
    state: HubState,
    clusters: Sequence[int],
    now: datetime,
) -> PrioritizerResult:
    """Runs one prioritizer for the clusters that passed the filters (positions, ascending)."""
    if prioritizer.built_in is None:
        return _addon(prioritizer, state, clusters, now)
    return _BUILT_INS[prioritizer.built_in](prioritizer, placement, state, clusters)


def _balance(
    prioritizer: Prioritizer, placement: Placement, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    """High for few decisions of other Placements, relative to the busiest cluster of the whole hub."""
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
    own, names = own_decisions(placement, state), state.names
    return PrioritizerResult(
        prioritizer, [MAX_SCORE if names[cluster] in own else 0 for cluster in clusters]
    )


def _resource(
    prioritizer: Prioritizer, placement: Placement, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    """Linear from the least to the most allocatable of the filtered clusters; no data, no entry."""
    del placement
    column = state.allocatable[
        "cpu" if prioritizer.built_in == "ResourceAllocatableCPU" else "memory"
    ]
    found = [column[cluster] for cluster in clusters]
    known = [value for value in found if value is not None]
    least = min(known, default=0.0)
    span = max(known, default=0.0) - least
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
    all_of_them = len(column.values) == len(clusters)
    values = column.values if all_of_them else [column.values[cluster] for cluster in clusters]
    expired = column.expired.intersection(clusters) if column.expired else ()
    if not expired:
        return PrioritizerResult(prioritizer, values)
    objects = " ".join(
        f"{state.names[cluster]}/{prioritizer.resource}" for cluster in sorted(expired)
    )
    return PrioritizerResult(
        prioritizer,
        values,
        Status(Code.WARNING, f"AddOnPlacementScores {objects} expired", prioritizer.name),
    )


_BuiltInScore = Callable[[Prioritizer, Placement, HubState, Sequence[int]], PrioritizerResult]
_BUILT_INS: Mapping[BuiltIn, _BuiltInScore] = {
    "Balance": _balance,
    "Steady": _steady,
    "ResourceAllocatableCPU": _resource,
    "ResourceAllocatableMemory": _resource,
}


_INT64 = 2**63


class SchedulerPanic(Exception):  # noqa: N818 - it is what happens to OCM, not to the simulator
    """The real scheduler panics here. The message is that of the Go runtime."""


@dataclass(frozen=True, slots=True)
class Ranking:
    clusters: Sequence[int] = field(repr=False)
    """Clusters that passed the filters, in order of name."""
    sums: Sequence[int] = field(repr=False)
    """Aligned with clusters."""
    order: Sequence[int] = field(repr=False)
    """Indexes into clusters, best first."""
    selected: int
    """How many of order are selected."""

    @property
    def selected_clusters(self) -> list[int]:
        return [self.clusters[index] for index in self.order[: self.selected]]


def add_up(results: Sequence[PrioritizerResult], count: int) -> list[int]:
    """The weighted sum per cluster. int64 wraps, as in Go."""
    sums = [0] * count
    for result in results:
        weight = result.weight
        sums = [
            total + (value or 0) * weight for total, value in zip(sums, result.values, strict=True)
        ]
    if sums and not -_INT64 <= min(sums) <= max(sums) < _INT64:
        sums = [(total + _INT64) % (2 * _INT64) - _INT64 for total in sums]
    return sums


def rank(
    clusters: Sequence[int], results: Sequence[PrioritizerResult], *, number_of_clusters: int | None
) -> Ranking:
    """Ranks by sum, then by name; clusters are in that order. Raises SchedulerPanic for a negative number."""
    sums = add_up(results, len(clusters))
    # A stable sort, so equal sums stay ordered by name.
    order = sorted(range(len(clusters)), key=sums.__getitem__, reverse=True)
    if number_of_clusters is not None and number_of_clusters < 0:
        raise SchedulerPanic(f"runtime error: slice bounds out of range [:{number_of_clusters}]")
    selected = (
        len(clusters) if number_of_clusters is None else min(number_of_clusters, len(clusters))
    )
    return Ranking(clusters, sums, order, selected)
