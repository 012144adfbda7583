"""Freshness of scores: which are fresh, about to expire, expired, missing or dead. Pure.

A score is dead when it expired more than one TTL ago and nothing is left that could renew it. Times
are the hub's.

Guaranteed: a score of a cluster that may only be out of reach for a moment is not dead. Agents and
clusters count as lost only when OCM says so. Not guaranteed: that the answer holds later. A caller
that deletes by it reads the score and its cluster again first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from gitops_dsf.hub.names import MASKS_CONFIGMAP
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.score_failures import FailureGroup, failure_groups, failures_text
from gitops_dsf.hub.score_states import ScoreState, state_of, state_of_absent
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import PublishedScore, ScoreFailure
from gitops_dsf.hub.times import moment_of
from gitops_dsf.wording import names_text, plural

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Assessment:
    """Clusters by the state of their score, and the condition Scored."""

    fresh: int = 0
    expiring: frozenset[str] = _NONE
    """Part of the fresh clusters."""
    expired: frozenset[str] = _NONE
    """Includes clusters whose score has no item."""
    endless: frozenset[str] = _NONE
    """It has no validUntil, so OCM counts it for ever, and it is never fresh.

    No agent of ours writes such a score, and upstream's agent writes no other.
    """
    missing: frozenset[str] = _NONE
    """The scorer should run there, and nothing is published, or no longer."""
    waiting: frozenset[str] = _NONE
    """Clusters where nothing is published yet, and where it is too early to call that a fault."""
    unclear: frozenset[str] = _NONE
    """Clusters where nothing is published and the masks are unknown: a mask may be the reason."""
    failing: tuple[FailureGroup, ...] = ()
    """Clusters whose agent says why there are no scores now, also while the last one counts."""
    scored: int = 0
    """Clusters with a fresh score whose agent reports no failure."""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


def assess(
    scorer: DynamicScorer,
    scores: Mapping[str, PublishedScore],
    *,
    published: AbstractSet[str],
    expected: frozenset[str],
    since: Callable[[str], float],
    masks_known: bool,
    now: float,
    failures: Mapping[str, ScoreFailure] = MappingProxyType({}),
    expire: bool = True,
) -> Assessment:
    """The state of the scores of one scorer, with the condition Scored.

    `scores` are those that are not clearly fresh, `published` are the clusters that have a score at
    all, `since` gives the time at which a cluster came to be expected, and `failures` what agents
    say of clusters without new scores. `expire`: whether agents write until when a score is valid.
    """
    if scorer.spec.suspend:
        return Assessment(reason="Suspended", message="spec.suspend is true, so it runs nowhere")
    if not scorer.publishes:
        return Assessment(
            reason="NotPublished",
            message="scoreDestination is None, so scores are exported as metrics only",
        )
    by_state: dict[ScoreState, set[str]] = {state: set() for state in ScoreState}
    for cluster, score in scores.items():
        until = None if score.valid_until is None else score.valid_until.timestamp()
        by_state[state_of(until, filled=bool(score.names), ttl=scorer.ttl, now=now)].add(cluster)
    for cluster in expected - published:
        state = state_of_absent(since=since(cluster), interval=scorer.interval, now=now)
        by_state[state].add(cluster)
    missing = by_state[ScoreState.MISSING]
    # OCM counts both as 0.
    expired = by_state[ScoreState.EXPIRED] | by_state[ScoreState.EMPTY]
    # An agent that says why it has no scores is not masked.
    unclear = missing - failures.keys() if not masks_known else set[str]()
    # Scores that are clearly fresh are not in `scores`, so they are the remainder of all that are
    # published.
    fresh = len(published) - len(expired) - len(by_state[ScoreState.ENDLESS])
    reported = {cluster: failure for cluster, failure in failures.items() if cluster in expected}
    absent = expired | by_state[ScoreState.ENDLESS]
    assessment = Assessment(
        fresh=fresh,
        failing=failure_groups(reported),
        scored=fresh - len((reported.keys() & published) - absent),
        expiring=frozenset(by_state[ScoreState.EXPIRING]),
        expired=frozenset(expired),
        endless=frozenset(by_state[ScoreState.ENDLESS]),
        missing=frozenset(missing - unclear),
        waiting=frozenset(by_state[ScoreState.WAITING]),
        unclear=frozenset(unclear),
    )
    return _with_condition(assessment, on_hub=scorer.on_hub, expire=expire)


def named(clusters: Iterable[str]) -> str:
    """For example: 3 clusters (a, b, c). Names the first few of many."""
    ordered = sorted(clusters)
    return f"{plural(len(ordered), 'cluster')} ({names_text(ordered)})"


def _with_condition(assessment: Assessment, *, on_hub: bool, expire: bool) -> Assessment:
    status, reason = _condition(assessment, expire=expire)
    if assessment.failing:
        return replace(
            assessment, status=status, reason=reason, message="; ".join(_failure_texts(assessment))
        )
    if reason != "NoCluster":
        message = "; ".join(_state_texts(assessment))
    elif on_hub:
        message = "no cluster fits clusterSelector without being masked"
    else:
        message = "no cluster with the agent's add-on fits clusterSelector without being masked"
    return replace(assessment, status=status, reason=reason, message=message)


def _state_texts(assessment: Assessment) -> Iterator[str]:
    """The number of clusters in each state, with the names of the first ones."""
    fresh = plural(assessment.fresh, "cluster")
    if assessment.expiring:
        yield f"fresh on {fresh}, about to expire on {named(assessment.expiring)}"
    else:
        yield f"fresh on {fresh}"
    if assessment.expired:
        yield f"expired or empty on {named(assessment.expired)}"
    if assessment.endless:
        yield f"without validUntil, so that OCM counts it forever, on {named(assessment.endless)}"
    if assessment.missing:
        yield f"missing on {named(assessment.missing)}"
    if assessment.waiting:
        yield f"not published yet on {named(assessment.waiting)}"
    if assessment.unclear:
        yield (
            f"missing or masked on {named(assessment.unclear)}: ConfigMap {MASKS_CONFIGMAP} is"
            " missing or unreadable"
        )


def _failure_texts(assessment: Assessment) -> Iterator[str]:
    """The number of clusters with scores, why others have none, and those without a reason."""
    absent = (
        assessment.expired,
        assessment.endless,
        assessment.missing,
        assessment.waiting,
        assessment.unclear,
    )
    total = assessment.fresh + sum(map(len, absent))
    yield f"scores on {assessment.scored} of {plural(total, 'cluster')}"
    yield failures_text(assessment.failing)
    explained = frozenset[str]().union(*(group.clusters for group in assessment.failing))
    counted = len(explained - frozenset[str]().union(*absent))
    if counted:
        yield f"the last score still counts on {counted} of them"
    unexplained = replace(
        assessment,
        fresh=0,
        expiring=assessment.expiring - explained,
        expired=assessment.expired - explained,
        missing=assessment.missing - explained,
        waiting=assessment.waiting - explained,
    )
    # The first text is that about fresh scores.
    yield from list(_state_texts(unexplained))[1:]


def _condition(assessment: Assessment, *, expire: bool) -> tuple[str, str]:
    if assessment.expired:
        return "False", "Expired"
    if assessment.endless and expire:
        return "False", "NoExpiry"
    if assessment.missing:
        return "False", "Missing" if assessment.fresh or assessment.endless else "NoScores"
    if assessment.failing:
        # The last scores count for a while, or the scorer is too new for them to be missed.
        return "False", "Failing"
    if assessment.endless:
        # Such a score cannot be distinguished from the score of an agent that is dead.
        return "Unknown", "NoExpiry"
    if assessment.fresh:
        return "True", "Fresh"
    return "Unknown", "NoScores" if assessment.waiting or assessment.unclear else "NoCluster"


UNAVAILABLE: Final = frozenset({"False", "Unknown"})
"""Values of the condition Available. A condition that OCM has not written yet counts as neither."""
DAY: Final = 86_400.0
"""The TTL of a score that no scorer has any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """The scorer to which all scores of one name belong.

    If several scorers have the name, it is the first one, with the longest TTL of all.
    """

    item: DynamicScorer
    ttl: float


