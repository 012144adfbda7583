"""Make before break: which copy may be deleted now, and what the others wait for. Pure.

A copy on a cluster that left the decision is deleted

- at once, when enough copies stay that are Healthy and Synced, at least one of them on a decided cluster;
- after the time-out, when every decided cluster has a copy, and enough copies stay that are no less healthy
  than the copy has been at best since the decision. So a healthy copy is never given up for an unhealthy one,
  and a rollout on the old cluster does not make its copy look unhealthy. The time-out ends the wait for a new
  copy that never becomes Synced, that is Suspended, whose health nobody reports (delivery Pull without
  feedback), or that is no worse than the old one.

Enough is the number of decided clusters, or the Placement's numberOfClusters when that is more: clusters that
are away for a while make the decision smaller, and must not cost a copy. Copies count once per cluster, and
not while their cluster is unreachable.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dsf_runtime.informer import Informer
from gitops_dsf.hub.applications import Application
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.wording import names_text

_RANKS: Final = {"Healthy": 3, "Suspended": 3, "Progressing": 2}
"""By health; 1 for all others. The rank of a copy on an unreachable cluster is 0."""
HOLD_SECONDS: Final = 180.0
"""A cluster that became reachable keeps its copies for this time. OCM decides within seconds while it runs.
When the leader of its placement controller has crashed, another one leads after 163 s at the latest (a lease
of 137 s, and 26 s between two attempts to take it).
"""


class Action(StrEnum):
    """What becomes of a copy on a cluster that left the decision."""

    DELETE = "delete"
    WAIT = "wait"
    KEEP = "keep"


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyVerdict:
    """What happens to one copy. `reason` is a word, `message` a sentence without changing numbers."""

    copy: Application
    action: Action
    reason: str
    message: str
    relies_on: tuple[Application, ...] = ()
    """For a deletion: the copies that must stay, those on decided clusters first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MoveState:
    """One ApplicationSet: its decision and all its copies."""

    decided: frozenset[str]
    """The clusters of the decision; not empty."""
    asked_for: int | None
    copies: tuple[Application, ...]
    unreachable: frozenset[str]
    returned: frozenset[str]
    overdue: bool
    best: Mapping[str, int]
    """The best rank of each copy since the decision, by UID. The present rank counts in any case."""
    name_on: Callable[[str], str]
    """The name that the ApplicationSet gives to the Application of a cluster."""

    @property
    def wanted(self) -> int:
        """How many copies must exist at any time."""
        return max(len(self.decided), self.asked_for or 0)


def evaluate(state: MoveState) -> tuple[CopyVerdict, ...]:
    """One verdict for each copy that is not on a decided cluster, by name. At most one is a deletion."""
    if not state.decided:
        msg = "an empty decision cannot be evaluated"
        raise ValueError(msg)
    staying = [copy for copy in state.copies if not copy.deleting]
    leaving = [copy for copy in staying if copy.cluster not in state.decided]
    found = [_kept(copy, state) for copy in leaving]
    verdicts = [verdict for verdict in found if verdict is not None]
    candidates = [copy for copy, verdict in zip(leaving, found, strict=True) if verdict is None]
    going = sorted(copy.name for copy in state.copies if copy.deleting)
    verdicts += [
        wait(copy, "Going", "Argo CD is deleting it and its workload")
        for copy in state.copies
        if copy.deleting and copy.cluster not in state.decided
    ]
    chosen = ""
    # The least healthy copy first.
    for copy in sorted(candidates, key=lambda item: (_rank(item, state), item.name)):
        if going:
            verdict = wait(
                copy, "Going", f"{going[0]} is being deleted; one copy is deleted at a time"
            )
        elif chosen:
            verdict = wait(
                copy, "Queued", f"{chosen} is deleted first; one copy is deleted at a time"
            )
        else:
            verdict = _candidate(copy, staying, state)
            chosen = copy.name if verdict.action is Action.DELETE else ""
        verdicts.append(verdict)
    return tuple(sorted(verdicts, key=lambda verdict: verdict.copy.name))


def _kept(copy: Application, state: MoveState) -> CopyVerdict | None:
    if not copy.cluster:
        return _keep(copy, "NoCluster", "its destination names no cluster")
    if not copy.application:
        return _keep(copy, "NotRendered", "it has no label gitops-dsf.io/application")
    if copy.name != state.name_on(copy.cluster):
        return _keep(
            copy,
            "Renamed",
            f"the Application for {copy.cluster} would be {state.name_on(copy.cluster)}, so"
            " somebody moved it",
        )
    if not copy.prunes:
        return _keep(
            copy, "WorkloadWouldStay", "it has no resources-finalizer, so its workload would stay"
        )
    return None


