"""Make before break: which copy may go now, and what the others wait for. Pure.

A copy on a cluster that left the decision goes

- at once, when as many copies as are wanted stay that are Healthy and Synced, one of them on a decided
  cluster at least;
- after the time-out, when every decided cluster has a copy, and as many copies as are wanted stay that are no
  less healthy than it has been at best since the decision settled. So a healthy copy is never given up for
  one that is not, and a rollout on the old cluster does not make it look like one that fails. What the
  time-out ends is waiting for a copy that never becomes Synced, that is Suspended, whose health nobody
  reports (delivery Pull without feedback), or that is no worse than the old one.

Wanted is the number of decided clusters, or the Placement's numberOfClusters where that is more: clusters
that are away for a while make the decision smaller, and cost no copy. Copies count once for each cluster, and
not while their cluster cannot be reached.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gitops_dsf.hub.applications import Application

_RANKS: Final = {"Healthy": 3, "Suspended": 3, "Progressing": 2}
"""Of health; 1 for all others. A copy whose cluster cannot be reached counts as 0."""
NAMED: Final = 5
"""Clusters named in a message."""


class Action(StrEnum):
    """What becomes of a copy on a cluster that left the decision."""

    REMOVE = "remove"
    WAIT = "wait"
    KEEP = "keep"
    """It is not ours to remove."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """About one copy. `reason` is one word, `message` a sentence without anything that changes by itself."""

    copy: Application
    action: Action
    reason: str
    message: str
    relies_on: tuple[Application, ...] = ()
    """Of a removal: the copies that must stay, those on decided clusters first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """One ApplicationSet: its decision and all its copies."""

    decided: frozenset[str]
    """The union of all pages; not empty."""
    asked_for: int | None
    """The Placement's numberOfClusters."""
    copies: tuple[Application, ...]
    unreachable: frozenset[str]
    """Clusters that OCM does not see."""
    returned: frozenset[str]
    """Clusters that became reachable a moment ago."""
    overdue: bool
    """Whether the decision has held for the time-out."""
    best: Mapping[str, int]
    """The best rank that a copy has had while this decision held, by UID; what it has now counts in any case.
    """
    name_on: Callable[[str], str]
    """The name that the ApplicationSet gives to the Application of a cluster."""

    @property
    def wanted(self) -> int:
        """How many copies there must be at any time."""
        return max(len(self.decided), self.asked_for or 0)


def judge(situation: Situation) -> tuple[Verdict, ...]:
    """One verdict for each copy that is not on a decided cluster, by name; at most one of them removes."""
    if not situation.decided:
        msg = "an empty decision is no reason to judge anything"
        raise ValueError(msg)
    staying = [copy for copy in situation.copies if not copy.deleting]
    leaving = [copy for copy in staying if copy.cluster not in situation.decided]
    found = [_kept(copy, situation) for copy in leaving]
    verdicts = [verdict for verdict in found if verdict is not None]
    candidates = [copy for copy, verdict in zip(leaving, found, strict=True) if verdict is None]
    going = sorted(copy.name for copy in situation.copies if copy.deleting)
    verdicts += [
        _wait(copy, "Going", "Argo CD is deleting it with its workload")
        for copy in situation.copies
        if copy.deleting and copy.cluster not in situation.decided
    ]
    removed = ""
    # The least healthy first: it is missed least.
    for copy in sorted(candidates, key=lambda item: (_rank(item, situation), item.name)):
        if going:
            verdict = _wait(copy, "Going", f"{going[0]} is being deleted; one copy goes at a time")
        elif removed:
            verdict = _wait(copy, "Queued", f"{removed} goes first; one copy goes at a time")
        else:
            verdict = _candidate(copy, staying, situation)
            removed = copy.name if verdict.action is Action.REMOVE else ""
        verdicts.append(verdict)
    return tuple(sorted(verdicts, key=lambda verdict: verdict.copy.name))


def _kept(copy: Application, situation: Situation) -> Verdict | None:
    if not copy.cluster:
        return _keep(copy, "NoCluster", "its destination names no cluster")
    if not copy.application:
        return _keep(copy, "NotRendered", "it has no label gitops-dsf.io/application")
    if copy.name != situation.name_on(copy.cluster):
        return _keep(
            copy,
            "Renamed",
            f"the Application for {copy.cluster} would be {situation.name_on(copy.cluster)}: somebody"
            " moved it",
        )
    if not copy.prunes:
        return _keep(
            copy, "WorkloadWouldStay", "it has no resources-finalizer, so its workload would stay behind"
        )
    return None


