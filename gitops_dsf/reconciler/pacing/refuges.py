"""When refuges are planned again: all of them now and then, and at once those that a change touches."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.pacing.admit import Situation, known_shifts
from gitops_dsf.pacing.ledger import Ledger, assume
from gitops_dsf.pacing.refuges import Refuges, plan_refuges
from gitops_dsf.reconciler.pacing.situation import Inputs, situation_of
from gitops_dsf.repository.model.reconciler import Pace

REPLAN_SECONDS: Final = 300.0
"""Between two plans of all refuges. Scores change all the time, and a refuge need not be the best cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Planned:
    """The last plan, and what it depended on."""

    inputs: Inputs
    refuges: Refuges
    next_one: float
    """When all are planned again, in seconds since 1970."""


class RefugePlanner:
    """Keeps the plan between two looks. A new leader goes on with the published one."""

    def __init__(self) -> None:
        self._last: _Planned | None = None

    async def plan(
        self, inputs: Inputs, ledger: Ledger, *, pace: Pace, published: Refuges, now: float
    ) -> Refuges:
        """The refuges that should be published, computed beside the event loop where something changed."""
        if not any(item.ranking.refuges for item in inputs.paced.values()):
            self._last = None
            return {}
        last = self._last
        due = None if last is None or now >= last.next_one else _due(last, inputs)
        current = published if last is None else last.refuges
        if due is not None and not due:
            found: Refuges = {key: cluster for key, cluster in current.items() if key in inputs.paced}
        else:
            found = await asyncio.to_thread(
                lambda: _plan(situation_of(inputs, ledger=ledger, pace=pace, now=now), current, due)
            )
        next_one = now + REPLAN_SECONDS if last is None or due is None else last.next_one
        self._last = _Planned(inputs=inputs.without_scores(), refuges=found, next_one=next_one)
        return found


def _plan(situation: Situation, current: Refuges, only: frozenset[str] | None) -> Refuges:
    hub = situation.hub
    state = hub.scoring(assume(hub.scores, known_shifts(situation)))
    return plan_refuges(situation.paced, state=state, now=situation.now, current=current, only=only)


def _due(last: _Planned, inputs: Inputs) -> frozenset[str] | None:
    """The Placements whose refuge a change touches; None means all of them."""
    before = last.inputs
    if before.sets != inputs.sets or before.bindings != inputs.bindings:
        return None
    changed = _changed(before.clusters, inputs.clusters)
    return frozenset(
        key
        for key, item in inputs.paced.items()
        # A decision that is not settled says nothing yet.
        if (key in inputs.decided and inputs.decided[key] != before.decided.get(key))
        or (known := before.paced.get(key)) is None
        or (known.written.spec, known.ranking) != (item.written.spec, item.ranking)
        or (bool(changed) and last.refuges.get(key) in {*changed, None})
    )


def _changed(before: Mapping[str, ManagedCluster], after: Mapping[str, ManagedCluster]) -> frozenset[str]:
    """The clusters for which Placements may pass or fail other filters than before."""
    return frozenset(
        name
        for name in before.keys() | after.keys()
        if before.get(name) is not after.get(name)
        and _filtered_by(before.get(name)) != _filtered_by(after.get(name))
    )


def _filtered_by(cluster: ManagedCluster | None) -> object:
    return cluster and (cluster.labels, cluster.claims, cluster.taints, cluster.deleting)
