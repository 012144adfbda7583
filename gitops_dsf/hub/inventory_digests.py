"""A digest of each cluster of the inventory, as the hub has it for the reconciler.

It is rendered into the ConfigMap of maintenance while an application verifies its moves: an
application that went back may go to a cluster again when the entry of the cluster in git changed.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gitops_dsf.hub.names import INVENTORY_KEY

MAX_CLUSTERS: Final = 10_000
"""Clusters that a ConfigMap of 1 MB has room for, with names of 63 characters."""

_Digests = Annotated[dict[str, str], Meta(max_length=MAX_CLUSTERS)]


def read_inventory_digests(data: object) -> Mapping[str, str] | None:
    """The digests by cluster, in the data of the ConfigMap; None without them.

    Raises msgspec.DecodeError.
    """
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(INVENTORY_KEY)
    return None if text is None else msgspec.json.decode(text, type=_Digests)
