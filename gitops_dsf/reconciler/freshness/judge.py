"""On how many clusters a scorer's scores are fresh, about to expire, expired, or missing. Pure; time is the
hub's.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from gitops_dsf.hub.freshness import State, changes_at, grace, state_of, state_of_absent
from gitops_dsf.hub.names import MASKS_CONFIGMAP
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.scores import ScoreSummary

NAMED: Final = 5
"""Clusters that a message names at most, of each state."""
_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """Clusters by state, and the condition that they make."""

    fresh: int = 0
    expiring: frozenset[str] = _NOBODY
    """Of the fresh ones."""
    expired: frozenset[str] = _NOBODY
    """Also those with a score that has no item."""
    endless: frozenset[str] = _NOBODY
    """Where a score has no validUntil: OCM counts it for ever, and it is never fresh. No agent of ours leaves
    one so.
    """
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


def judge(
    scorer: DynamicScorer,
    scores: Mapping[str, ScoreSummary],
    *,
    expected: frozenset[str],
    since: Callable[[str], float],
    masks_known: bool,
    now: float,
) -> Scored:
    """`scores` are its AddOnPlacementScores by cluster, `expected` the clusters where it should run, `since`
    when each of them began to.
    """
    if scorer.spec.suspend:
        return Scored(reason="Suspended", message="spec.suspend is true: it runs nowhere")
    if not scorer.publishes:
        return Scored(
            reason="NotPublished", message="scoreDestination is None: scores are exported as metrics only"
        )
    until, ttl, interval = inf, scorer.ttl, scorer.interval
    by_state: dict[State, set[str]] = {state: set() for state in State}
    for cluster, item in scores.items():
        state = state_of(item.valid_until, filled=bool(item.count), ttl=ttl, now=now)
        by_state[state].add(cluster)
        if item.valid_until is not None and state in {State.FRESH, State.EXPIRING}:
            until = min(until, changes_at(item.valid_until, ttl=ttl, now=now))
    for cluster in expected - scores.keys():
        began = since(cluster)
        state = state_of_absent(since=began, interval=interval, now=now)
        by_state[state].add(cluster)
        if state is State.WAITING:
            until = min(until, began + grace(interval))
    missing, expired = by_state[State.MISSING], by_state[State.EXPIRED] | by_state[State.EMPTY]
    unclear = missing if not masks_known else set[str]()
    found = Scored(
        fresh=len(by_state[State.FRESH]) + len(by_state[State.EXPIRING]),
        expiring=frozenset(by_state[State.EXPIRING]),
        expired=frozenset(expired),
        endless=frozenset(by_state[State.ENDLESS]),
        missing=frozenset(missing - unclear),
        waiting=frozenset(by_state[State.WAITING]),
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
    parts = [
        f"fresh on {_clusters(found.fresh)}"
        + (f", about to expire on {named(found.expiring)}" if found.expiring else "")
    ]
    if found.expired:
        parts.append(f"expired or empty on {named(found.expired)}")
    if found.endless:
        parts.append(f"without an end, which OCM counts for ever, on {named(found.endless)}")
    if found.missing:
        parts.append(f"missing on {named(found.missing)}")
    if found.waiting:
        parts.append(f"not published yet on {named(found.waiting)}")
    if found.unclear:
        parts.append(
            f"missing or masked on {named(found.unclear)}: the hub has no ConfigMap {MASKS_CONFIGMAP} that"
            " would tell"
        )
    status, reason = _verdict(found)
    message = (
        "; ".join(parts)
        if reason != "NoCluster"
        else "no cluster has the agent and is left to it by clusterSelector and masks"
    )
    return replace(found, status=status, reason=reason, message=message)


def _verdict(found: Scored) -> tuple[str, str]:
    if found.expired:
        return "False", "Expired"
    if found.endless:
        return "False", "NoExpiry"
    if found.missing:
        return "False", "Missing" if found.fresh else "NoScores"
    if found.fresh:
        return "True", "Fresh"
    return "Unknown", "NoScores" if found.waiting or found.unclear else "NoCluster"


def _clusters(number: int) -> str:
    return "1 cluster" if number == 1 else f"{number} clusters"
