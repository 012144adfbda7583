"""Holds: clusters that applications came back from, and do not go to for a while. Pure.

A hold begins with a return, lasts `holdSeconds`, and twice as long with each further return, up to
7 days. It ends sooner when the application, its scorers or the cluster's entry of the inventory
change in git: then what was measured there says little.

Not guaranteed: that OCM does not send an application there itself, because another cluster is lost.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from gitops_dsf.hub.pace import Verification
from gitops_dsf.pacing.ledger import MAX_DETAIL, MAX_HOLD_SECONDS, MAX_HOLDS, Hold

MAX_DOUBLINGS: Final = 20
"""No hold is doubled more often: a minute, doubled 14 times, is longer than the longest hold."""


def holding(
    holds: Sequence[Hold],
    *,
    placement: str,
    target: str,
    verification: Verification,
    inventory: str,
    detail: str,
    now: float,
) -> tuple[Hold, ...]:
    """The holds with one that begins now. `inventory` is the digest of the cluster's entry."""
    returns = 1
    others: list[Hold] = []
    for hold in holds:
        if (hold.placement, hold.target) == (placement, target):
            returns = hold.returns + 1
        else:
            others.append(hold)
    doublings = min(returns - 1, MAX_DOUBLINGS)
    seconds = min(verification.hold_seconds * 2**doublings, MAX_HOLD_SECONDS)
    hold = Hold(
        placement=placement,
        target=target,
        since=now,
        until=now + seconds,
        returns=returns,
        revision=verification.revision,
        inventory=inventory,
        detail=detail[:MAX_DETAIL],
    )
    return bounded((*others, hold), MAX_HOLDS)


def bounded(holds: Sequence[Hold], limit: int) -> tuple[Hold, ...]:
    """At most `limit` holds: those that end last."""
    if len(holds) <= limit:
        return tuple(holds)
    last = sorted(holds, key=lambda hold: hold.until, reverse=True)[:limit]
    stay = set(map(id, last))
    return tuple(hold for hold in holds if id(hold) in stay)


def remaining(
    holds: Sequence[Hold],
    verifications: Mapping[str, Verification],
    inventory: Mapping[str, str],
    *,
    now: float,
) -> tuple[Hold, ...]:
    """The holds that still matter.

    `verifications` are by namespace/name of the Placement, and `inventory` has the digests by
    cluster. A digest that is not known ends nothing.
    """
    remaining: list[Hold] = []
    for hold in holds:
        verification = verifications.get(hold.placement)
        if verification is None or verification.revision != hold.revision:
            continue
        digest = inventory.get(hold.target, "")
        if hold.inventory and digest and digest != hold.inventory:
            continue
        # A hold that is over is remembered, so that the next one is longer.
        if now < hold.until + MAX_HOLD_SECONDS:
            remaining.append(hold)
    return tuple(remaining)


def held_targets(holds: Sequence[Hold], now: float) -> Mapping[str, Mapping[str, Hold]]:
    """The holds of now by Placement (namespace/name), and then by cluster."""
    held: defaultdict[str, dict[str, Hold]] = defaultdict(dict)
    for hold in holds:
        if hold.active(now):
            held[hold.placement][hold.target] = hold
    return held


def held_clusters(holds: Sequence[Hold], now: float) -> Mapping[str, frozenset[str]]:
    """The names of the clusters of `held_targets`. Equal ones are compared without their times."""
    clusters: dict[str, frozenset[str]] = {}
    for placement, by_cluster in held_targets(holds, now).items():
        clusters[placement] = frozenset(by_cluster)
    return clusters
