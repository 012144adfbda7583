"""Typed objects of a hub for tests, decoded as every program decodes them."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from gitops_dsf.hub.objects import ManagedClusterAddOn


def agent(
    *, available: str = "", created: float | None = None, deleting: bool = False, cluster: str = "c"
) -> ManagedClusterAddOn:
    """The agent's add-on on one cluster."""
    metadata: dict[str, Any] = {"name": "gitops-dsf-agent", "namespace": cluster}
    if created is not None:
        metadata["creationTimestamp"] = datetime.fromtimestamp(created, tz=UTC).isoformat()
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "Available", "status": available}] if available else []
    return msgspec.convert(
        {"metadata": metadata, "status": {"conditions": conditions}}, ManagedClusterAddOn, strict=False
    )
