"""Taints and tolerations (pkg/placement/plugins/tainttoleration)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gitops_dsf.hub.objects import ManagedCluster, Placement, Taint, Toleration
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

FILTER = "TaintToleration"
ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""An absent timeAdded in Go. Every tolerationSeconds counted from it has run out."""

LATEST_TIME = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tolerated:
    """The taint is tolerated; `until` is set if only for a time."""

    until: datetime | None = None


def toleration_status(placement: Placement) -> Status:
    """Misconfigured if the fields of a toleration contradict each other, else Success."""
    for toleration in placement.spec.tolerations or ():
        if not toleration.key and toleration.operator != "Exists":
            return Status(Code.MISCONFIGURED, "If the key is empty, operator must be Exists.", FILTER)
        if toleration.operator == "Exists" and toleration.value:
            return Status(Code.MISCONFIGURED, "If the operator is Exists, the value should be empty.", FILTER)
    return SUCCESS


def filter_tainted(
    clusters: Sequence[int], *, placement: Placement, state: HubState, own: frozenset[str], now: datetime
) -> tuple[tuple[int, ...], Status]:
    """The clusters whose taints are all tolerated. Tolerations are checked only if there are clusters."""
    if not clusters:
        return tuple(clusters), SUCCESS
    status = toleration_status(placement)
    if status.failed:
        return (), status
    suspects = state.tainted.intersection(clusters)
    if not suspects:
        return tuple(clusters), status
    tolerations = placement.spec.tolerations or ()
    dropped = {
        cluster
        for cluster in suspects
        if blocking_taint(state.clusters[cluster], tolerations, state.names[cluster] in own, now)
    }
    return tuple(cluster for cluster in clusters if cluster not in dropped), status


def blocking_taint(
    cluster: ManagedCluster, tolerations: Sequence[Toleration], in_decision: bool, now: datetime
) -> Taint | None:
    """The first taint that no toleration matches, or None."""
    for taint in (cluster.spec.taints if cluster.spec else None) or ():
        if tolerate(taint, tolerations, in_decision, now) is None:
            return taint
    return None


def reason(cluster: ManagedCluster, placement: Placement, in_decision: bool, now: datetime) -> str:
    """Why a taint dropped a cluster, in words."""
    tolerations = placement.spec.tolerations or ()
    taint = blocking_taint(cluster, tolerations, in_decision, now)
    if taint is None:
        return "no taint excludes it"
    shown = f"{taint.key}={taint.value}" if taint.value else taint.key
    text = f"taint {shown}:{taint.effect} is not tolerated"
    for toleration in tolerations:
        if toleration.toleration_seconds is not None and fits(taint, toleration):
            if taint.time_added is None:
                return f"{text}: it has no timeAdded, so tolerationSeconds have always run out"
            until = tolerated_until(taint, toleration.toleration_seconds)
            return f"{text} since {until.isoformat()} (tolerationSeconds {toleration.toleration_seconds})"
    new = taint.effect == "NoSelectIfNew"
    return f"{text}, and the cluster is not in the current decisions" if new else text


def tolerate(
    taint: Taint, tolerations: Iterable[Toleration], in_decision: bool, now: datetime
) -> Tolerated | None:
    """How a taint is tolerated: by its effect, or by the first matching toleration that has not run out."""
    if taint.effect == "PreferNoSelect" or (taint.effect == "NoSelectIfNew" and in_decision):
        return Tolerated()
    for toleration in tolerations:
        if fits(taint, toleration):
            if toleration.toleration_seconds is None:
                return Tolerated()
            until = tolerated_until(taint, toleration.toleration_seconds)
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
    """The taint's timeAdded + tolerationSeconds, in Go's int64 nanoseconds, which wrap beyond 292 years."""
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    added = taint.time_added or ZERO_TIME
    try:
        return added + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return LATEST_TIME if nanoseconds > 0 else ZERO_TIME


def requeue_time(
    *, placement: Placement, state: HubState, own: frozenset[str], now: datetime
) -> datetime | None:
    """When the first toleration of a cluster in the decisions runs out; OCM reconciles again then.

    Ignores tainted clusters that are not in the decisions, and clusters with a taint that no toleration
    matches.
    """
    found: datetime | None = None
    tolerations = placement.spec.tolerations or ()
    for name in own:
        cluster = state.positions.get(name)
        if cluster is None or cluster not in state.tainted:
            continue
        spec = state.clusters[cluster].spec
        answers = [tolerate(taint, tolerations, True, now) for taint in (spec.taints if spec else None) or ()]
        if None in answers:
            continue
        for answer in answers:
            if answer and answer.until and (found is None or answer.until < found):
                found = answer.until
    return found