def _candidate(copy: Application, staying: Iterable[Application], situation: Situation) -> Verdict:
    # One that somebody moved is no copy that the ApplicationSet would keep where it is.
    rest = [
        item
        for item in staying
        if item is not copy and item.cluster and item.name == situation.name_on(item.cluster)
    ]
    rest.sort(key=lambda item: (item.cluster not in situation.decided, item.name))
    there = {item.cluster for item in rest}
    good_copies = tuple(item for item in rest if is_good(item, situation.unreachable))
    good = {item.cluster for item in good_copies}
    if copy.cluster in situation.unreachable:
        return _wait(
            copy,
            "ClusterUnreachable",
            f"OCM does not see {copy.cluster}: its workload could not be deleted now",
        )
    if copy.cluster in situation.returned:
        return _wait(
            copy,
            "ClusterReturned",
            f"{copy.cluster} became reachable a moment ago, and OCM may decide for it again",
        )
    if good & situation.decided and len(good) >= situation.wanted:
        message = f"{_named(good & situation.decided)} Healthy and Synced"
        return _remove(copy, "Healthy", message, relies_on=good_copies)
    missing, unfit = situation.decided - there, situation.decided & there - good
    if missing:
        return _wait(copy, "NewCopyMissing", f"no Application yet: {_named(missing)} decided")
    if situation.overdue:
        at_best = max(rank(copy), situation.best.get(copy.uid, 0))
        as_healthy = tuple(item for item in rest if _rank(item, situation) >= at_best)
        clusters = {item.cluster for item in as_healthy}
        if len(clusters) >= situation.wanted:
            message = f"the time-out is over, and {_named(clusters)} no less healthy"
            return _remove(copy, "TimedOut", message, relies_on=as_healthy)
    if unfit:
        reason, words = (
            ("TimedOut", "the time-out is over, and still ")
            if situation.overdue
            else ("NewCopyNotHealthy", "")
        )
        return _wait(copy, reason, f"{words}{_states(unfit, rest, situation)}")
    return _wait(
        copy,
        "WantedCount",
        f"{situation.wanted} copies are wanted; without it {len(good)} would be Healthy and Synced (decided:"
        f" {len(situation.decided)})",
    )


def is_good(copy: Application, unreachable: frozenset[str]) -> bool:
    """Healthy and Synced, with no sync that is under way or failed last."""
    settled = copy.phase in {"", "Succeeded"}
    return (
        copy.health == "Healthy"
        and copy.sync == "Synced"
        and settled
        and not copy.deleting
        and copy.cluster not in unreachable
    )


def rank(copy: Application) -> int:
    """3 for Healthy and Suspended, 2 for Progressing, 1 for all others."""
    return _RANKS.get(copy.health, 1)


def _rank(copy: Application, situation: Situation) -> int:
    return 0 if copy.cluster in situation.unreachable else rank(copy)


def _states(clusters: Iterable[str], copies: Iterable[Application], situation: Situation) -> str:
    by_cluster = {copy.cluster: copy for copy in sorted(copies, key=lambda item: item.name, reverse=True)}
    listed = sorted(clusters)
    words = [f"{by_cluster[name].name} is {_state(by_cluster[name], situation)}" for name in listed[:NAMED]]
    return ", ".join(words) + (f" and {len(listed) - NAMED} more" if len(listed) > NAMED else "")


def _state(copy: Application, situation: Situation) -> str:
    if copy.cluster in situation.unreachable:
        return "on a cluster that OCM does not see"
    words = [copy.health or "of unknown health", copy.sync or "never compared"]
    if copy.phase not in {"", "Succeeded"}:
        words.append(f"sync {copy.phase}")
    return "/".join(words)


def _named(clusters: Iterable[str]) -> str:
    """With the verb that fits."""
    names = sorted(clusters)
    words = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return f"{words} {'is' if len(names) == 1 else 'are'}"


def _remove(copy: Application, reason: str, message: str, *, relies_on: tuple[Application, ...]) -> Verdict:
    return Verdict(copy=copy, action=Action.REMOVE, reason=reason, message=message, relies_on=relies_on)


def _wait(copy: Application, reason: str, message: str) -> Verdict:
    return Verdict(copy=copy, action=Action.WAIT, reason=reason, message=message)


def _keep(copy: Application, reason: str, message: str) -> Verdict:
    return Verdict(copy=copy, action=Action.KEEP, reason=reason, message=message)
