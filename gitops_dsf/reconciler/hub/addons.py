"""ManagedClusterAddOns of the agent: on which clusters it is installed, and whether OCM sees it alive."""

from datetime import datetime
from typing import Final

import msgspec

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.reconciler.hub.metadata import Metadata

ADDONS_PATH: Final = "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons"
OURS: Final = {"fieldSelector": f"metadata.name={ADDON_NAME}"}


class _Metadata(Metadata, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] = []


class _Addon(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _Status = _Status()


class Addon(msgspec.Struct, frozen=True):
    """The agent's add-on on one cluster."""

    available: str
    """True, False, Unknown; empty where OCM has not said."""
    created: float = 0.0
    """Seconds since 1970."""
    going: bool = False
    """Whether it has a deletionTimestamp."""


def addon(raw: msgspec.Raw) -> tuple[str, Addon]:
    """Keyed by cluster."""
    item = msgspec.json.decode(raw, type=_Addon)
    meta = item.metadata
    return meta.namespace, Addon(
        available=next((each.status for each in item.status.conditions if each.type == "Available"), ""),
        created=meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0,
        going=meta.deletion_timestamp is not None,
    )
