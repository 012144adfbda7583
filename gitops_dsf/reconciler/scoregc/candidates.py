"""Which scores are dead: expired for more than one TTL, and their agent or cluster is gone. Pure.

Times are the hub's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.freshness import expired
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.reconciler.hub.scores import ScoreSummary

UNAVAILABLE: Final = frozenset({"False", "Unknown"})
"""Values of the condition Available. A condition that OCM has not written yet counts as neither."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadScore:
    """An AddOnPlacementScore that is dead according to the informers.

    Informers do not keep its labels, so only reading it tells whether an agent of ours wrote it.
    """

    resource: str
    cluster: str
    valid_until: float
    why: str


def why_not_renewed(cluster: ManagedCluster | None, agent: ManagedClusterAddOn | None) -> str:
    """Why no agent on this cluster can renew a score; empty when one may."""
    if cluster is None:
        return "there is no such ManagedCluster"
    if cluster.deleting:
        return "the ManagedCluster is being deleted"
    if cluster.unreachable:
        return "the cluster is not available"
    if agent is None or agent.deleting:
        return "the agent's add-on is not installed"
    return "the agent's add-on is not available" if agent.available in UNAVAILABLE else ""


def expired_for_long(valid_until: float | None, *, ttl: float, now: float) -> bool:
    """Whether it expired more than one TTL ago. A score without validUntil never expires; our agents always
    write one.
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
    """The dead scores of one resource, the longest expired first. `scores` are by cluster."""
    long_ago = [
        (score.valid_until, name)
        for name, score in scores.items()
        if score.valid_until is not None and expired_for_long(score.valid_until, ttl=ttl, now=now)
    ]
    return [
        DeadScore(resource=resource, cluster=name, valid_until=until, why=why)
        for until, name in sorted(long_ago)
        if (why := why_not_renewed(clusters.get(name), addons.get(name)))
    ]
