"""Warnings of data of the hub that is old, expired, or contradicts the inventory."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.snapshots.snapshot import HubData, Snapshot
from gitops_dsf.hub.times import age_text
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.wording import names_text

OLD_SECONDS: Final = 3_600
"""Data is old after this many seconds, because scores are published every few minutes."""


def hub_data_warnings(hub: HubData, snapshot: Snapshot, head: CheckedFleet) -> Iterator[str]:
    """Why a preview that is computed from this data may be wrong."""
    if hub.age is not None and hub.age > OLD_SECONDS:
        yield f"the scores were seen {age_text(hub.age)} ago; what would move now may differ"
    yield from _expired_warnings(hub, snapshot)
    yield from snapshot.problems
    if not snapshot.score_count:
        yield "the hub data holds no AddOnPlacementScore: every score counts as 0"
    contradicted = _with_other_labels(snapshot, head)
    if contradicted:
        yield (
            f"labels on the hub differ from clusters/ for {names_text(contradicted)}; decisions"
            " follow the hub's"
        )
    # No ManifestWork is rendered for them, so no scorer of this repository runs there.
    unlisted = sorted(set(snapshot.clusters) - head.cluster_names)
    if unlisted:
        yield (
            f"on the hub but not in clusters/: {names_text(unlisted)}; no scorer runs there, and"
            " Placements may select them"
        )


def _expired_warnings(hub: HubData, snapshot: Snapshot) -> Iterator[str]:
    # Thousands of scores share a few times, so each time is compared once.
    ends: Counter[datetime | None] = Counter()
    for column in snapshot.scores.values():
        for score in column.values():
            ends[score.valid_until] += 1
    count = 0
    for until, number in ends.items():
        if expired(until, hub.now):
            count += number
    if not count:
        return
    if snapshot.skipped:
        read = snapshot.score_count - snapshot.skipped
        yield (
            f"{count} of {read} AddOnPlacementScores that Placements rank by had expired at that"
            " moment; OCM counts them as 0"
        )
    else:
        yield (
            f"{count} of {snapshot.score_count} AddOnPlacementScores had expired at that moment;"
            " OCM counts them as 0"
        )


def _with_other_labels(snapshot: Snapshot, head: CheckedFleet) -> list[str]:
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
    return sorted(names)
