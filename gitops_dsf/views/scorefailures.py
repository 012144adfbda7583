"""Reasons why the scores that rank a Placement are not updated on each cluster, for `explain`."""

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from gitops_dsf.hub.score_failures import FailureGroup, failure_groups
from gitops_dsf.hub.scores import ScoreFailure, failures_in
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.times import timestamp


class ClusterFailure(Struct, frozen=True, kw_only=True):
    """The reason why there is no newer score of one name on one cluster, by the agent there."""

    score: str
    """Name of the AddOnPlacementScore."""
    cluster: str
    reason: str
    message: str
    since: str | None
    """The time when the scores stopped, by the hub's clock."""


def cluster_failures(
    snapshot: Snapshot | None, resources: Collection[str], *, cluster: str | None = None
) -> tuple[ClusterFailure, ...]:
    """The failures of these scores on every cluster, or on one, in order of score and cluster."""
    # Files and snapshots without failures give none, too: only agents know why a score is old.
    if snapshot is None:
        return ()
    failures: list[ClusterFailure] = []
    for resource in sorted(resources):
        by_cluster = failures_in(snapshot.scores.get(resource, {}))
        for name in sorted(by_cluster):
            if cluster in {None, name}:
                failures.append(_failure(resource, name, by_cluster[name]))
    return tuple(failures)


def groups_by_score(
    failures: Collection[ClusterFailure],
) -> dict[str, tuple[FailureGroup, ...]]:
    """The failures by name of the score, and then by reason."""
    by_score: dict[str, dict[str, ScoreFailure]] = {}
    for failure in failures:
        since = None if failure.since is None else datetime.fromisoformat(failure.since)
        by_score.setdefault(failure.score, {})[failure.cluster] = ScoreFailure(
            failure.reason, failure.message, since
        )
    return {score: failure_groups(by_cluster) for score, by_cluster in by_score.items()}


def _failure(resource: str, cluster: str, failure: ScoreFailure) -> ClusterFailure:
    return ClusterFailure(
        score=resource,
        cluster=cluster,
        reason=failure.reason,
        message=failure.message,
        since=None if failure.since is None else timestamp(failure.since),
    )
