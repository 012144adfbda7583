"""Whether the handover of a paced move is done. Pure.

It is judged by the copies of all ApplicationSets that follow the Placement.
"""

from collections.abc import Mapping
from typing import Final

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import Application
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.moves.rules import is_good

TIMEOUT_SECONDS: Final = 1800.0
"""An arrival that nobody admitted counts as ended after this time.

Its copy may never become healthy, and then the cluster would never be free for another move.
"""


def is_handed_over(
    move: LedgerMove,
    *,
    sets: Mapping[str, ApplicationSet],
    applications: Mapping[str, Application],
    clusters: Mapping[str, ManagedCluster],
    now: float,
) -> bool:
    """Whether a move is done, for every ApplicationSet that follows its Placement.

    It is when the new copy is healthy and the old one is gone.
    """
    if not move.admitted and now >= move.phase_since + TIMEOUT_SECONDS:
        return True
    name = move.placement.partition("/")[2]
    unreachable = frozenset(other for other, cluster in clusters.items() if cluster.unreachable)
    for application_set in sets.values():
        if name not in application_set.placements:
            continue
        copies = [copy for copy in applications.values() if copy.owner_uid == application_set.uid]
        has_good_copy = any(
            is_good(copy, unreachable) for copy in copies if copy.cluster == move.target
        )
        if not has_good_copy:
            return False
        # Without a handover nobody deletes the old copy. On a lost cluster it cannot be deleted
        # now.
        if application_set.handover is None or move.source in unreachable:
            continue
        if any(copy.cluster == move.source for copy in copies):
            return False
    return True
