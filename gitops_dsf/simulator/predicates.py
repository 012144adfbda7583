"""The Predicate filter: the clusters that match a Placement's predicates.

Source: Filter of OCM v1.2.1 in pkg/placement/plugins/predicate/predicate.go, and Matches in
pkg/placement/helpers/clusters.go. Predicates are ORed; within one, the label selector, the claim
selector and every CEL expression are ANDed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import Predicate, predicate_of
from gitops_dsf.hub.selectors import SelectorError
from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.filtered import Filtered
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import Code, Status

PREDICATE_FILTER = "Predicate"


def filter_clusters(
    clusters: tuple[int, ...], *, placement: Placement, state: HubState
) -> Filtered:
    """The clusters that match at least one predicate.

    As in OCM, nothing is checked if there are no clusters: a mistake then stays unseen.
    """
    if not placement.spec.predicates or not clusters:
        return Filtered(clusters)
    predicates: list[Predicate] = []
    for declared in placement.spec.predicates:
        try:
            predicate = predicate_of(declared)
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
        selected = _selected(predicate, candidates, state) - matched
        if not predicate.expressions:
            matched |= selected
            continue
        for cluster in selected:
            answer = _all_true(predicate.expressions, cluster, state)
            if isinstance(answer, Unsupported):
                unknown.setdefault(cluster, answer)
            elif answer:
                matched.add(cluster)
    # An expression without an answer does not matter for a cluster that another predicate selects.
    open_questions = [unknown[cluster] for cluster in sorted(unknown) if cluster not in matched]
    kept = clusters
    if len(matched) != len(clusters):
        kept = tuple(sorted(matched))
    return Filtered(kept, unsupported=tuple(open_questions))


def _selected(predicate: Predicate, candidates: frozenset[int], state: HubState) -> frozenset[int]:
    """The clusters that match both selectors, whatever the expressions say."""
    return (
        candidates & state.labels.select(predicate.labels) & state.claims.select(predicate.claims)
    )


def _all_true(expressions: Sequence[str], cluster: int, state: HubState) -> bool | Unsupported:
    """Whether all expressions are true. The first one that is not decides."""
    # A failure counts as false: OCM v1.2.1 drops the cluster and only logs it, at a level that is
    # off by default (pkg/placement/helpers/cel.go: evaluateAllExpressions).
    for expression in expressions:
        answer = state.cel.answer(expression, cluster)
        if isinstance(answer, Unsupported):
            return answer
        if answer is not True:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Failure:
    """An expression that fails on a cluster. OCM drops the cluster and reports nothing."""

    predicate: int
    expression: int
    cluster: str
    reason: str


def failures(
    clusters: Iterable[int], *, placement: Placement, state: HubState
) -> Iterator[Failure]:
    """The clusters on which expressions fail and that no other predicate selects.

    All expressions must compile.
    """
    candidates = frozenset(clusters)
    dropped = candidates.difference(
        filter_clusters(tuple(sorted(candidates)), placement=placement, state=state).clusters
    )
    for number, declared in enumerate(placement.spec.predicates or ()):
        predicate = predicate_of(declared)
        for cluster in sorted(_selected(predicate, dropped, state)):
            for index, expression in enumerate(predicate.expressions):
                answer = state.cel.answer(expression, cluster)
                if answer is True:
                    continue
                if isinstance(answer, str):
                    yield Failure(number, index, state.names[cluster], answer)
                # OCM evaluates no further: the first expression that is not true decides.
                break


def mismatch(cluster: int, placement: Placement, state: HubState) -> str:
    """The reason why a cluster matched no predicate, one clause per predicate.

    The predicates must be valid, as they are after the filter has run.
    """
    predicates = placement.spec.predicates or ()
    reasons: list[str] = []
    for number, declared in enumerate(predicates):
        reason = _reason(predicate_of(declared), cluster, state)
        # Most Placements have one predicate, and then its index is not needed.
        reasons.append(reason if len(predicates) == 1 else f"predicates[{number}]: {reason}")
    return "; ".join(reasons)


def _reason(predicate: Predicate, cluster: int, state: HubState) -> str:
    for kind, selector, values in (
        ("label", predicate.labels, state.labels.labels[cluster]),
        ("claim", predicate.claims, state.claims.labels[cluster]),
    ):
        failed = selector.first_failure(values)
        if not failed:
            continue
        if failed.key not in values:
            return f"{kind} {failed} does not hold: the cluster does not have it"
        return f"{kind} {failed} does not hold: it is {values[failed.key]!r}"
    for expression in predicate.expressions:
        answer = state.cel.answer(expression, cluster)
        if answer is False:
            return f"CEL expression {expression!r} is false"
        if answer is not True:
            return f"CEL expression {expression!r} fails: {answer}"
    return "matches"
