"""Runs the CEL expressions of raw Placements on the clusters of the inventory, by the simulator's engine. OCM
drops a cluster on which one fails, and reports nothing.

The inventory does not have all that a hub knows of a cluster. What every cluster has once it joined is filled
in, and an expression that fails for want of something else that only the hub has is not reported.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import ManagedCluster, RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.placements import cel_mistakes
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.rules.selectors import invalid
from gitops_dsf.wording import did_you_mean

if TYPE_CHECKING:
    from gitops_dsf.simulator import HubState
    from gitops_dsf.simulator.predicates import Failure

_GROUP: Final = "cluster.open-cluster-management.io"
_JOINED: Final = (
    "HubAcceptedManagedCluster",
    "ManagedClusterJoined",
    "ManagedClusterConditionAvailable",
)
_FILLED: Final[Mapping[str, Any]] = {
    "conditions": [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind in _JOINED
    ],
    "version": {"kubernetes": "v1.34.0"},
}
"""The status of a cluster that joined."""
_HUB_ONLY: Final = frozenset(
    {
        "clusterClaims",
        "managedClusterClientConfigs",
        "managedNamespaces",
        "leaseDurationSeconds",
        "scores",
    }
)
"""What the inventory has in part or not at all. `import` takes few claims, and resources on request."""
_RESOURCES: Final = frozenset({"allocatable", "capacity"})
_FIELDS: Final = (
    *("metadata", "spec", "status", "name", "labels", "annotations", "taints", "hubAcceptsClient"),
    *("version", "kubernetes", "conditions", "clusterClaims", "allocatable", "capacity"),
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATUS: Final = re.compile(r"^[A-Z_]+: ")
"""The code that the engine writes before a message."""
_MISSING: Final = re.compile(r'Key not found in map : "(?P<key>.*)"', re.DOTALL)
_NEW_NAME: Final = "new"
"""Stands for a cluster where the inventory has none."""
_NEW: Final = "a cluster without labels of its own"


@rule(needs=("ManagedCluster", "ManagedClusterSet"))
def expressions_fail_on_no_cluster(context: Context) -> Iterator[Diagnostic]:
    """Asks about each cluster that the sets of a Placement have; without an inventory, about a new one."""
    placements = [item for item in context.declared.placements if _can_be_asked(item)]
    if placements and (state := _state(context, placements)) is not None:
        for number, item in enumerate(placements):
            yield from _of_a_placement(context, item, state, f"n/p{number}")


def _of_a_placement(
    context: Context, item: Item[RawPlacement], state: "HubState", key: str
) -> Iterator[Diagnostic]:
    from gitops_dsf.simulator.predicates import failures  # noqa: PLC0415 - few repositories have expressions

    sets = item.value.spec.get("clusterSets")
    names = context.inventory.members(sets) if sets and context.inventory.clusters else state.names
    chosen = [state.positions[name] for name in names if name in state.positions]
    by_place: dict[Path, list[Failure]] = {}
    for failure in failures(chosen, placement=state.placement(key), state=state):
        place = (*_selector(failure.predicate), "celSelector", "celExpressions", failure.expression)
        if not _is_unknown(failure, value_at(item.document.data, place), context):
            by_place.setdefault(place, []).append(failure)
    for place, found in by_place.items():
        reason = _STATUS.sub("", found[0].reason)
        who = _who(found, len(chosen), is_new=not context.inventory.clusters)
        message = (
            f"the expression fails on {who}: {reason}: OCM drops such a cluster and reports nothing"
        )
        yield codes.CEL_PREDICATE.at(item.document.at(place), message, _hint(reason))


def _selector(predicate: int) -> Path:
    return ("spec", "predicates", predicate, "requiredClusterSelector")


def _who(found: Sequence["Failure"], candidates: int, *, is_new: bool) -> str:
    if is_new:
        return _NEW
    if len(found) == candidates:
        return (
            f"{found[0].cluster}, the only cluster that may be chosen"
            if candidates == 1
            else f"all {candidates} clusters that may be chosen"
        )
    return f"{found[0].cluster} and {len(found) - 1} more" if found[1:] else found[0].cluster


def _hint(reason: str) -> str:
    missing = _MISSING.fullmatch(reason)
    if missing is None:
        return "compare it with a value of its own type"
    key = missing["key"]
    close = did_you_mean(key, _FIELDS) if key not in _FIELDS else ""
    return close or f'guard it, such as "{key}" in ... && ..., or write [?"{key}"].orValue("")'


def _is_unknown(failure: "Failure", expression: str, context: Context) -> bool:
    """Whether an expression may fail only because the inventory lacks what the hub has."""
    cluster = context.inventory.clusters.get(failure.cluster)
    unknown = _HUB_ONLY
    if cluster is None or not cluster.status.allocatable:
        unknown |= _RESOURCES
    missing = _MISSING.search(failure.reason)
    read = unknown.intersection(_NAME.findall(expression))
    return bool(read) and (
        missing is None or missing["key"] not in _FIELDS or missing["key"] in unknown
    )


def _can_be_asked(item: Item[RawPlacement]) -> bool:
    """Whether a Placement has expressions, and no mistake in its predicates of which another rule tells."""
    document, found = item.document, False
    if any(fields.problems(fields.placement_spec(), item.value.spec)):
        return False
    for index, _ in enumerate(item.value.spec.get("predicates") or ()):
        place = _selector(index)
        for name in ("labelSelector", "claimSelector"):
            where = (*place, name)
            if any(invalid(document, where, value_at(document.data, where))):
                return False
        for where in document.items(*place, "celSelector", "celExpressions"):
            expression = value_at(document.data, where)
            if not expression.strip() or cel_mistakes(expression):
                return False
            found = True
    return found


def _state(context: Context, placements: Sequence[Item[RawPlacement]]) -> "HubState | None":
    from gitops_dsf.simulator import HubState, SimulatorInputError, with_defaults  # noqa: PLC0415 - as above

    clusters = [_cluster(item) for item in context.declared.clusters]
    group = f"{_GROUP}/v1beta1"
    objects = [
        {
            "apiVersion": group,
            "kind": "Placement",
            "metadata": {"name": f"p{number}", "namespace": "n"},
            "spec": {"predicates": item.value.spec["predicates"]},
        }
        for number, item in enumerate(placements)
    ]
    try:
        return HubState.build(
            with_defaults([*(clusters or [_filled(_NEW_NAME, {}, {}, {})]), *objects])
        )
    except SimulatorInputError:
        return None  # another rule tells what is wrong with a cluster


def _cluster(item: Item[ManagedCluster]) -> dict[str, Any]:
    value, data = item.value, item.document.data
    annotations = value_at(data, ("metadata", "annotations"))
    status = {
        "clusterClaims": [claim.model_dump() for claim in value.status.cluster_claims],
        "allocatable": value.status.allocatable,
        "capacity": value.status.capacity,
    }
    metadata = {
        "labels": value.metadata.labels,
        "annotations": annotations if isinstance(annotations, dict) else {},
    }
    spec = {"hubAcceptsClient": True, "taints": value.spec.taints}
    return _filled(value.metadata.name, metadata, spec, status)


def _filled(
    name: str, metadata: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
) -> dict[str, Any]:
    """A cluster as the hub would have it: annotations come from programs that created it."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ManagedCluster",
        "metadata": {
            **metadata,
            "name": name,
            "uid": name,
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": [f"{_GROUP}/managedcluster-role"],
            "annotations": {"gitops-dsf.io/filled-in": "", **metadata.get("annotations", {})},
        },
        "spec": {"hubAcceptsClient": True, "leaseDurationSeconds": 60, **spec},
        "status": {**_FILLED, **{field: known for field, known in status.items() if known}},
    }
