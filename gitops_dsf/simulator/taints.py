"""The TaintToleration filter, and the time when a toleration runs out.

Source: pkg/placement/plugins/tainttoleration/taint_toleration.go of OCM v1.2.1. Its registration
controller expresses by taints that a cluster is unavailable or unreachable, so this filter takes
applications off a lost cluster.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_dsf.hub.objects import ManagedCluster, Placement, Taint, Toleration
from gitops_dsf.hub.times import EARLIEST, LATEST
from gitops_dsf.simulator.filtered import Filtered
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

TAINT_FILTER = "TaintToleration"


@dataclass(frozen=True, slots=True)
class Tolerated:
    """The taint is tolerated; `until` is set if only for a time."""

    until: datetime | None = None


def toleration_status(placement: Placement) -> Status:
    """Misconfigured if the fields of a toleration contradict each other, else Success."""
    for toleration in placement.spec.tolerations or ():
        if not toleration.key and toleration.operator != "Exists":
            return Status(
                Code.MISCONFIGURED,
                "If the key is empty, operator must be Exists.",
                TAINT_FILTER,
            )
        if toleration.operator == "Exists" and toleration.value:
            return Status(
                Code.MISCONFIGURED,
                "If the operator is Exists, the value should be empty.",
                TAINT_FILTER,
            )
    return SUCCESS


def filter_tainted(
    clusters: Sequence[int],
    *,
    placement: Placement,
    state: HubState,
    own: frozenset[str],
    now: datetime,
) -> Filtered:
    """The clusters whose taints are all tolerated.

    `own` names the clusters in this Placement's decisions. As in OCM, contradicting tolerations are
    noticed only if there are clusters.
    """
    if not clusters:
        return Filtered(tuple(clusters))
    status = toleration_status(placement)
    if status.failed:
        return Filtered((), status)
    tainted = state.tainted.intersection(clusters)
    if not tainted:
        return Filtered(tuple(clusters), status)
    tolerations = placement.spec.tolerations or ()
    dropped: set[int] = set()
    for cluster in tainted:
        in_decision = state.names[cluster] in own
        if blocking_taint(state.clusters[cluster], tolerations, in_decision, now):
            dropped.add(cluster)
    tolerated = tuple(cluster for cluster in clusters if cluster not in dropped)
    return Filtered(tolerated, status)


def blocking_taint(
    cluster: ManagedCluster, tolerations: Sequence[Toleration], in_decision: bool, now: datetime
) -> Taint | None:
    """The first taint that no toleration matches, or None."""
    for taint in cluster.taints:
        if tolerate(taint, tolerations, in_decision, now) is None:
            return taint
    return None


def taint_reason(
    cluster: ManagedCluster, placement: Placement, in_decision: bool, now: datetime
) -> str:
    """The reason why a taint dropped a cluster, in words."""
    tolerations = placement.spec.tolerations or ()
    taint = blocking_taint(cluster, tolerations, in_decision, now)
    if taint is None:
        return "no taint excludes it"
    name = taint.key
    if taint.value:
        name = f"{taint.key}={taint.value}"
    for toleration in tolerations:
        seconds = toleration.toleration_seconds
        if seconds is None or not fits(taint, toleration):
            continue
        if taint.time_added is None:
            return (
                f"taint {name}:{taint.effect} is not tolerated: it has no timeAdded, so"
                " tolerationSeconds have always run out"
            )
        until = tolerated_until(taint, seconds)
        return (
            f"taint {name}:{taint.effect} is not tolerated since {until.isoformat()}"
            f" (tolerationSeconds {seconds})"
        )
    if taint.effect == "NoSelectIfNew":
        return (
            f"taint {name}:{taint.effect} is not tolerated, and the cluster is not in the current"
            " decisions"
        )
    return f"taint {name}:{taint.effect} is not tolerated"


def tolerate(
    taint: Taint, tolerations: Iterable[Toleration], in_decision: bool, now: datetime
) -> Tolerated | None:
    """The toleration of a taint; None if there is none.

    It is tolerated by its effect, or by the first matching toleration that has not run out.
    """
    # The API calls PreferNoSelect a preference, but OCM v1.2.1 gives it no effect on scores either.
    if taint.effect == "PreferNoSelect" or (taint.effect == "NoSelectIfNew" and in_decision):
        return Tolerated()
    for toleration in tolerations:
        if fits(taint, toleration):
            if toleration.toleration_seconds is None:
                return Tolerated()
            until = tolerated_until(taint, toleration.toleration_seconds)
            # OCM applies tolerationSeconds to every effect, although its API names only two.
            if now < until:
                return Tolerated(until)
    return None


def fits(taint: Taint, toleration: Toleration) -> bool:
    """Whether effect, key and value match. The time is ignored."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated_until(taint: Taint, seconds: int) -> datetime:
    """TimeAdded plus tolerationSeconds.

    Go counts in int64 nanoseconds, which wrap around beyond 292 years.
    """
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    # An absent timeAdded is the year 1 in Go, from which every tolerationSeconds has run out.
    added = taint.time_added or EARLIEST
    try:
        return added + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return LATEST if nanoseconds > 0 else EARLIEST


def requeue_time(
    *, placement: Placement, state: HubState, own: frozenset[str], now: datetime
) -> datetime | None:
    """The time when the first toleration of a decided cluster runs out. OCM reconciles again then.

    OCM ignores tainted clusters that are not in the decisions, and clusters with a taint that no
    toleration matches.
    """
    ends: list[datetime] = []
    tolerations = placement.spec.tolerations or ()
    for cluster in state.tainted.intersection(map(state.positions.get, own)):
        taints = state.clusters[cluster].taints
        answers = [tolerate(taint, tolerations, True, now) for taint in taints]
        # One taint that no toleration matches has dropped the cluster already.
        if None in answers:
            continue
        for answer in answers:
            if answer is not None and answer.until is not None:
                ends.append(answer.until)
    return min(ends, default=None)
