"""Warnings for reviewers: effects of a change that are easy to miss and hard to undo.

A warning is a value; `gitops_dsf.show.preview.warnings` has its sentence, for texts and for JSON.
The order is that of a short preview, which shows the first ten: warnings about security and about
manual steps come first, and those that there may be for each application come last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitops_dsf.hub.snapshots.snapshot import HubData
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.moves import DecisionMove
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.views.preview.warnings.access import AccessWarning, access_warnings
from gitops_dsf.views.preview.warnings.arrivals import ManyArrivals, arrival_warnings
from gitops_dsf.views.preview.warnings.hubdata import HubDataWarning, hub_data_warnings
from gitops_dsf.views.preview.warnings.manualsteps import ManualStep, manual_step_warnings
from gitops_dsf.views.preview.warnings.names import ScoresRenamed, name_warnings
from gitops_dsf.views.preview.warnings.placements import (
    PlacementWarning,
    close_warnings,
    few_clusters_warnings,
    filter_warnings,
)


@dataclass(frozen=True, kw_only=True)
class ManyRescored:
    """Scores that change on too large a part of the inventory."""

    clusters_of: Mapping[str, int]
    """The number of clusters that each scorer changes."""
    clusters: int
    """The number of clusters that all of them change."""
    total: int
    max_percent: float


ReviewWarning = (
    AccessWarning
    | ManualStep
    | ScoresRenamed
    | ManyRescored
    | PlacementWarning
    | ManyArrivals
    | HubDataWarning
)


def warnings_of(
    base: CheckedFleet | None,
    head: CheckedFleet,
    hub: HubData,
    *,
    pairs: tuple[VerdictPair, ...],
    moves: Iterable[DecisionMove],
    rescored: Mapping[str, frozenset[str]],
    rescored_percent: float,
    close_points: int,
) -> Iterator[ReviewWarning]:
    """Every warning about a change. `pairs` and `moves` are empty without a hub."""
    yield from access_warnings(base, head)
    yield from manual_step_warnings(base, head, hub.snapshot)
    yield from name_warnings(base, head)
    yield from _rescored_warnings(rescored, head, rescored_percent)
    # Without a hub the filters are all that is known, and with one the decisions say more.
    if hub.snapshot is None:
        yield from filter_warnings(base, head)
        return
    yield from few_clusters_warnings(pairs)
    yield from arrival_warnings(moves, base, head)
    yield from hub_data_warnings(hub, hub.snapshot, head)
    yield from close_warnings(pairs, close_points, head.spans)


def _rescored_warnings(
    rescored: Mapping[str, frozenset[str]], head: CheckedFleet, max_percent: float
) -> Iterator[ManyRescored]:
    """Warns if the scores of too large a part of the inventory change."""
    clusters_of = {}
    for name, clusters in rescored.items():
        # A cluster that leaves the inventory is not re-scored.
        if clusters & head.cluster_names:
            clusters_of[name] = clusters & head.cluster_names
    count = len(frozenset[str]().union(*clusters_of.values()))
    total = len(head.cluster_names)
    if not total or 100 * count <= max_percent * total:
        return
    counts = {name: len(clusters) for name, clusters in clusters_of.items()}
    yield ManyRescored(clusters_of=counts, clusters=count, total=total, max_percent=max_percent)
