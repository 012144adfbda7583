"""Scores that nobody renews: expired for long, and their agent or cluster is gone. Pure; time is
the hub's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.freshness import expired
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.reconciler.hub.scores import ScoreSummary

GONE: Final = frozenset({"False", "Unknown"})
"""Of a condition Available. One that OCM has not written yet says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadScore:
    """An AddOnPlacementScore that looks dead from the lists; whether it is ours is known only when it is
    read.
    """

    resource: str
    cluster: str
    valid_until: float
    why: str


def absence(cluster: ManagedCluster | None, agent: ManagedClusterAddOn | None) -> str:
    """Why nobody on this cluster can renew a score; empty when somebody may."""
    if cluster is None:
        return "there is no such ManagedCluster"
    if cluster.deleting:
        return "the ManagedCluster is being deleted"
    if cluster.unreachable:
        return "the cluster is not available"
    if agent is None or agent.deleting:
        return "the agent's add-on is not installed"
    return "the agent's add-on is not available" if agent.available in GONE else ""


def expired_for_long(valid_until: float | None, *, ttl: float, now: float) -> bool:
    """Whether it ended more than one TTL ago. A score without an end never does; our agents always
    name one.
    """
    return valid_until is not None and expired(valid_until + ttl, now)


def find_dead(
    resource: str,
    scores: Mapping[str, ScoreSummary],
    *,
    clusters: Mapping[str, ManagedCluster],
    addons: Mapping[str, ManagedClusterAddOn],
    ttl: float,
    now: float,
) -> list[DeadScore]:
    """`scores` are one resource's by cluster; what expired first comes first."""
    long_ago = [
        (score.valid_until, name)
        for name, score in scores.items()
        if score.valid_until is not None and expired_for_long(score.valid_until, ttl=ttl, now=now)
    ]
    return [
        DeadScore(resource=resource, cluster=name, valid_until=until, why=why)
        for until, name in sorted(long_ago)
        if (why := absence(clusters.get(name), addons.get(name)))
    ]
