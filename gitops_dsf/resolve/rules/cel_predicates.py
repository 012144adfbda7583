"""Runs the CEL expressions of raw Placements on the clusters of the inventory.

OCM drops a cluster on which one fails, and reports nothing. An expression that fails because a
value is only on the hub is not reported: the inventory has few claims, for instance.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.resolve.cel import cel_mistakes
from gitops_dsf.resolve.cel_inventory import hub_state
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.label_selectors import invalid
from gitops_dsf.resolve.raw_placements import expressions, reads_score
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean

if TYPE_CHECKING:
    from gitops_dsf.simulator import HubState
    from gitops_dsf.simulator.predicates import Failure

_HUB_ONLY: Final = frozenset(
    {
        "clusterClaims",
        "managedClusterClientConfigs",
        "managedNamespaces",
        "leaseDurationSeconds",
        "scores",
    }
)
"""Fields that the inventory has in part or not at all: `import` takes few claims."""
_RESOURCES: Final = frozenset({"allocatable", "capacity"})
"""Fields that the inventory has on request only."""
_FIELDS: Final = (
    *("metadata", "spec", "status", "name", "labels", "annotations", "taints", "hubAcceptsClient"),
    *("version", "kubernetes", "conditions", "clusterClaims", "allocatable", "capacity"),
)
"""Fields that expressions read, for suggestions."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATUS: Final = re.compile(r"^[A-Z_]+: ")
"""The code that the engine writes before a message."""
_MISSING: Final = re.compile(r'Key not found in map : "(?P<key>.*)"', re.DOTALL)


@rule(needs=("ManagedCluster", "ManagedClusterSet"))
def expressions_fail_on_no_cluster(context: Context) -> Iterator[Diagnostic]:
    """Asks about each cluster of a Placement's sets; without an inventory, about a new cluster."""
    placements = list(filter(_can_be_asked, context.declared.placements))
    state = hub_state(context, placements) if placements else None
    if state is None:
        return
    for number, placement in enumerate(placements):
        yield from _of_a_placement(context, placement, state, f"n/p{number}")


@rule(needs=("ManagedCluster", "ManagedClusterSet"))
def expressions_hold_without_a_score(context: Context) -> Iterator[Diagnostic]:
    """Compares a cluster whose scorer never had a score with one without the object."""
    ours = {scorer.resource_name for scorer in context.scorers.values()}
    placements: list[Item[RawPlacement]] = []
    for placement in context.declared.placements:
        if not _can_be_asked(placement):
            continue
        if any(reads_score(text, ours) for _, text in expressions(placement.document)):
            placements.append(placement)
    if not placements:
        return
    absent = hub_state(context, placements)
    empty = hub_state(context, placements, empty_scores=sorted(ours))
    if absent is None or empty is None:
        return
    for placement in placements:
        for path, expression in expressions(placement.document):
            if not reads_score(expression, ours):
                continue
            # Both states are of one inventory, so a position is the same cluster in both.
            for position in range(len(empty.names)):
                with_object = empty.cel.answer(expression, position)
                if with_object is True and absent.cel.answer(expression, position) is not True:
                    yield codes.CEL_WITHOUT_SCORE.at(
                        placement.document.at(path),
                        "the expression also holds for a cluster whose scorer never had a score"
                        " there: its AddOnPlacementScore only says why, and scores(...) is an empty"
                        " list",
                        'ask for what must be there, such as scores("x").exists(score,'
                        ' score.name == "x" && score.value > 50)',
                    )
                    break


def _of_a_placement(
    context: Context, placement: Item[RawPlacement], state: "HubState", key: str
) -> Iterator[Diagnostic]:
    # Few repositories have expressions, and the simulator is slow to import.
    from gitops_dsf.simulator.predicates import failures  # noqa: PLC0415

    document = placement.document
    # Without clusterSets, OCM takes the sets with a binding, which may be on the hub alone.
    sets = placement.value.spec.get("clusterSets")
    names = context.inventory.members(sets) if sets and context.inventory.clusters else state.names
    candidates = [state.positions[name] for name in names if name in state.positions]
    by_path: dict[FieldPath, list[Failure]] = {}
    for failure in failures(candidates, placement=state.placement(key), state=state):
        selector = _selector(failure.predicate)
        path = (*selector, "celSelector", "celExpressions", failure.expression)
        # An expression that fails here may work on the hub, which knows more of a cluster.
        if not _is_unknown(failure, value_at(document.data, path), context):
            by_path.setdefault(path, []).append(failure)
    for path, failed in by_path.items():
        reason = _STATUS.sub("", failed[0].reason)
        clusters = _clusters(failed, len(candidates), is_new=not context.inventory.clusters)
        yield codes.CEL_PREDICATE.at(
            document.at(path),
            f"the expression fails on {clusters}: {reason}: OCM drops such a cluster and reports"
            " nothing",
            _hint(reason),
        )


def _selector(predicate: int) -> FieldPath:
    return ("spec", "predicates", predicate, "requiredClusterSelector")


def _clusters(failed: Sequence["Failure"], candidates: int, *, is_new: bool) -> str:
    """The clusters on which an expression fails, among a limited number that may be chosen."""
    first = failed[0].cluster
    if is_new:
        return "a cluster without labels of its own"
    if len(failed) == candidates == 1:
        return f"{first}, the only cluster that may be chosen"
    if len(failed) == candidates:
        return f"all {candidates} clusters that may be chosen"
    return f"{first} and {len(failed) - 1} more" if len(failed) > 1 else first


def _hint(reason: str) -> str:
    missing = _MISSING.fullmatch(reason)
    if missing is None:
        return "compare it with a value of its own type"
    key = missing["key"]
    similar = did_you_mean(key, _FIELDS) if key not in _FIELDS else ""
    return similar or f'guard it, such as "{key}" in ... && ..., or write [?"{key}"].orValue("")'


def _is_unknown(failure: "Failure", expression: str, context: Context) -> bool:
    """Whether an expression may fail only because the inventory lacks a value of the hub."""
    cluster = context.inventory.clusters.get(failure.cluster)
    unknown = _HUB_ONLY
    if cluster is None or not cluster.status.allocatable:
        unknown |= _RESOURCES
    if not unknown.intersection(_NAME.findall(expression)):
        return False
    # The reason may name a key that every hub has, or that the inventory has in full. Then the
    # expression fails on the hub, too.
    missing = _MISSING.search(failure.reason)
    return missing is None or missing["key"] not in _FIELDS or missing["key"] in unknown


def _can_be_asked(placement: Item[RawPlacement]) -> bool:
    """Whether a Placement has expressions, and no mistake in its predicates.

    Other rules report such mistakes.
    """
    document = placement.document
    if any(fields.problems(fields.placement_spec(), placement.value.spec)):
        return False
    has_expressions = False
    for index in range(len(placement.value.spec.get("predicates") or ())):
        selector = _selector(index)
        for name in ("labelSelector", "claimSelector"):
            path = (*selector, name)
            if any(invalid(document, path, value_at(document.data, path))):
                return False
        for path in document.items(*selector, "celSelector", "celExpressions"):
            expression = value_at(document.data, path)
            if not expression.strip() or cel_mistakes(expression):
                return False
            has_expressions = True
    return has_expressions