def owners(scorers: Iterable[DynamicScorer]) -> dict[str, Owner]:
    """The owner for each name of an AddOnPlacementScore."""
    by_resource: dict[str, Owner] = {}
    for scorer in sorted(scorers, key=lambda scorer: scorer.name):
        owner = by_resource.get(scorer.resource)
        # With the longest TTL a score is called dead later, and never too early.
        ttl = float(scorer.ttl) if owner is None else max(owner.ttl, scorer.ttl)
        by_resource[scorer.resource] = Owner(item=scorer if owner is None else owner.item, ttl=ttl)
    return by_resource


def why_not_renewed(
    cluster: ManagedCluster | None,
    agent: ManagedClusterAddOn | None,
    *,
    owner: Owner | None = None,
    on_hub: bool = False,
) -> str:
    """The reason why nothing can renew a score; empty if its agent or its hub scorer may."""
    if cluster is None:
        return "there is no such ManagedCluster"
    if cluster.deleting:
        return "the ManagedCluster is being deleted"
    # When a cluster falls silent, OCM says so after five lease durations, 300 s by default
    # (v1.2.1). So a short interruption of the network ends no score.
    if cluster.unreachable:
        return "the cluster is not available"
    # The hub scorer needs no agent on the cluster.
    if owner is not None and owner.item.on_hub:
        return ""
    if owner is None and on_hub:
        return "no scorer on the hub has this score any more"
    if agent is None or agent.deleting:
        return "the agent's add-on is not installed"
    return "the agent's add-on is not available" if agent.available in UNAVAILABLE else ""


def deadline(owner: Owner | None, *, now: float) -> datetime:
    """The time before which a score must have expired to be dead.

    A score without validUntil never expires.
    """
    return moment_of(now - (DAY if owner is None else owner.ttl))


def find_dead(
    resource: str,
    scores: Mapping[str, PublishedScore],
    *,
    clusters: Mapping[str, ManagedCluster],
    addons: Mapping[str, ManagedClusterAddOn],
    owner: Owner | None,
    now: float,
) -> list[tuple[str, str]]:
    """The names and clusters of the dead scores of one name, sorted by cluster.

    The manager of a score is not kept in memory, so only a read shows whether the score is one of
    ours.
    """
    before = deadline(owner, now=now)
    dead: list[tuple[str, str]] = []
    for name, score in scores.items():
        # One that only says why there is no score counts for nothing, so it needs no deadline.
        is_over = score.valid_until is not None and score.valid_until < before
        if not is_over and not score.only_failure:
            continue
        cluster = clusters.get(name)
        if why_not_renewed(cluster, addons.get(name), owner=owner, on_hub=score.on_hub):
            dead.append((resource, name))
    return sorted(dead)
