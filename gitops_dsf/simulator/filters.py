"""Which clusters a Placement may use: cluster sets (pkg/placement/controllers/scheduling/helpers.go),
predicates (plugins/predicate) and taints (plugins/tainttoleration).

A cluster's availability does not matter here; taints represent it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_dsf.hub.metadata import EARLIEST, LATEST
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet, Placement, Taint, Toleration
from gitops_dsf.hub.placements import Predicate, predicate_of
from gitops_dsf.hub.selectors import SelectorError, compile_selector
from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status


class MembershipError(Exception):
    """The controller's pass ends with this error before it schedules. Decisions stay as they are."""


@dataclass(frozen=True, slots=True)
class Membership:
    bindings: int
    """Valid ManagedClusterSetBindings in the Placement's namespace: those whose set exists."""
    sets: tuple[str, ...]
    """Eligible sets, sorted."""
    clusters: tuple[int, ...]
    """Clusters of those sets that are not being deleted, in name order."""


NO_MEMBERSHIP = Membership(0, (), ())


def members_of(cluster_set: ManagedClusterSet, state: HubState) -> frozenset[int]:
    """The clusters of a set. Raises MembershipError: wrong selector type, or a selector is refused."""
    name = cluster_set.metadata.name
    selector = cluster_set.spec.cluster_selector if cluster_set.spec else None
    kind = selector.selector_type if selector else ""
    if kind in ("", "ExclusiveClusterSetLabel"):
        return state.labels.carrying(CLUSTER_SET_LABEL, name)
    if kind != "LabelSelector":
        raise MembershipError(
            f'failed to get clusters from ClusterSet "{name}": selectorType is not right: {kind}'
        )
    if selector is None or selector.label_selector is None:  # a nil pointer selects nothing
        return frozenset()
    try:
        return state.labels.select(compile_selector(selector.label_selector))
    except SelectorError as error:
        raise MembershipError(
            f'failed to get clusters from ClusterSet "{name}": {error}'
        ) from error


def resolve_membership(placement: Placement, state: HubState) -> Membership:
    """Bound sets, narrowed by spec.clusterSets, and their clusters. Raises as `members_of`."""
    namespace, listed = placement.metadata.namespace or "", placement.spec.cluster_sets
    known = state.memberships.get((namespace, listed))
    if known is not None:
        return known
    bound = [name for name in state.bindings.get(namespace, ()) if name in state.sets]
    sets = tuple(sorted(set(bound) & set(listed) if listed else bound))
    found: frozenset[int] = frozenset()
    for name in sets:
        found |= members_of(state.sets[name], state)
    membership = Membership(len(bound), sets, tuple(sorted(found - state.terminating)))
    state.memberships[namespace, listed] = membership
    return membership


PREDICATE_FILTER = "Predicate"


@dataclass(frozen=True, slots=True)
class Filtered:
    clusters: tuple[int, ...] = field(repr=False)
    status: Status = SUCCESS
    unsupported: tuple[Unsupported, ...] = ()
    """If it is not empty, it is unknown whether some clusters pass."""


def filter_clusters(
    clusters: tuple[int, ...], *, placement: Placement, state: HubState
) -> Filtered:
    """The clusters that match at least one predicate. Without clusters nothing is checked, as in OCM."""
    if not placement.spec.predicates or not clusters:
        return Filtered(clusters)
    predicates: list[Predicate] = []
    for written in placement.spec.predicates:
        try:
            predicate = predicate_of(written)
        except SelectorError as error:
            return Filtered((), Status(Code.MISCONFIGURED, str(error), PREDICATE_FILTER))
        for expression in predicate.expressions:
            problem = state.cel.check(expression)
            if isinstance(problem, Unsupported):
                return Filtered((), unsupported=(problem,))
            if problem is not None:
                return Filtered((), Status(Code.MISCONFIGURED, problem, PREDICATE_FILTER))
        predicates.append(predicate)
    return _match(clusters, predicates, state)


