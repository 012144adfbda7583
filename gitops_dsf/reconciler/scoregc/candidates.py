"""Which scores are dead: expired for more than one TTL, and their agent or cluster is gone. Pure.

Times are the hub's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import Score
from gitops_dsf.hub.timestamp import moment_of

UNAVAILABLE: Final = frozenset({"False", "Unknown"})
"""Values of the condition Available. A condition that OCM has not written yet counts as neither."""
DAY: Final = 86_400.0
"""The TTL of a score that no scorer has any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """Whose scores those of one name are. When several scorers share a name, the first one, and the longest
    TTL.
    """

    item: DynamicScorer
    ttl: float


def owners(scorers: Iterable[DynamicScorer]) -> dict[str, Owner]:
    """By name of the AddOnPlacementScores."""
    found: dict[str, Owner] = {}
    for item in sorted(scorers, key=lambda each: each.name):
        known = found.get(item.resource)
        ttl = float(item.ttl) if known is None else max(known.ttl, item.ttl)
        found[item.resource] = Owner(item=item if known is None else known.item, ttl=ttl)
    return found


def why_not_renewed(
    cluster: ManagedCluster | None,
    agent: ManagedClusterAddOn | None,
    *,
    owner: Owner | None = None,
    on_hub: bool = False,
) -> str:
    """Why nothing can renew a score on this cluster; empty when its agent or the hub scorer may. `on_hub`:
    the hub scorer wrote it.
    """
    if cluster is None:
        return "there is no such ManagedCluster"
    if cluster.deleting:
        return "the ManagedCluster is being deleted"
    if cluster.unreachable:
        return "the cluster is not available"
    if owner is not None and owner.item.on_hub:
        return ""
    if owner is None and on_hub:
        return "no scorer on the hub has this score any more"
    if agent is None or agent.deleting:
        return "the agent's add-on is not installed"
    return "the agent's add-on is not available" if agent.available in UNAVAILABLE else ""


def deadline(owner: Owner | None, *, now: float) -> datetime:
    """A score that expired before this moment has been expired for more than one TTL. One without validUntil
    never expires; our agents always write one.
    """
    return moment_of(now - (DAY if owner is None else owner.ttl))


def find_dead(
    resource: str,
    scores: Mapping[str, Score],
    *,
    clusters: Mapping[str, ManagedCluster],
    addons: Mapping[str, ManagedClusterAddOn],
    owner: Owner | None,
    now: float,
) -> list[tuple[str, str]]:
    """Name and cluster of the dead scores of one name, by cluster. `scores` are by cluster.

    Who manages a score is not kept, so only reading it tells whether it is one of ours.
    """
    before = deadline(owner, now=now)
    return sorted(
        (resource, name)
        for name, score in scores.items()
        if score.valid_until is not None
        and score.valid_until < before
        and why_not_renewed(clusters.get(name), addons.get(name), owner=owner, on_hub=score.on_hub)
    )
