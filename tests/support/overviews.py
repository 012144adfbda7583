"""Inputs of a view from objects, without a hub."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from gitops_dsf.hub.application_sets import read_application_set
from gitops_dsf.hub.applications import read_application
from gitops_dsf.hub.objects import ManagedClusterAddOn, Placement
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.snapshots.collect import SnapshotDocument, collect
from gitops_dsf.hub.targets import Mask
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.pacing.stored import read_moves
from gitops_dsf.views.status.inputs import HubPart, StatusInputs
from tests.support.hubobjects import NOW, Object

OBSERVED = {
    "ManagedCluster",
    "ManagedClusterSet",
    "ManagedClusterSetBinding",
    "PlacementDecision",
    "AddOnPlacementScore",
}


def inputs_of(
    objects: Iterable[Object],
    *,
    now: datetime = NOW,
    unread: Iterable[HubPart] = (),
    unread_list: str = "",
    **more: Any,
) -> StatusInputs:
    """Returns the inputs as `live` reads them. An unread part is forbidden and has no objects.

    `unread_list` is what is wrong with the list of scorers.
    """
    kinds: dict[str, list[Object]] = {}
    for item in objects:
        kinds.setdefault(item["kind"], []).append(item)
    documents = [
        SnapshotDocument(place=kind, kind=kind, text=msgspec.json.encode(item))
        for kind in OBSERVED
        for item in kinds.get(kind, ())
    ]
    maps = [item["data"] for item in kinds.get("ConfigMap", ())]
    masks = [
        mask for data in maps if "masks" in data for mask in msgspec.json.decode(data["masks"])
    ]
    moves = [read_moves(data) for data in maps if "ledger" in data]
    settings: dict[str, Any] = {
        "snapshot": collect(documents, origin="context hub"),
        "scorers": tuple(
            msgspec.convert(item, DynamicScorer) for item in kinds.get("DynamicScorer", ())
        ),
        "placements": tuple(
            msgspec.convert(item, Placement) for item in kinds.get("Placement", ())
        ),
        "application_sets": tuple(
            read_application_set(msgspec.json.encode(item))
            for item in kinds.get("ApplicationSet", ())
        ),
        "applications": tuple(
            read_application(msgspec.json.encode(item)) for item in kinds.get("Application", ())
        ),
        "addons": {
            item["metadata"]["namespace"]: msgspec.convert(item, ManagedClusterAddOn)
            for item in kinds.get("ManagedClusterAddOn", ())
        },
        "masks": tuple(msgspec.convert(mask, Mask) for mask in masks),
        "moves": next(iter(moves), None),
        "unread": {part: Unread(what=f"{part}.example.com", why=Why.FORBIDDEN) for part in unread},
    }
    if unread_list:
        settings["unread"][HubPart.SCORER_LIST] = Unread(
            what="the list", why=Why.FAILED, verb="get", detail=unread_list
        )
    return StatusInputs(now=now, **{**settings, **more})
