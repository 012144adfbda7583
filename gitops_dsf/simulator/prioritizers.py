"""The prioritizers of a Placement, and the score that each gives a cluster.

Source: getWeights, mergeWeights and getPrioritizers of OCM v1.2.1, in
pkg/placement/controllers/scheduling/schedule.go, say which run, and with which weights. The scores
are those of pkg/placement/plugins/{balance,steady,resource,addon}.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import Placement, PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate
from gitops_dsf.hub.placements import BUILT_INS, BuiltIn
from gitops_dsf.hub.selectors import label_value_error
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

MAX_SCORE = 100
"""The highest score of a cluster (MaxClusterScore in pkg/placement/plugins/interface.go)."""

MIN_SCORE = -100
"""The lowest score of a cluster."""

PLACEMENT_LABEL_PATH = f"values[0][{PLACEMENT_LABEL}]"
"""The path in the error of Go's label selector for a value that is not valid."""

DEFAULTS = (
    PrioritizerConfig(ScoreCoordinate(type="BuiltIn", built_in="Balance"), weight=1),
    PrioritizerConfig(ScoreCoordinate(type="BuiltIn", built_in="Steady"), weight=1),
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

    Go visits them in the random order of a map. Here it is the order in which they are configured;
    the sums are the same. Raises PrioritizerError for an unknown mode, an unknown built-in name or
    a missing coordinate.
    """
    return _prioritizers(placement.spec.prioritizer_policy)


@lru_cache(maxsize=4096)
def _prioritizers(policy: PrioritizerPolicy | None) -> tuple[Prioritizer, ...]:
    """The prioritizers of a policy.

    Cached, because each change of a score simulates all Placements again.
    """
    mode = (policy.mode if policy else None) or ""
    if mode not in ("", "Additive", "Exact"):
        raise PrioritizerError(f"incorrect prioritizer policy mode: {mode}")
    configurations = (policy.configurations if policy else None) or ()
    if mode != "Exact":
        configurations = (*DEFAULTS, *configurations)
    # With the weight 0 a prioritizer is not even made, so a mistake in it stays unseen.
    prioritizers: list[Prioritizer] = []
    for coordinate, weight in _merge(configurations):
        if weight != 0:
            prioritizers.append(_prioritizer(coordinate, weight))
    return tuple(prioritizers)


def _merge(configurations: tuple[PrioritizerConfig, ...]) -> list[tuple[ScoreCoordinate, int]]:
    """Merges the configurations as Go's map does.

    The key is a struct with a *pointer* to the add-on coordinate, so entries that have one never
    share a key: duplicates of an add-on score both count, and a BuiltIn entry with an addOn block
    does not replace its default.
    """
    kept: dict[tuple[object, ...], tuple[ScoreCoordinate, int]] = {}
    for position, configuration in enumerate(configurations):
        coordinate = configuration.score_coordinate
        if coordinate is None:
            raise PrioritizerError("scoreCoordinate field is required")
        key: tuple[object, ...] = (coordinate.type, coordinate.built_in)
        if coordinate.add_on is not None:
            # The position stands for the address that the pointer has in Go.
            key = (*key, position)
        kept[key] = (coordinate, configuration.weight)
    return list(kept.values())


def _prioritizer(coordinate: ScoreCoordinate, weight: int) -> Prioritizer:
    if coordinate.type == "BuiltIn":
        for name in BUILT_INS:
            if name == coordinate.built_in:
                return Prioritizer(weight, built_in=name)
        raise PrioritizerError(f"incorrect builtin prioritizer: {coordinate.built_in}")
    # Go's zero value of the type is not BuiltIn, so a coordinate without a type is an add-on score.
    if coordinate.add_on is None:
        raise PrioritizerError("addOn should not be empty")
    return Prioritizer(
        weight, resource=coordinate.add_on.resource_name, score=coordinate.add_on.score_name
    )


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
    """The reason why the controller cannot select its own decisions; None if it can.

    It selects them by a label whose value is the Placement's name, and a name may be longer than
    the 63 bytes of a label value.
    """
    problem = label_value_error(placement.metadata.name)
    if not problem:
        return None
    return f'{PLACEMENT_LABEL_PATH}: Invalid value: "{placement.metadata.name}": {problem}'


def own_decisions(placement: Placement, state: HubState) -> frozenset[str]:
    """Clusters in this Placement's PlacementDecisions; empty if its name is not a label value."""
    if selector_error(placement):
        return frozenset()
    key = (placement.metadata.namespace or "", placement.metadata.name)
    own: set[str] = set()
    for decision in state.decisions_of.get(key, ()):
        own.update(decision.cluster_names)
    return frozenset(own)


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
    if prioritizer.built_in == "Balance":
        return _balance(prioritizer, placement, state, clusters)
    if prioritizer.built_in == "Steady":
        return _steady(prioritizer, placement, state, clusters)
    return _resource(prioritizer, state, clusters)


def _balance(
    prioritizer: Prioritizer, placement: Placement, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    """High for few decisions of other Placements, relative to the busiest cluster of the hub."""
    # Balance lists the decisions of all namespaces and leaves out those of this Placement.
    others = dict(state.decision_counts)
    key = (placement.metadata.namespace or "", placement.metadata.name)
    for decision in state.decisions_of.get(key, ()):
        for name in decision.cluster_names:
            others[name] -= 1
    names = list(map(state.names.__getitem__, clusters))
    return PrioritizerResult(prioritizer, balance(others, names))


def balance(others: Mapping[str, int], names: Sequence[str]) -> list[int]:
    """The score that Balance gives these clusters.

    `others` counts the decisions of other Placements.
    """
    # The busiest cluster need not be a candidate: it may be anywhere on the hub.
    busiest = max(others.values(), default=0)
    by_count = {0: MAX_SCORE}
    for count in set(others.values()) - {0}:
        # Go truncates before it doubles, so all scores are even.
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
    # 0, not MIN_SCORE, for the others: a score must beat Steady by 100 points to move the
    # Placement.
    values = [MAX_SCORE if names[cluster] in own else 0 for cluster in clusters]
    return PrioritizerResult(prioritizer, values)


def _resource(
    prioritizer: Prioritizer, state: HubState, clusters: Sequence[int]
) -> PrioritizerResult:
    """Linear from the least to the most allocatable of the filtered clusters; no data, no entry."""
    resource = "memory"
    if prioritizer.built_in == "ResourceAllocatableCPU":
        resource = "cpu"
    column = state.allocatable[resource]
    amounts = list(map(column.__getitem__, clusters))
    # A cluster that reports nothing gets no entry. That adds 0, so it beats all below the middle.
    reported = [amount for amount in amounts if amount is not None]
    least = min(reported, default=0.0)
    span = max(reported, default=0.0) - least

    def score_of(amount: float | None) -> int | None:
        if amount is None:
            return None
        if span == 0:
            return MAX_SCORE
        # The order of operations is that of the Go code, because it decides the last bit.
        return go_int64((((amount - least) / span) - 0.5) * 2.0 * 100.0)

    return PrioritizerResult(prioritizer, list(map(score_of, amounts)))


def _addon(
    prioritizer: Prioritizer, state: HubState, clusters: Sequence[int], now: datetime
) -> PrioritizerResult:
    column = state.score_table.column(prioritizer.resource, prioritizer.score, now)
    # Often no filter drops a cluster, and then the column needs no copy.
    values: Sequence[int] = column.values
    if len(values) != len(clusters):
        values = list(map(column.values.__getitem__, clusters))
    expired = column.expired.intersection(clusters)
    if not expired:
        return PrioritizerResult(prioritizer, values)
    # Only an expired score is a warning. One that is missing gives a line in OCM's log, no more.
    names = map(state.names.__getitem__, sorted(expired))
    listed = " ".join(f"{name}/{prioritizer.resource}" for name in names)
    return PrioritizerResult(
        prioritizer,
        values,
        Status(Code.WARNING, f"AddOnPlacementScores {listed} expired", prioritizer.name),
    )
