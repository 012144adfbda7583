"""A snapshot of a hub: published scores, decisions and facts about clusters.

Not guaranteed: that it is complete. Each part says what None or an absent entry means.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec import Struct

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet, PlacementDecision
from gitops_dsf.hub.raw_results import ByCluster
from gitops_dsf.hub.scores import PublishedScore, Scores
from gitops_dsf.hub.times import age_text
from gitops_dsf.wording import plural

MAX_PROBLEMS: Final = 5
"""Unreadable objects that are named; of the others only the number is reported."""


class SnapshotError(GitopsDsfError):
    """The input of a snapshot is malformed. The message names the position."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A hub at one moment, as far as it is known. Mappings are keyed by name."""

    origin: str
    """The place that it was read from, for people: a path, a branch or a kubeconfig context."""
    observed_at: datetime | None = None
    """The time when the oldest part was observed; None if the source does not have it."""
    scores: Scores = field(default_factory=dict)
    skipped: int = 0
    """The number of AddOnPlacementScores that exist but were not read, because their names were not
    requested.
    """
    unreadable: tuple[str, ...] = ()
    """AddOnPlacementScores that could not be decoded, and why.

    They are among `scores`, without items.
    """
    failures_left_out: int = 0
    """Reasons of missing scores that the writer of a snapshot file left out."""
    decisions: tuple[PlacementDecision, ...] = ()
    """Sorted by namespace and name."""
    clusters: Mapping[str, ManagedCluster] = field(default_factory=dict)
    """Clusters, as far as they are known: labels, taints, claims and resources can be None."""
    sets: Mapping[str, ManagedClusterSet] = field(default_factory=dict)
    bindings: tuple[tuple[str, str], ...] | None = None
    """Namespace and name of the ManagedClusterSetBindings; None if they are not known."""
    raw_scores: Mapping[str, ByCluster] = field(default_factory=dict)
    """Raw scores that the agents exported, by score name, then by cluster."""
    moves: object = None
    """Data of the ConfigMap with paced moves, not decoded.

    None if it was not requested or does not exist.
    """

    def published(self, resource: str, cluster: str) -> PublishedScore | None:
        """The score of a cluster in the AddOnPlacementScores of a name; None if there is none."""
        return self.scores.get(resource, {}).get(cluster)

    @property
    def problems(self) -> tuple[str, ...]:
        """The missing parts, for people: the first unreadable objects, and how many more."""
        problems = list(self.unreadable[:MAX_PROBLEMS])
        # A controller with a bug may break every score of the fleet in the same way.
        rest = len(self.unreadable) - MAX_PROBLEMS
        if rest > 0:
            problems.append(f"{rest} more AddOnPlacementScores cannot be read and count as 0")
        if self.failures_left_out:
            count = plural(self.failures_left_out, "missing score")
            problems.append(f"the snapshot has no room for the reasons of {count}")
        return tuple(problems)

    @property
    def score_count(self) -> int:
        """AddOnPlacementScores of the hub, also those that were not read."""
        return self.skipped + sum(map(len, self.scores.values()))


class HubSource(Struct, rename="camel", kw_only=True):
    """The source of scores and decisions."""

    origin: str | None
    observed_at: str | None
    age_seconds: int | None
    now: str
    missing: str | None


@dataclass(frozen=True, kw_only=True)
class HubData:
    """The facts of a hub, and the time for which a verb computes."""

    snapshot: Snapshot | None
    now: datetime
    """The time of the simulated scheduling pass."""
    today: datetime
    """The time of the system clock, from which the age of the data is computed."""
    missing: str = ""
    """The reason why there is no snapshot."""

    @property
    def age(self) -> float | None:
        """Seconds since the data was observed; None if it does not say."""
        if self.snapshot is None or self.snapshot.observed_at is None:
            return None
        # The clock of the machine that observed it may be ahead of this one's.
        return max(0.0, (self.today - self.snapshot.observed_at).total_seconds())

    def describe(self) -> str:
        """The source and the age of the data in one line, or why there is none."""
        if self.snapshot is None:
            return self.missing
        count = plural(self.snapshot.score_count, "AddOnPlacementScore")
        if self.age is None:
            return f"{self.snapshot.origin}: {count}, of unknown age (no observedAt)"
        return f"{self.snapshot.origin}: {count}, seen {age_text(self.age)} ago"

    def shown(self) -> HubSource:
        """The same for JSON output."""
        snapshot = self.snapshot
        observed_at = None
        if snapshot is not None and snapshot.observed_at is not None:
            observed_at = snapshot.observed_at.isoformat()
        return HubSource(
            origin=None if snapshot is None else snapshot.origin,
            observed_at=observed_at,
            age_seconds=None if self.age is None else round(self.age),
            now=self.now.isoformat(),
            missing=self.missing or None,
        )
