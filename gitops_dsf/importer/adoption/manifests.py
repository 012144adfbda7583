"""Documents for live Placements and ApplicationSets: the objects themselves, and their metadata.

The labels and annotations of people stay. Those of tools and controllers are removed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gitops_dsf.hub.names import DELIVERY_APPLICATION
from gitops_dsf.importer.adoption.forms import FollowedPlacement, LiveObject
from gitops_dsf.importer.adoption.liveset import without_unknown
from gitops_dsf.importer.manifest import ImportedObject, authored_metadata, name_of
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.model.base import PRODUCT_API

TRACKING_ANNOTATION: Final = "argocd.argoproj.io/tracking-id"
"""Annotation of an object that Argo CD applies.

It begins with the name of the Application (Argo CD 3.6.1).
"""


def merged(
    group: FollowedPlacement,
    placement: LiveObject,
    ranking: ImportedObject,
    documents: Sequence[tuple[LiveObject, ImportedObject]],
) -> ImportedObject | None:
    """One ScoredApplication for a Placement and an ApplicationSet of one name, if that says all."""
    if len(group.sets) != 1 or len(documents) != 1:
        return None
    [(live, application)] = documents
    is_one = (
        live.name == group.name
        and authored(live.data) == authored(placement.data)
        # A ScoredApplication has no groups: its ApplicationSet would not read them.
        and "decisionGroups" not in ranking["placement"]
    )
    if not is_one:
        return None
    spec = application["spec"]
    merged: ImportedObject = {"application": spec["application"], **ranking, "moves": spec["moves"]}
    return {**application, "spec": merged}


def scored_placement(placement: LiveObject, ranking: ImportedObject) -> ImportedObject:
    return {
        "apiVersion": PRODUCT_API,
        "kind": "ScoredPlacement",
        "metadata": {"name": placement.name, **authored(placement.data)},
        "spec": ranking,
    }


def as_it_is(data: Mapping[str, Any]) -> ImportedObject:
    """The manifest of an object without what controllers and tools wrote."""
    metadata = {"name": name_of(data), "namespace": namespace_of(data), **authored(data)}
    spec = value_at(data, ("spec",)) or {}
    if data["kind"] == "ApplicationSet":
        spec = without_unknown(spec)
    return {
        "apiVersion": data["apiVersion"],
        "kind": data["kind"],
        "metadata": metadata,
        "spec": spec,
    }


def authored(data: Mapping[str, Any]) -> ImportedObject:
    """The labels and annotations that people wrote."""
    kept: ImportedObject = {}
    for field in ("labels", "annotations"):
        entries = authored_metadata(data, field)
        if entries:
            kept[field] = entries
    return kept


def applied_by(data: Mapping[str, Any]) -> str:
    """The Application of another owner that applies an object; empty if there is none."""
    tracking = value_at(data, ("metadata", "annotations", TRACKING_ANNOTATION))
    owner = tracking.partition(":")[0] if isinstance(tracking, str) else ""
    # Ours applies what was written as it is, and goes on with what it becomes: both have one name.
    return "" if owner == DELIVERY_APPLICATION else owner


def namespace_of(data: Mapping[str, Any]) -> str:
    return str(value_at(data, ("metadata", "namespace")) or "")
