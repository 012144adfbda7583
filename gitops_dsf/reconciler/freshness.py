"""On how many clusters a scorer's scores are fresh, expired or about to expire. Pure; time is the hub's."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gitops_dsf.reconciler.objects import Freshness, Scorer

NAMED: Final = 5
"""Clusters that a message names at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """Counts of clusters. Expired includes scores that are published without an end or without an item."""

    fresh: int = 0
    expiring: int = 0
    """Of the fresh ones: those with less than a quarter of the TTL left; agents renew at half."""
    expired: int = 0
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


def judge(scorer: Scorer, scores: Iterable[tuple[str, Freshness]], *, now: float) -> Scored:
    """`scores` are the AddOnPlacementScores of this scorer by cluster."""
    if scorer.spec.suspend:
        return Scored(reason="Suspended", message="spec.suspend is true: it runs nowhere")
    if scorer.spec.destination != "AddOnPlacementScore":
        return Scored(reason="NotPublished", message="scoreDestination is None: scores are exported as metrics only")
    fresh = expiring = 0
    dead: list[str] = []
    for cluster, item in scores:
        left = item.valid_until - now
        if left <= 0 or not item.count:
            dead.append(cluster)
            continue
        fresh += 1
        expiring += left < scorer.spec.ttl / 4
    message = f"fresh on {_clusters(fresh)}" + (f", {expiring} of them about to expire" if expiring else "")
    if dead:
        names = ", ".join(sorted(dead)[:NAMED]) + (", ..." if len(dead) > NAMED else "")
        message += f"; expired or empty on {_clusters(len(dead))} ({names}), where it counts as it last was or as 0"
    status, reason = ("False", "NoScores") if not fresh and not dead else ("False", "Expired") if dead else ("True", "Fresh")
    return Scored(fresh=fresh, expiring=expiring, expired=len(dead), status=status, reason=reason, message=message)


def _clusters(number: int) -> str:
    return "1 cluster" if number == 1 else f"{number} clusters"
