"""What a hub was seen to hold: published scores, decisions and facts about clusters. Frozen values, plain to hand around."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Facts = Mapping[str, Any]
"""A ManagedCluster, or the part of one that is known: metadata.labels, spec.taints, fields of status. What is absent is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedScore:
    """One AddOnPlacementScore."""

    values: Mapping[str, int]
    """Published score (-100..100) by dimension (`status.scores[]`)."""
    valid_until: datetime | None = None
    """`status.validUntil`; OCM counts the scores as 0 after it."""
    raw: Mapping[str, float] = field(default_factory=dict)
    """Raw score (the `dynamic_score` metric) by dimension, where it is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One PlacementDecision: a page of what OCM decided for a Placement."""

    namespace: str
    name: str
    placement: str
    """Name of the Placement (label `cluster.open-cluster-management.io/placement`)."""
    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A hub at one moment, as far as it is known. Everything is keyed by name, and nothing depends on the order of files."""

    origin: str
    """Where it was read, for people: a path, a branch, a kubeconfig context."""
    observed_at: datetime | None = None
    """When the oldest part was seen on the hub; None where the source does not say."""
    scores: Mapping[str, Mapping[str, PublishedScore]] = field(default_factory=dict)
    """By name of the AddOnPlacementScore, then by cluster."""
    decisions: tuple[Decision, ...] = ()
    """Sorted by namespace and name."""
    clusters: Mapping[str, Facts] = field(default_factory=dict)
    sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """ManagedClusterSets of the hub, as they are."""
    bindings: tuple[tuple[str, str], ...] = ()
    """Namespace and name of the hub's ManagedClusterSetBindings."""

    def published(self, resource: str, cluster: str) -> PublishedScore | None:
        """The AddOnPlacementScore of a cluster, or None."""
        return self.scores.get(resource, {}).get(cluster)

    @property
    def score_count(self) -> int:
        """How many AddOnPlacementScores there are."""
        return sum(len(found) for found in self.scores.values())


def age_text(seconds: float) -> str:
    """A duration for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