def _candidate(copy: Application, staying: Iterable[Application], state: MoveState) -> CopyVerdict:
    # A copy that somebody moved does not count: its name is another one than its cluster's.
    rest = [
        item
        for item in staying
        if item is not copy and item.cluster and item.name == state.name_on(item.cluster)
    ]
    rest.sort(key=lambda item: (item.cluster not in state.decided, item.name))
    there = {item.cluster for item in rest}
    good_copies = tuple(item for item in rest if is_good(item, state.unreachable))
    good = {item.cluster for item in good_copies}
    if copy.cluster in state.unreachable:
        return wait(
            copy,
            "ClusterUnreachable",
            f"OCM does not reach {copy.cluster}, so its workload could not be deleted now",
        )
    if copy.cluster in state.returned:
        return wait(
            copy,
            "ClusterReturned",
            f"{copy.cluster} became reachable recently, and OCM may decide for it again",
        )
    if good & state.decided and len(good) >= state.wanted:
        message = f"{_named(good & state.decided)} Healthy and Synced"
        return _delete(copy, "Healthy", message, relies_on=good_copies)
    missing, unfit = state.decided - there, state.decided & there - good
    if missing:
        return wait(copy, "NewCopyMissing", f"no Application yet: {_named(missing)} decided")
    if state.overdue:
        at_best = max(rank(copy), state.best.get(copy.uid, 0))
        as_healthy = tuple(item for item in rest if _rank(item, state) >= at_best)
        clusters = {item.cluster for item in as_healthy}
        if len(clusters) >= state.wanted:
            message = f"the time-out is over, and {_named(clusters)} no less healthy"
            return _delete(copy, "TimedOut", message, relies_on=as_healthy)
    if unfit:
        reason, words = (
            ("TimedOut", "the time-out is over, and still ")
            if state.overdue
            else ("NewCopyNotHealthy", "")
        )
        return wait(copy, reason, f"{words}{_states(unfit, rest, state)}")
    return wait(
        copy,
        "WantedCount",
        f"{state.wanted} copies are wanted, and without this one {len(good)} would be Healthy and Synced"
        f" (decided: {len(state.decided)})",
    )


def is_good(copy: Application, unreachable: frozenset[str]) -> bool:
    """Healthy and Synced, and the last sync neither runs nor failed."""
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


def _rank(copy: Application, state: MoveState) -> int:
    return 0 if copy.cluster in state.unreachable else rank(copy)


def _states(clusters: Iterable[str], copies: Iterable[Application], state: MoveState) -> str:
    by_cluster = {copy.cluster: copy for copy in copies}
    listed = sorted(clusters)
    return names_text(
        f"{by_cluster[name].name} is {_state(by_cluster[name], state)}" for name in listed
    )


def _state(copy: Application, state: MoveState) -> str:
    if copy.cluster in state.unreachable:
        return "on a cluster that OCM does not reach"
    words = [copy.health or "of unknown health", copy.sync or "never compared"]
    if copy.phase not in {"", "Succeeded"}:
        words.append(f"sync {copy.phase}")
    return "/".join(words)


def _named(clusters: Iterable[str]) -> str:
    """The names, with "is" or "are"."""
    names = sorted(clusters)
    return f"{names_text(names)} {'is' if len(names) == 1 else 'are'}"


def _delete(
    copy: Application, reason: str, message: str, *, relies_on: tuple[Application, ...]
) -> CopyVerdict:
    return CopyVerdict(
        copy=copy, action=Action.DELETE, reason=reason, message=message, relies_on=relies_on
    )


def wait(copy: Application, reason: str, message: str) -> CopyVerdict:
    return CopyVerdict(copy=copy, action=Action.WAIT, reason=reason, message=message)


def _keep(copy: Application, reason: str, message: str) -> CopyVerdict:
    return CopyVerdict(copy=copy, action=Action.KEEP, reason=reason, message=message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reachability:
    unreachable: frozenset[str]
    """Clusters that OCM does not reach."""
    returned: frozenset[str]
    """Clusters that became reachable, or lost a taint, within HOLD_SECONDS."""


class ReachabilityTracker:
    """Remembers changes that this process saw. Of earlier ones the condition has the hub's time."""

    def __init__(
        self,
        *,
        clusters: Informer[ManagedCluster],
        clock: Callable[[], float],
        hub_time: Callable[[], float],
    ) -> None:
        self._clusters, self._clock, self._hub_time = clusters, clock, hub_time
        self._at: dict[str, float] = {}
        """When a cluster returned, by the clock of this process."""
        clusters.compare(self._note)

    def of(self, clusters: Mapping[str, ManagedCluster]) -> Reachability:
        now, hub_now = self._clock(), self._hub_time()
        self._at = {name: at for name, at in self._at.items() if now < at + HOLD_SECONDS}
        return Reachability(
            unreachable=frozenset(name for name, item in clusters.items() if item.unreachable),
            returned=frozenset(
                name
                for name, item in clusters.items()
                if name in self._at or self._is_new(name, item, hub_now)
            ),
        )

    def _is_new(self, name: str, item: ManagedCluster, hub_now: float) -> bool:
        since, before = item.available_since, self._clusters.items.get(name)
        return (since is not None and hub_now < since + HOLD_SECONDS) or (
            before is not None and _returns(before, item)
        )

    def _note(self, name: str, before: ManagedCluster | None, item: ManagedCluster | None) -> None:
        if before is not None and item is not None and _returns(before, item):
            self._at[name] = self._clock()


def _returns(before: ManagedCluster, item: ManagedCluster) -> bool:
    """Whether OCM may decide for the cluster now, and could not before."""
    return (before.unreachable and not item.unreachable) or any(
        taint not in item.taints for taint in before.taints
    )
