"""PlacementDecisions: OCM cuts a decision into pages of 100 clusters, one object each."""

from typing import Final

import msgspec

from dsf_wire.constants import SCORE_GROUP
from gitops_dsf.hubnames import PLACEMENT_LABEL
from gitops_dsf.reconciler.hub.metadata import Metadata

DECISIONS_PATH: Final = f"/apis/{SCORE_GROUP}/v1beta1/namespaces/{{}}/placementdecisions"


class _Owner(msgspec.Struct, frozen=True):
    kind: str = ""
    uid: str = ""
    controller: bool = False


class _Metadata(Metadata, frozen=True, rename="camel"):
    owner_references: list[_Owner] = []


class _Decision(msgspec.Struct, frozen=True, rename="camel"):
    cluster_name: str = ""


class _DecisionStatus(msgspec.Struct, frozen=True):
    decisions: list[_Decision] | None = None


class _DecisionPage(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _DecisionStatus = _DecisionStatus()


class DecisionPage(msgspec.Struct, frozen=True):
    """One of a Placement's PlacementDecisions."""

    placement: str
    clusters: frozenset[str]
    owner_uid: str = ""
    """Of the Placement that controls it: the label alone is anybody's."""


def decision_page(raw: msgspec.Raw) -> tuple[str, DecisionPage]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=_DecisionPage)
    return item.metadata.name, DecisionPage(
        placement=item.metadata.labels.get(PLACEMENT_LABEL, ""),
        clusters=frozenset(each.cluster_name for each in item.status.decisions or ()),
        owner_uid=next((each.uid for each in item.metadata.owner_references if each.controller and each.kind == "Placement"), ""),
    )
