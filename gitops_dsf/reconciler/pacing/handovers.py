"""Handovers of paced moves, judged by the copies of the applications. Pure.

The copies of all ApplicationSets that follow the Placement count.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.moves.rules import is_good, never_deleted

TIMEOUT_SECONDS: Final = 1800.0
"""An arrival that was not admitted counts as ended after this time.

Its copy may never become healthy, and then the cluster would never be free for another move.
"""


class Handovers:
    """Judges the handovers of one pass.

    After the loss of a cluster there may be thousands. So the objects of the hub are sorted once,
    and only if there is a handover at all. They must not change meanwhile.
    """

    def __init__(
        self,
        *,
        sets: Mapping[str, ApplicationSet],
        applications: Mapping[str, ArgoApplication],
        clusters: Mapping[str, ManagedCluster],
        now: float,
    ) -> None:
        self._sets = sets
        self._applications = applications
        self._clusters = clusters
        self._now = now

    def is_done(self, move: LedgerMove) -> bool:
        """Whether a move is done, for every ApplicationSet that follows its Placement.

        It is done when the new copy is healthy and the old one is gone.
        """
        if not move.admitted and self._now >= move.phase_since + TIMEOUT_SECONDS:
            return True
        if not self.has_arrived(move):
            return False
        for application_set in self._following(move.placement):
            copies = self._copies.get(application_set.uid, ())
            # Without a handover nothing deletes the old copy. On a lost cluster it cannot be
            # deleted now.
            if application_set.handover is None or move.source in self._unreachable:
                continue
            if any(copy.cluster == move.source for copy in copies):
                return False
        return True

    def has_arrived(self, move: LedgerMove) -> bool:
        """Whether every ApplicationSet that follows the Placement has a healthy new copy."""
        for application_set in self._following(move.placement):
            copies = self._copies.get(application_set.uid, ())
            has_good_copy = any(
                is_good(copy, self._unreachable) for copy in copies if copy.cluster == move.target
            )
            if not has_good_copy:
                return False
        return True

    def clusters_with_copies(self, placement: str) -> Iterator[str]:
        """The clusters with a copy that is deleted once its move is done.

        Clusters that OCM does not reach are left out: a copy there cannot be deleted now.
        """
        for application_set in self._following(placement):
            handover = application_set.handover
            if handover is None:
                continue
            for copy in self._copies.get(application_set.uid, ()):
                is_there = copy.cluster in self._clusters and copy.cluster not in self._unreachable
                if is_there and not copy.deleting and never_deleted(copy, handover.name_on) is None:
                    yield copy.cluster

    def _following(self, placement: str) -> Sequence[ApplicationSet]:
        """The ApplicationSets that follow a Placement (namespace/name)."""
        return self._followers.get(placement.partition("/")[2], ())

    @cached_property
    def _followers(self) -> Mapping[str, list[ApplicationSet]]:
        """The ApplicationSets by the name of the Placement that they follow."""
        followers: defaultdict[str, list[ApplicationSet]] = defaultdict(list)
        for application_set in self._sets.values():
            for placement in application_set.placements:
                followers[placement].append(application_set)
        return followers

    @cached_property
    def _copies(self) -> Mapping[str, list[ArgoApplication]]:
        """The Applications by the UID of their ApplicationSet."""
        copies: defaultdict[str, list[ArgoApplication]] = defaultdict(list)
        for copy in self._applications.values():
            copies[copy.owner_uid].append(copy)
        return copies

    @cached_property
    def _unreachable(self) -> frozenset[str]:
        names = (name for name, cluster in self._clusters.items() if cluster.unreachable)
        return frozenset(names)