def _match(clusters: tuple[int, ...], predicates: Sequence[Predicate], state: HubState) -> Filtered:
    candidates = frozenset(clusters)
    matched: set[int] = set()
    unknown: dict[int, Unsupported] = {}
    for predicate in predicates:
        selected = (
            candidates
            & state.labels.select(predicate.labels)
            & state.claims.select(predicate.claims)
        ) - matched
        if not predicate.expressions:
            matched |= selected
            continue
        for cluster in selected:
            answer = _all_true(predicate.expressions, cluster, state)
            if isinstance(answer, Unsupported):
                unknown.setdefault(cluster, answer)
            elif answer:
                matched.add(cluster)
    open_questions = tuple(
        unknown[cluster] for cluster in sorted(unknown) if cluster not in matched
    )
    kept = clusters if len(matched) == len(clusters) else tuple(sorted(matched))
    return Filtered(kept, unsupported=open_questions)


def _all_true(expressions: Sequence[str], cluster: int, state: HubState) -> bool | Unsupported:
    """Expressions are ANDed. The first one that is not true decides."""
    for expression in expressions:
        answer = state.cel.answer(expression, cluster)
        if isinstance(answer, Unsupported):
            return answer
        if answer is not True:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Failure:
    """An expression that fails on a cluster, which OCM drops without a word."""

    predicate: int
    expression: int
    cluster: str
    reason: str


def failures(
    clusters: Iterable[int], *, placement: Placement, state: HubState
) -> Iterator[Failure]:
    """Where expressions fail, on clusters that no other predicate takes. All expressions must compile."""
    candidates = frozenset(clusters)
    dropped = candidates.difference(
        filter_clusters(tuple(sorted(candidates)), placement=placement, state=state).clusters
    )
    for number, written in enumerate(placement.spec.predicates or ()):
        predicate = predicate_of(written)
        selected = (
            dropped & state.labels.select(predicate.labels) & state.claims.select(predicate.claims)
        )
        for cluster in sorted(selected):
            answers = (
                state.cel.answer(expression, cluster) for expression in predicate.expressions
            )
            # The first expression that is not true decides.
            place, answer = next(
                ((at, each) for at, each in enumerate(answers) if each is not True), (0, True)
            )
            if isinstance(answer, str):
                yield Failure(number, place, state.names[cluster], answer)


def mismatch(cluster: int, placement: Placement, state: HubState) -> str:
    """Why a cluster matched no predicate, one clause per predicate. They are valid: the filter has run."""
    predicates, reasons = [predicate_of(each) for each in placement.spec.predicates or ()], []
    for number, predicate in enumerate(predicates):
        prefix = f"predicates[{number}]: " if len(predicates) > 1 else ""
        reasons.append(prefix + _reason(predicate, cluster, state))
    return "; ".join(reasons)


def _reason(predicate: Predicate, cluster: int, state: HubState) -> str:
    for what, selector, values in (
        ("label", predicate.labels, state.labels.labels[cluster]),
        ("claim", predicate.claims, state.claims.labels[cluster]),
    ):
        failed = selector.first_failure(values)
        if failed:
            has = (
                f"it is {values[failed.key]!r}"
                if failed.key in values
                else "the cluster does not have it"
            )
            return f"{what} {failed} does not hold: {has}"
    for expression in predicate.expressions:
        answer = state.cel.answer(expression, cluster)
        if answer is False:
            return f"CEL expression {expression!r} is false"
        if answer is not True:
            return f"CEL expression {expression!r} fails: {answer}"
    return "matches"


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
                Code.MISCONFIGURED, "If the key is empty, operator must be Exists.", TAINT_FILTER
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
    return next(
        (each for each in cluster.taints if tolerate(each, tolerations, in_decision, now) is None),
        None,
    )


def taint_reason(
    cluster: ManagedCluster, placement: Placement, in_decision: bool, now: datetime
) -> str:
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
    # An absent timeAdded in Go. Every tolerationSeconds counted from it has run out.
    added = taint.time_added or EARLIEST
    try:
        return added + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return LATEST if nanoseconds > 0 else EARLIEST


def requeue_time(
    *, placement: Placement, state: HubState, own: frozenset[str], now: datetime
) -> datetime | None:
    """When the first toleration of a cluster in the decisions runs out; OCM reconciles again then. Ignores
    tainted clusters that are not in the decisions, and clusters with a taint that no toleration matches.
    """
    ends: list[datetime] = []
    tolerations = placement.spec.tolerations or ()
    for cluster in state.tainted.intersection(map(state.positions.get, own)):
        taints = state.clusters[cluster].taints
        answers = [tolerate(taint, tolerations, True, now) for taint in taints]
        if None not in answers:
            ends += [answer.until for answer in answers if answer and answer.until]
    return min(ends, default=None)
