"""Warnings of data of the hub that is old, expired, or contradicts the inventory."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.snapshots.snapshot import HubData, Snapshot
from gitops_dsf.plan.fleet import CheckedFleet

OLD_SECONDS: Final = 3_600
"""Data is old after this many seconds, because scores are published every few minutes."""


@dataclass(frozen=True, kw_only=True)
class OldHubData:
    """Scores that were read long ago."""

    age: float
    """The age in seconds."""


@dataclass(frozen=True, kw_only=True)
class ExpiredScores:
    """Scores that OCM counts as 0 because their time is over."""

    expired: int
    read: int
    only_ranked: bool
    """Whether only scores were read by which a Placement ranks."""


@dataclass(frozen=True, kw_only=True)
class HubDataProblem:
    """A problem of the data, in the words of its reader."""

    problem: str


@dataclass(frozen=True, kw_only=True)
class NoScores:
    """Data of a hub without any score."""


@dataclass(frozen=True, kw_only=True)
class OtherLabels:
    """Clusters whose labels on the hub contradict the inventory."""

    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class UnlistedClusters:
    """Clusters of the hub that the inventory does not have."""

    clusters: tuple[str, ...]


HubDataWarning = (
    OldHubData | ExpiredScores | HubDataProblem | NoScores | OtherLabels | UnlistedClusters
)


def hub_data_warnings(
    hub: HubData, snapshot: Snapshot, head: CheckedFleet
) -> Iterator[HubDataWarning]:
    """The reasons why a preview that is computed from this data may be wrong."""
    if hub.age is not None and hub.age > OLD_SECONDS:
        yield OldHubData(age=hub.age)
    yield from _expired_warnings(hub, snapshot)
    for problem in snapshot.problems:
        yield HubDataProblem(problem=problem)
    if not snapshot.score_count:
        yield NoScores()
    contradicted = _with_other_labels(snapshot, head)
    if contradicted:
        yield OtherLabels(clusters=contradicted)
    # No ManifestWork is rendered for them, so no scorer of this repository runs there.
    unlisted = tuple(sorted(set(snapshot.clusters) - head.cluster_names))
    if unlisted:
        yield UnlistedClusters(clusters=unlisted)


def _expired_warnings(hub: HubData, snapshot: Snapshot) -> Iterator[ExpiredScores]:
    # Thousands of scores share a few times, so each time is compared once.
    ends: Counter[datetime | None] = Counter()
    for column in snapshot.scores.values():
        for score in column.values():
            ends[score.valid_until] += 1
    count = 0
    for until, number in ends.items():
        if expired(until, hub.now):
            count += number
    if count:
        yield ExpiredScores(
            expired=count,
            read=snapshot.score_count - snapshot.skipped,
            only_ranked=snapshot.skipped > 0,
        )


def _with_other_labels(snapshot: Snapshot, head: CheckedFleet) -> tuple[str, ...]:
    """The clusters whose labels on the hub contradict those of the inventory, sorted.

    An inventory holds only a part of a cluster's labels, so a label that only the hub has
    contradicts nothing.
    """
    in_git = {cluster.metadata.name: cluster.metadata.labels for cluster in head.clusters}
    names = []
    for name, facts in snapshot.clusters.items():
        # None in a snapshot that leaves labels out, which contradicts nothing either.
        on_hub = facts.metadata.labels
        if on_hub is not None and not in_git.get(name, {}).items() <= on_hub.items():
            names.append(name)
    return tuple(sorted(names))
