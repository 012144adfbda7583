"""The result of one cycle of a scorer that is tried before the merge: the JSON of `scorer try`.

It does not know the agent, so that `schema` describes the JSON without it.
"""

from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.pace import VerifiedBy
from gitops_dsf.simulator import Explanation


class TryFailure(Struct, frozen=True, kw_only=True):
    """The reason why the cycle gave no scores."""

    stage: str
    reason: str
    """The reason, as the agent's metrics name it."""
    message: str
    hint: str | None
    """The hint about it, if there is one."""


class TryItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An item that would be published."""

    cluster: str
    name: str
    raw_scores: tuple[float, ...]
    """The raw scores of its results, in their order; empty for a default score."""
    aggregate: float | None
    """The raw score that is mapped to the value; null for a default score."""
    value: int


class VerifiedPlacement(Struct, frozen=True, kw_only=True):
    """A Placement whose moves are verified by the scorer."""

    placement: str
    """namespace/name."""
    check: VerifiedBy


class TryDropped(Struct, frozen=True, kw_only=True):
    """Results that give no item."""

    reason: str
    count: int


class TryOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `scorer try`."""

    scorer: str
    resource: str | None
    """Name of the AddOnPlacementScore; null for a scorer that publishes nothing."""
    cluster: str | None
    """The cluster whose agent would run this cycle; null for a scorer on the hub."""
    at: str
    source: str | None
    """The URL of the query; null without a query."""
    query: str | None
    scoring: str | None
    """The scoring API; null for a scorer by query."""
    failure: TryFailure | None
    series: int
    bytes: int
    results: int
    dropped: tuple[TryDropped, ...]
    first_dropped: str | None
    warnings: tuple[str, ...]
    """The warnings of the source."""
    clamped: int
    items: tuple[TryItem, ...]
    missing: tuple[str, ...]
    """Clusters of a scorer on the hub for which there is no item."""
    notes: tuple[str, ...]
    """Unusual facts, for people."""
    ranked_by: tuple[str, ...]
    """Placements that rank clusters by this scorer."""
    explanations: tuple[Explanation, ...]
    """The decisions by these values; empty without the scores of a hub."""
    verifies: tuple[VerifiedPlacement, ...] | UnsetType = UNSET
    """Checks of moves by this scorer; absent if there are none."""


class UntriedScorer(NamedTuple):
    """A scorer of which no cycle was run."""

    scorer: str
    why: str
