"""Make before break: which copy may be deleted now, and what the others wait for. Pure.

A copy on a cluster that left the decision is deleted

- at once, when enough copies stay that are Healthy and Synced, at least one of them on a decided
  cluster;
- after the time-out, when every decided cluster has a copy, and enough copies stay that are no less
  healthy than the copy has been at best since the decision. So a healthy copy is never given up for
  an unhealthy one, and a rollout on the old cluster does not make its copy look unhealthy. The
  time-out ends the wait for a new copy that never becomes Synced, that is Suspended, whose health
  nobody reports (delivery Pull without feedback), or that is no worse than the old one.

Enough is the number of decided clusters, or the Placement's numberOfClusters when that is more:
clusters that are away for a while make the decision smaller, and must not cost a copy. Copies count
once per cluster, and not while their cluster is unreachable.

Where moves are verified, an old copy waits in both cases until the checks have passed.

Not guaranteed: that an old copy goes at all. Where the new copy stays worse than the old one, both
stay.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.wording import names_text

_RANKS: Final = {"Healthy": 3, "Suspended": 3, "Progressing": 2}
"""Ranks by health; any other health has rank 1.

The rank of a copy on an unreachable cluster is 0.
"""


class Action(StrEnum):
    """The action on a copy whose cluster left the decision."""

    DELETE = "delete"
    WAIT = "wait"
    KEEP = "keep"


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyVerdict:
    """The verdict on one copy. `message` is a sentence without numbers that change."""

    copy: ArgoApplication
    action: Action
    reason: MoveReason
    message: str
    relies_on: tuple[ArgoApplication, ...] = ()
    """The copies that must stay after a deletion, those on decided clusters first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveState:
    """One ApplicationSet: its decision and all its copies."""

    decided: frozenset[str]
    """The clusters of the decision; not empty."""
    asked_for: int | None
    copies: tuple[ArgoApplication, ...]
    unreachable: frozenset[str]
    returned: frozenset[str]
    overdue: bool
    best: Mapping[str, int]
    """The best rank of each copy since the decision, by UID.

    The present rank counts in any case.
    """
    name_on: Callable[[str], str]
    """The name that the ApplicationSet gives to the Application of a cluster."""
    unverified: Mapping[str, str] = field(default_factory=dict)
    """Reasons, by cluster, why a copy must stay although enough others are healthy: its move is not
    verified yet.
    """

    @property
    def wanted(self) -> int:
        """The number of copies that must exist at any time."""
        return max(len(self.decided), self.asked_for or 0)


def evaluate(state: MoveState) -> tuple[CopyVerdict, ...]:
    """One verdict for each copy that is not on a decided cluster, by name.

    At most one is a deletion.
    """
    if not state.decided:
        msg = "an empty decision cannot be evaluated"
        raise ValueError(msg)
    staying = [copy for copy in state.copies if not copy.deleting]
    going = sorted(copy.name for copy in state.copies if copy.deleting)
    verdicts: list[CopyVerdict] = []
    candidates: list[ArgoApplication] = []
    for copy in state.copies:
        if copy.cluster in state.decided:
            continue
        if copy.deleting:
            message = "Argo CD is deleting it and its workload"
            verdicts.append(wait(copy, MoveReason.GOING, message))
            continue
        kept = never_deleted(copy, state.name_on)
        if kept is not None:
            verdicts.append(kept)
        else:
            candidates.append(copy)
    chosen = ""
    # The least healthy copy first, so that the better ones stay as long as possible.
    # One at a time, because each verdict counts on the other copies that stay.
    for copy in sorted(candidates, key=lambda candidate: (_rank(candidate, state), candidate.name)):
        if going:
            message = f"{going[0]} is being deleted; one copy is deleted at a time"
            verdicts.append(wait(copy, MoveReason.GOING, message))
        elif chosen:
            message = f"{chosen} is deleted first; one copy is deleted at a time"
            verdicts.append(wait(copy, MoveReason.QUEUED, message))
        else:
            verdict = _candidate(copy, staying, state)
            if verdict.action is Action.DELETE and copy.cluster in state.unverified:
                verdict = wait(copy, MoveReason.VERIFYING, state.unverified[copy.cluster])
            chosen = copy.name if verdict.action is Action.DELETE else ""
            verdicts.append(verdict)
    return tuple(sorted(verdicts, key=lambda verdict: verdict.copy.name))


def never_deleted(copy: ArgoApplication, name_on: Callable[[str], str]) -> CopyVerdict | None:
    """The reason why a copy is never deleted; None if it may be deleted.

    `name_on` gives the name of the Application of a cluster.
    """
    if not copy.cluster:
        return keep(copy, MoveReason.NO_CLUSTER, "its destination names no cluster")
    if not copy.application:
        return keep(copy, MoveReason.NOT_RENDERED, "it has no label gitops-dsf.io/application")
    name = name_on(copy.cluster)
    if copy.name != name:
        message = f"the Application for {copy.cluster} would be {name}, so somebody moved it"
        return keep(copy, MoveReason.RENAMED, message)
    if not copy.prunes:
        message = "it has no resources-finalizer, so its workload would stay"
        return keep(copy, MoveReason.WORKLOAD_WOULD_STAY, message)
    return None


