"""A verdict as JSON: the shape that `gitops-dsf simulate` prints, and its JSON Schema."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType


class Drop(Struct, frozen=True):
    filter: str
    """Predicate or TaintToleration."""
    reason: str


class FilterResult(Struct, rename="camel"):
    name: str
    filtered_clusters: Sequence[str]


class PrioritizerScores(Struct):
    name: str
    weight: int
    scores: Mapping[str, int]


class Decision(Struct):
    name: str
    labels: Mapping[str, str]
    clusters: Sequence[str]


class DecisionGroup(Struct, rename="camel"):
    decision_group_index: int
    decision_group_name: str
    decisions: Sequence[str]
    cluster_count: int


class VerdictData(Struct, rename="camel", kw_only=True):
    """The decision of one Placement. What OCM did not reach is left out.

    The names of keys are those of the reference verdicts; `filters`, `scores` and `groups` are null
    where Go's are nil.
    """

    placement: str
    outcome: str
    evicted: Sequence[str]
    notes: Sequence[str]
    panic: str | UnsetType = UNSET
    cluster_sets: Sequence[str] | UnsetType = UNSET
    filters: Sequence[FilterResult] | UnsetType | None = UNSET
    dropped: Mapping[str, Drop] | UnsetType = UNSET
    prioritizers: Sequence[PrioritizerScores] | UnsetType = UNSET
    scores: Mapping[str, int] | UnsetType | None = UNSET
    ranked: Sequence[str] | UnsetType = UNSET
    unscheduled: int | UnsetType = UNSET
    placement_decisions: Sequence[Decision] | UnsetType = UNSET
    groups: Sequence[DecisionGroup] | UnsetType | None = UNSET
    status_code: int | UnsetType = UNSET
    status_message: str | UnsetType = UNSET
    satisfied: Sequence[str] | UnsetType | None = UNSET
    misconfigured: Sequence[str] | UnsetType | None = UNSET
    after_sync: Mapping[str, int] | UnsetType = UNSET
    will_retry: bool | UnsetType = UNSET
    sync_error: str | UnsetType = UNSET
    requeue: bool | UnsetType = UNSET
    requeue_at: str | UnsetType = UNSET
    unsupported: Sequence[str] | UnsetType = UNSET
