"""The Predicate filter (pkg/placement/plugins/predicate): label, claim and CEL selectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import Predicate, predicate_of
from gitops_dsf.hub.selectors import SelectorError
from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import SUCCESS, Code, Status

FILTER = "Predicate"


@dataclass(frozen=True, slots=True)
class Filtered:
    clusters: tuple[int, ...] = field(repr=False)
    status: Status = SUCCESS
    unsupported: tuple[Unsupported, ...] = ()
    """If it is not empty, it is unknown whether some clusters pass."""


def filter_clusters(clusters: tuple[int, ...], *, placement: Placement, state: HubState) -> Filtered:
    """The clusters that match at least one predicate. Without clusters nothing is checked, as in OCM."""
    if not placement.spec.predicates or not clusters:
        return Filtered(clusters)
    predicates: list[Predicate] = []
    for written in placement.spec.predicates:
        try:
            predicate = predicate_of(written)
        except SelectorError as error:
            return Filtered((), Status(Code.MISCONFIGURED, str(error), FILTER))
        for expression in predicate.expressions:
            problem = state.cel.check(expression)
            if isinstance(problem, Unsupported):
                return Filtered((), unsupported=(problem,))
            if problem is not None:
                return Filtered((), Status(Code.MISCONFIGURED, problem, FILTER))
        predicates.append(predicate)
    return _match(clusters, predicates, state)


def _match(clusters: tuple[int, ...], predicates: Sequence[Predicate], state: HubState) -> Filtered:
    candidates = frozenset(clusters)
    matched: set[int] = set()
    unknown: dict[int, Unsupported] = {}
    for predicate in predicates:
        selected = (
            candidates & state.labels.select(predicate.labels) & state.claims.select(predicate.claims)
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
    open_questions = tuple(unknown[cluster] for cluster in sorted(unknown) if cluster not in matched)
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
            has = f"it is {values[failed.key]!r}" if failed.key in values else "the cluster does not have it"
            return f"{what} {failed} does not hold: {has}"
    for expression in predicate.expressions:
        answer = state.cel.answer(expression, cluster)
        if answer is False:
            return f"CEL expression {expression!r} is false"
        if answer is not True:
            return f"CEL expression {expression!r} fails: {answer}"
    return "matches"
