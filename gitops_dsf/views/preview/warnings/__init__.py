"""Warnings for reviewers: what a change does that is easy to miss and hard to undo.

A warning is one sentence, written where it is found: `diff` shows it, and its JSON output holds it.
The order is that of a short preview, which shows the first ten: what concerns security and what
people must do by hand comes first, and what there may be for each application comes last.
"""

from collections.abc import Iterable, Iterator, Mapping

from gitops_dsf.hub.snapshots.snapshot import HubData
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.moves import DecisionMove
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.views.preview.warnings.access import access_warnings
from gitops_dsf.views.preview.warnings.arrivals import arrival_warnings
from gitops_dsf.views.preview.warnings.hubdata import hub_data_warnings
from gitops_dsf.views.preview.warnings.manualsteps import manual_step_warnings
from gitops_dsf.views.preview.warnings.names import name_warnings
from gitops_dsf.views.preview.warnings.placements import (
    close_warnings,
    few_clusters_warnings,
    filter_warnings,
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
) -> Iterator[str]:
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
) -> Iterator[str]:
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
    names = ", ".join(f"{name} ({len(clusters)})" for name, clusters in clusters_of.items())
    yield (
        f"{count} of {total} clusters ({100 * count / total:.0f} %) are re-scored, more"
        f" than {max_percent:g} %: {names}"
    )
