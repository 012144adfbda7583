"""Which scores are dead: expired for more than one TTL, and their agent or cluster is gone. Pure.

Times are the hub's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.freshness import expired
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.scores import ScoreSummary

UNAVAILABLE: Final = frozenset({"False", "Unknown"})
"""Values of the condition Available. A condition that OCM has not written yet counts as neither."""


class Renewer(StrEnum):
    """Who renews a score."""

    AGENT = "agent"
    HUB_SCORER = "hub scorer"
    NOBODY = "nobody"
    """The hub scorer wrote it, and there is no such scorer any more. An agent deletes what it wrote itself.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadScore:
    """An AddOnPlacementScore that is dead according to the informers.

    Informers do not keep who manages it, so only reading it tells whether it is one of ours.
    """

    resource: str
    cluster: str
    valid_until: float
    why: str
    renewer: Renewer
    on_hub: bool
    """Whether the hub scorer wrote it."""


def renewer_of(*, on_hub: bool, scorer: DynamicScorer | None) -> Renewer:
    """Who renews a score. ``on_hub``: the hub scorer wrote it; ``scorer``: the one whose score it is, if
    there still is one.
    """
    if scorer is not None:
        return Renewer.HUB_SCORER if scorer.on_hub else Renewer.AGENT
    return Renewer.NOBODY if on_hub else Renewer.AGENT


def why_not_renewed(
    cluster: ManagedCluster | None, agent: ManagedClusterAddOn | None, *, renewer: Renewer = Renewer.AGENT
) -> str:
    """Why nothing can renew a score on this cluster; empty when its agent or the hub scorer may."""
    if cluster is None:
        return "there is no such ManagedCluster"
    if cluster.deleting:
        return "the ManagedCluster is being deleted"
    if cluster.unreachable:
        return "the cluster is not available"
    if renewer is not Renewer.AGENT:
        return "" if renewer is Renewer.HUB_SCORER else "no scorer on the hub has this score any more"
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
    scorer: DynamicScorer | None = None,
) -> list[DeadScore]:
    """The dead scores of one resource, the longest expired first. `scores` are by cluster, `scorer` is the
    one whose scores they are, if there still is one.
    """
    long_ago = [
        (score.valid_until, name)
        for name, score in scores.items()
        if score.valid_until is not None and expired_for_long(score.valid_until, ttl=ttl, now=now)
    ]
    found = []
    for until, name in sorted(long_ago):
        on_hub = scores[name].on_hub
        renewer = renewer_of(on_hub=on_hub, scorer=scorer)
        why = why_not_renewed(clusters.get(name), addons.get(name), renewer=renewer)
        if why:
            found.append(
                DeadScore(
                    resource=resource,
                    cluster=name,
                    valid_until=until,
                    why=why,
                    renewer=renewer,
                    on_hub=on_hub,
                )
            )
    return found
