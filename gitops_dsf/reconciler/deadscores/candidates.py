"""Scores that nobody renews: expired for long, and their agent or cluster is gone. Pure; time is the hub's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.reconciler.hub.addons import Addon
from gitops_dsf.reconciler.hub.clusters import Cluster
from gitops_dsf.reconciler.hub.scores import Freshness

GONE: Final = frozenset({"False", "Unknown"})
"""Of a condition Available. One that OCM has not written yet says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadScore:
    """An AddOnPlacementScore that looks dead from the lists; whether it is ours is known only when it is read."""

    resource: str
    cluster: str
    valid_until: float
    why: str


def absence(cluster: Cluster | None, agent: Addon | None) -> str:
    """Why nobody on this cluster can renew a score; empty when somebody may."""
    if cluster is None:
        return "there is no such ManagedCluster"
    if cluster.going:
        return "the ManagedCluster is being deleted"
    if cluster.unreachable:
        return "the cluster is not available"
    if agent is None or agent.going:
        return "the agent's add-on is not installed"
    return "the agent's add-on is not available" if agent.available in GONE else ""


def expired_for_long(valid_until: float, *, ttl: float, now: float) -> bool:
    """Whether it ended more than one TTL ago. A score without an end never does; our agents always name one."""
    return valid_until > 0 and now - valid_until > ttl


def find_dead(
    resource: str,
    scores: Mapping[str, Freshness],
    *,
    clusters: Mapping[str, Cluster],
    addons: Mapping[str, Addon],
    ttl: float,
    now: float,
) -> list[DeadScore]:
    """`scores` are one resource's by cluster; what expired first comes first."""
    expired = [(score.valid_until, name) for name, score in scores.items() if expired_for_long(score.valid_until, ttl=ttl, now=now)]
    return [
        DeadScore(resource=resource, cluster=name, valid_until=until, why=why)
        for until, name in sorted(expired)
        if (why := absence(clusters.get(name), addons.get(name)))
    ]
