"""On how many clusters a scorer's scores are fresh, about to expire, expired, or missing. Pure; time is the hub's."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from gitops_dsf.reconciler.hub.scorers import Scorer
from gitops_dsf.reconciler.hub.scores import Freshness
from gitops_dsf.repository.model.scoring_config import MASKS_CONFIGMAP

NAMED: Final = 5
"""Clusters that a message names at most, of each state."""
GRACE_SECONDS: Final = 120.0
"""Until a new scorer, cluster or add-on can have published: the kubelet alone takes 60 to 90 s to show the agent a new entry."""
GRACE_INTERVALS: Final = 2
EXPIRING: Final = 0.25
"""Share of the TTL that is left when a score is called expiring; agents renew at half."""
_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """Clusters by state, and the condition that they make."""

    fresh: int = 0
    expiring: frozenset[str] = _NOBODY
    """Of the fresh ones."""
    expired: frozenset[str] = _NOBODY
    """Also those with a score that has no end or no item: no agent of ours leaves one so."""
    missing: frozenset[str] = _NOBODY
    """Where the scorer should run and nothing is published, or no longer."""
    waiting: frozenset[str] = _NOBODY
    """Where nothing is published yet, and it may still come."""
    unclear: frozenset[str] = _NOBODY
    """Where nothing is published, and masks that are not known may be the reason."""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    until: float = inf
    """Hub time from which on time alone may change this."""


def grace(scorer: Scorer) -> float:
    """Seconds in which a score that is not there yet is no news."""
    return max(GRACE_SECONDS, GRACE_INTERVALS * scorer.spec.scoring.params.interval)


def judge(
    scorer: Scorer,
    scores: Mapping[str, Freshness],
    *,
    expected: frozenset[str],
    since: Callable[[str], float],
    masks_known: bool,
    now: float,
) -> Scored:
    """`scores` are its AddOnPlacementScores by cluster, `expected` the clusters where it should run, `since` when each of them began to."""
    if scorer.spec.suspend:
        return Scored(reason="Suspended", message="spec.suspend is true: it runs nowhere")
    if scorer.spec.destination != "AddOnPlacementScore":
        return Scored(reason="NotPublished", message="scoreDestination is None: scores are exported as metrics only")
    fresh, until = 0, inf
    expiring, expired, missing, waiting = set[str](), set[str](), set[str](), set[str]()
    soon = scorer.spec.ttl * EXPIRING
    for cluster, item in scores.items():
        left = item.valid_until - now
        if left <= 0 or not item.count:
            expired.add(cluster)
            continue
        fresh += 1
        if left < soon:
            expiring.add(cluster)
            until = min(until, item.valid_until)
        else:
            until = min(until, item.valid_until - soon)
    patience = grace(scorer)
    for cluster in expected - scores.keys():
        ends = since(cluster) + patience
        if now < ends:
            waiting.add(cluster)
            until = min(until, ends)
        else:
            missing.add(cluster)
    unclear = missing if not masks_known else set[str]()
    found = Scored(
        fresh=fresh,
        expiring=frozenset(expiring),
        expired=frozenset(expired),
        missing=frozenset(missing - unclear),
        waiting=frozenset(waiting),
        unclear=frozenset(unclear),
        until=until,
    )
    return _said(found)


def named(clusters: Iterable[str]) -> str:
    """3 clusters (a, b, c); of many only the first few."""
    ordered = sorted(clusters)
    names = ", ".join(ordered[:NAMED]) + (", ..." if len(ordered) > NAMED else "")
    return f"{_clusters(len(ordered))} ({names})"


def _said(found: Scored) -> Scored:
    parts = [f"fresh on {_clusters(found.fresh)}" + (f", about to expire on {named(found.expiring)}" if found.expiring else "")]
    if found.expired:
        parts.append(f"expired or empty on {named(found.expired)}")
    if found.missing:
        parts.append(f"missing on {named(found.missing)}")
    if found.waiting:
        parts.append(f"not published yet on {named(found.waiting)}")
    if found.unclear:
        parts.append(f"missing or masked on {named(found.unclear)}: the hub has no ConfigMap {MASKS_CONFIGMAP} that would tell")
    status, reason = _verdict(found)
    message = "; ".join(parts) if reason != "NoCluster" else "no cluster has the agent and is left to it by clusterSelector and masks"
    return replace(found, status=status, reason=reason, message=message)


def _verdict(found: Scored) -> tuple[str, str]:
    if found.expired:
        return "False", "Expired"
    if found.missing:
        return "False", "Missing" if found.fresh else "NoScores"
    if found.fresh:
        return "True", "Fresh"
    return "Unknown", "NoScores" if found.waiting or found.unclear else "NoCluster"


def _clusters(number: int) -> str:
    return "1 cluster" if number == 1 else f"{number} clusters"
