"""Plans refuges beside the event loop, and only those that a change touches.

`gitops_dsf.pacing.refuges` has the rules. Not guaranteed: that a refuge is planned by the scores of
now; all are planned again every few minutes.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.pacing.admit import known_shifts
from gitops_dsf.pacing.assumptions import assume
from gitops_dsf.pacing.holds import held_clusters
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.pacing.refuges import NOTHING_HELD, HeldClusters, Refuges, plan_refuges
from gitops_dsf.reconciler.pacing.situation import Inputs, situation_of
from gitops_dsf.repository.model.reconciler import Pace

REPLAN_SECONDS: Final = 300.0
"""The time between two plans of all refuges.

Scores change all the time, and a refuge need not be the best cluster.
"""


class RefugePlanner:
    """Keeps the plan of refuges between two passes.

    All are planned again now and then, and at once those that a change touches. A new leader goes
    on with the published plan.
    """

    def __init__(self) -> None:
        self._seen: Inputs | None = None
        """The inputs of the last plan."""
        self._held: HeldClusters = NOTHING_HELD
        """The clusters that were held during the last plan."""
        self._refuges: Refuges = {}
        self._next = 0.0
        """The time at which all refuges are planned again, in seconds since 1970."""

    async def plan(
        self, inputs: Inputs, ledger: Ledger, *, pace: Pace, published: Refuges, now: float
    ) -> Refuges:
        """The refuges that should be published.

        Where something changed they are computed beside the event loop.
        """
        if not any(paced.ranking.refuges for paced in inputs.paced.values()):
            self._seen = None
            return {}
        current = published
        held = held_clusters(ledger.holds, now)
        due: frozenset[str] | None = None
        if self._seen is not None:
            current = self._refuges
            if now < self._next:
                due = _due(self._seen, inputs, current)
        if due is not None:
            due |= _held_otherwise(self._held, held) & inputs.paced.keys()
        refuges: Refuges
        if due is not None and not due:
            refuges = {key: cluster for key, cluster in current.items() if key in inputs.paced}
        else:
            refuges = await asyncio.to_thread(
                _planned, inputs, ledger, pace=pace, current=current, held=held, due=due, now=now
            )
        if due is None:
            self._next = now + REPLAN_SECONDS
        self._seen = inputs.without_scores()
        self._held = held
        self._refuges = refuges
        return refuges


def _planned(
    inputs: Inputs,
    ledger: Ledger,
    *,
    pace: Pace,
    current: Refuges,
    held: HeldClusters,
    due: frozenset[str] | None,
    now: float,
) -> Refuges:
    situation = situation_of(inputs, ledger=ledger, pace=pace, now=now)
    scores = assume(situation.hub.scores, known_shifts(situation))
    state = situation.hub.scoring(scores)
    return plan_refuges(
        situation.paced, state=state, now=situation.now, current=current, held=held, only=due
    )


def _due(before: Inputs, inputs: Inputs, refuges: Refuges) -> frozenset[str] | None:
    """The Placements whose refuge a change touches; None means all of them."""
    # These say which clusters a Placement may choose at all.
    if before.sets != inputs.sets or before.bindings != inputs.bindings:
        return None
    changed = _changed(before.clusters, inputs.clusters)
    due = set[str]()
    for key, paced in inputs.paced.items():
        paced_before = before.paced.get(key)
        # A decision that has just changed says nothing yet.
        is_decided_again = key in inputs.decided and inputs.decided[key] != before.decided.get(key)
        is_edited = paced_before is None or (
            (paced_before.written.spec, paced_before.ranking) != (paced.written.spec, paced.ranking)
        )
        refuge = refuges.get(key)
        # A refuge need not be the best cluster, so it stays while its own cluster has not changed.
        # Without one, any change may make a cluster fit.
        is_touched = bool(changed) and (refuge is None or refuge in changed)
        if is_decided_again or is_edited or is_touched:
            due.add(key)
    return frozenset(due)


def _held_otherwise(before: HeldClusters, after: HeldClusters) -> frozenset[str]:
    """The Placements that are held away from other clusters than before."""
    keys = before.keys() | after.keys()
    return frozenset(key for key in keys if before.get(key) != after.get(key))


def _changed(
    before: Mapping[str, ManagedCluster], after: Mapping[str, ManagedCluster]
) -> frozenset[str]:
    """The clusters for which Placements may pass or fail other filters than before."""
    changed = set[str]()
    for name in before.keys() | after.keys():
        cluster_before = before.get(name)
        cluster = after.get(name)
        # A cluster that no watch event touched is the same object, which is quick to see.
        if cluster_before is cluster:
            continue
        if _filtered_by(cluster_before) != _filtered_by(cluster):
            changed.add(name)
    return frozenset(changed)


def _filtered_by(cluster: ManagedCluster | None) -> object:
    return cluster and (cluster.labels, cluster.claims, cluster.taints, cluster.deleting)
