"""What a hub was seen to hold: published scores, decisions and facts about clusters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet, PlacementDecision
from gitops_dsf.hub.scores import Score, Scores


class SnapshotError(GitopsDsfError):
    """Something that should hold scores, decisions or clusters does not; the message names the place."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A hub at one moment, as far as it is known. Everything is keyed by name, and nothing depends on the
    order of files.
    """

    origin: str
    """Where it was read, for people: a path, a branch, a kubeconfig context."""
    observed_at: datetime | None = None
    """When the oldest part was seen on the hub; None where the source does not say."""
    scores: Scores = field(default_factory=dict)
    skipped: int = 0
    """AddOnPlacementScores that are there, and were not read because nobody asked for their names."""
    decisions: tuple[PlacementDecision, ...] = ()
    """Sorted by namespace and name."""
    clusters: Mapping[str, ManagedCluster] = field(default_factory=dict)
    """As far as each is known: labels, taints, claims and resources that are None are not."""
    sets: Mapping[str, ManagedClusterSet] = field(default_factory=dict)
    bindings: tuple[tuple[str, str], ...] = ()
    """Namespace and name of the hub's ManagedClusterSetBindings."""

    def published(self, resource: str, cluster: str) -> Score | None:
        """The AddOnPlacementScore of a cluster, or None."""
        return self.scores.get(resource, {}).get(cluster)

    @property
    def score_count(self) -> int:
        """How many AddOnPlacementScores there are."""
        return self.skipped + sum(len(found) for found in self.scores.values())