def _candidate(
    copy: ArgoApplication, staying: Iterable[ArgoApplication], state: MoveState
) -> CopyVerdict:
    # A copy that was moved by hand does not count: its name is not that of its cluster.
    others: list[ArgoApplication] = []
    for other in staying:
        if other is copy or not other.cluster:
            continue
        if other.name == state.name_on(other.cluster):
            others.append(other)
    # Copies on decided clusters come first, because a deletion changes only the first few.
    others.sort(key=lambda other: (other.cluster not in state.decided, other.name))
    present = _clusters_of(others)
    good_copies = tuple(other for other in others if is_good(other, state.unreachable))
    # Copies count once per cluster: several copies on one cluster fail together.
    good = _clusters_of(good_copies)
    if copy.cluster in state.unreachable:
        message = f"OCM does not reach {copy.cluster}, so its workload could not be deleted now"
        return wait(copy, MoveReason.CLUSTER_UNREACHABLE, message)
    if copy.cluster in state.returned:
        message = f"{copy.cluster} became reachable recently, and OCM may decide for it again"
        return wait(copy, MoveReason.CLUSTER_RETURNED, message)
    if good & state.decided and len(good) >= state.wanted:
        message = f"{_names_with_verb(good & state.decided)} Healthy and Synced"
        return _delete(copy, MoveReason.HEALTHY, message, relies_on=good_copies)
    missing = state.decided - present
    unfit = state.decided & present - good
    if missing:
        message = f"no Application yet: {_names_with_verb(missing)} decided"
        return wait(copy, MoveReason.NEW_COPY_MISSING, message)
    if state.overdue:
        at_best = max(rank(copy), state.best.get(copy.uid, 0))
        as_healthy = tuple(other for other in others if _rank(other, state) >= at_best)
        clusters = _clusters_of(as_healthy)
        if len(clusters) >= state.wanted:
            message = f"the time-out is over, and {_names_with_verb(clusters)} no less healthy"
            return _delete(copy, MoveReason.TIMED_OUT, message, relies_on=as_healthy)
    if unfit and state.overdue:
        message = f"the time-out is over, and still {_states(unfit, others, state)}"
        return wait(copy, MoveReason.TIMED_OUT, message)
    if unfit:
        return wait(copy, MoveReason.NEW_COPY_NOT_HEALTHY, _states(unfit, others, state))
    message = (
        f"{state.wanted} copies are wanted, and without this one {len(good)} would be Healthy and"
        f" Synced (decided: {len(state.decided)})"
    )
    return wait(copy, MoveReason.WANTED_COUNT, message)


def _clusters_of(copies: Iterable[ArgoApplication]) -> set[str]:
    return {copy.cluster for copy in copies}


def is_good(copy: ArgoApplication, unreachable: frozenset[str]) -> bool:
    """Healthy and Synced, and the last sync neither runs nor failed.

    What Argo CD shows of a copy on a cluster that OCM does not reach may be of the past, so it is
    not good.
    """
    # A sync that runs, or that failed and is tried again, may change the copy in a moment.
    sync_is_over = copy.phase in {"", "Succeeded"}
    return (
        copy.health == "Healthy"
        and copy.sync == "Synced"
        and sync_is_over
        and not copy.deleting
        and copy.cluster not in unreachable
    )


def rank(copy: ArgoApplication) -> int:
    """3 for Healthy and Suspended, 2 for Progressing, 1 for all others."""
    return _RANKS.get(copy.health, 1)


def _rank(copy: ArgoApplication, state: MoveState) -> int:
    return 0 if copy.cluster in state.unreachable else rank(copy)


def _states(clusters: Iterable[str], copies: Iterable[ArgoApplication], state: MoveState) -> str:
    by_cluster = {copy.cluster: copy for copy in copies}
    copies_there = [by_cluster[cluster] for cluster in sorted(clusters)]
    return names_text(f"{copy.name} is {_state(copy, state)}" for copy in copies_there)


def _state(copy: ArgoApplication, state: MoveState) -> str:
    if copy.cluster in state.unreachable:
        return "on a cluster that OCM does not reach"
    words = [copy.health or "of unknown health", copy.sync or "never compared"]
    if copy.phase not in {"", "Succeeded"}:
        words.append(f"sync {copy.phase}")
    return "/".join(words)


def _names_with_verb(clusters: Iterable[str]) -> str:
    """The names, with "is" or "are"."""
    names = sorted(clusters)
    verb = "is" if len(names) == 1 else "are"
    return f"{names_text(names)} {verb}"


def _delete(
    copy: ArgoApplication,
    reason: MoveReason,
    message: str,
    *,
    relies_on: tuple[ArgoApplication, ...],
) -> CopyVerdict:
    return CopyVerdict(
        copy=copy, action=Action.DELETE, reason=reason, message=message, relies_on=relies_on
    )


def wait(copy: ArgoApplication, reason: MoveReason, message: str) -> CopyVerdict:
    return CopyVerdict(copy=copy, action=Action.WAIT, reason=reason, message=message)


def keep(copy: ArgoApplication, reason: MoveReason, message: str) -> CopyVerdict:
    return CopyVerdict(copy=copy, action=Action.KEEP, reason=reason, message=message)
