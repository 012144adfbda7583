"""Targets of applications when a cluster fails, and the effect of a change on them.

The reconciler plans a refuge for each paced Placement and publishes it as an item of a score. A
preview plans them again with the same rules. Placeholders stand in for scores that are unknown yet
(`NextScores.scores`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.pacing.holds import held_clusters
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.pacing.refuges import Refuges, by_lost_cluster, plan_refuges, published_refuges
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import HubState
from gitops_dsf.views.preview.paced import paced_placements, remaining_holds
from gitops_dsf.views.preview.transition import Transition


class RefugeChange(Struct, frozen=True, kw_only=True, rename={"target": "to"}):
    """Another refuge of one application."""

    placement: str
    before: str | None
    """None if it had none, or was on another cluster."""
    target: str | None
    """None if it has none any more."""


class Failover(Struct, frozen=True, kw_only=True):
    """Applications that would go to another target than before when a cluster fails."""

    cluster: str
    moves: tuple[RefugeChange, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RefugePlans:
    """The refuges before and after a change."""

    before: Refuges
    after: Refuges


def refuge_plans(transition: Transition) -> RefugePlans:
    """Plans the refuges of both sides. Empty where spec.pace plans none."""
    base = transition.base
    head = transition.head
    # Where one side alone plans refuges, all of them come or go, which people should see.
    if not plans_refuges(head) and (base is None or not plans_refuges(base)):
        return RefugePlans(before={}, after={})
    published = published_refuges(transition.snapshot.scores)
    before: Refuges = {}
    if base is not None and transition.base_state is not None:
        hub_before = transition.base_state.deciding(transition.decided_base.decisions)
        before = planned_refuges(
            base, hub_before, transition.ledger, current=published, now=transition.now
        )
    # A refuge stays unless another plan is clearly better, so the plan begins with the old ones.
    current = before or published
    after = planned_refuges(
        head, transition.after, transition.ledger, current=current, now=transition.now
    )
    return RefugePlans(before=before, after=after)


def failover_changes(transition: Transition, plans: RefugePlans) -> tuple[Failover, ...]:
    """Refuges that differ after a change, by the cluster that would fail."""
    if not plans.before and not plans.after:
        return ()
    clusters = decided(transition.after.decisions.values())
    decided_before = decided(transition.decided_base.decisions)
    refuges_before = by_lost_cluster(plans.before, decided_before)
    refuges_after = by_lost_cluster(plans.after, clusters)
    return tuple(_changes(refuges_before, refuges_after, clusters))


def plans_refuges(fleet: CheckedFleet) -> bool:
    """Whether the reconciler plans refuges for the paced Placements of a fleet."""
    pace = fleet.repository.spec.pace
    return pace is not None and pace.refuges


def planned_refuges(
    fleet: CheckedFleet, state: HubState, ledger: Ledger, *, current: Refuges, now: datetime
) -> Refuges:
    """The refuges that the reconciler would plan. `current` are those so far.

    `ledger` is that of the hub; the fleet may end some of its holds.
    """
    paced = paced_placements(fleet, state)
    holds = remaining_holds(ledger, fleet, paced, now=now.timestamp())
    held = held_clusters(holds, now.timestamp())
    return plan_refuges(paced, state=state, now=now, current=current, held=held)


def _changes(
    before: Mapping[str, Mapping[str, str]],
    after: Mapping[str, Mapping[str, str]],
    clusters_after: Mapping[str, frozenset[str]],
) -> Iterator[Failover]:
    """The changes, by the cluster that would fail.

    An application that the change itself moves away from a cluster is not named there: it no longer
    leaves that cluster when it fails.
    """
    for cluster in sorted({*before, *after}):
        old = before.get(cluster, {})
        new = after.get(cluster, {})
        moves = []
        for key in sorted({*old, *new}):
            is_there = cluster in clusters_after.get(key, ())
            if is_there and old.get(key) != new.get(key):
                moves.append(RefugeChange(placement=key, before=old.get(key), target=new.get(key)))
        if moves:
            yield Failover(cluster=cluster, moves=tuple(moves))
