"""Explains why a filter dropped a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from gitops_dsf.hub.objects import Placement, Taint
from gitops_dsf.hub.placements import Predicate
from gitops_dsf.simulator import predicate
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.taints import blocking_taint, fits, tolerated_until


class Drop(Struct, frozen=True):
    filter: str
    """Predicate or TaintToleration."""
    reason: str


@dataclass(frozen=True)
class DropReasons:
    """Finds the reasons of one Placement. Its filters must have run, so its selectors are valid."""

    placement: Placement
    state: HubState
    current: frozenset[str]
    """Clusters in the Placement's decisions before the pass."""
    now: datetime

    @cached_property
    def _predicates(self) -> tuple[Predicate, ...]:
        return predicate.read_predicates(self.placement)

    def drop(self, cluster: int, stage: str) -> Drop:
        """Returns why a stage dropped a cluster, which is given by position."""
        if stage == predicate.FILTER:
            return Drop(stage, predicate.mismatch(cluster, self._predicates, self.state))
        tolerations = self.placement.spec.tolerations or ()
        in_decision = self.state.names[cluster] in self.current
        taint = blocking_taint(self.state.clusters[cluster], tolerations, in_decision, self.now)
        return Drop(stage, "no taint excludes it" if taint is None else _untolerated(taint, self.placement))


def _untolerated(taint: Taint, placement: Placement) -> str:
    shown = f"{taint.key}={taint.value}" if taint.value else taint.key
    reason = f"taint {shown}:{taint.effect} is not tolerated"
    for toleration in placement.spec.tolerations or ():
        if toleration.toleration_seconds is not None and fits(taint, toleration):
            if taint.time_added is None:
                return f"{reason}: it has no timeAdded, so tolerationSeconds have always run out"
            until = tolerated_until(taint, toleration.toleration_seconds)
            return f"{reason} since {until.isoformat()} (tolerationSeconds {toleration.toleration_seconds})"
    if taint.effect == "NoSelectIfNew":
        return f"{reason}, and the cluster is not in the current decisions"
    return reason
