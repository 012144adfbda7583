"""The MultiKueueConfigs of Placements: read, and written with the resourceVersion that was read.

They are read by name for each pass and not watched, so the list that is compared is never an old
one, and no right to other MultiKueueConfigs is needed.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.multikueue import (
    ORDER_ANNOTATION,
    ORDERED_AT_ANNOTATION,
    MultiKueueConfig,
    WrittenOrder,
)
from gitops_dsf.hub.resources import MULTIKUEUE_CONFIGS
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredConfig:
    """A MultiKueueConfig as the hub has it."""

    whole: dict[str, Any]
    """The whole object, with the fields of other writers, which stay."""
    config: MultiKueueConfig

    @property
    def is_ours(self) -> bool:
        """Whether the config has the label of objects that the reconciler writes."""
        return self.config.metadata.label(MANAGED_BY_LABEL) == MANAGER


async def read_config(api: HubApi, name: str) -> StoredConfig | None:
    """None if there is none. Raises ApiError."""
    content = await api.find(f"{MULTIKUEUE_CONFIGS.path}/{name}")
    if content is None:
        return None
    return StoredConfig(
        whole=msgspec.json.decode(content, type=dict[str, Any]),
        config=msgspec.json.decode(content, type=MultiKueueConfig),
    )


async def write_config(
    api: HubApi, name: str, before: StoredConfig | None, order: WrittenOrder, *, ordered_at: str
) -> None:
    """Writes the list. Raises ApiError, with 409 if the config changed after it was read."""
    whole = {"metadata": {"name": name}} if before is None else before.whole
    metadata: dict[str, Any] = whole["metadata"]
    annotations = {
        ORDERED_AT_ANNOTATION: ordered_at,
        ORDER_ANNOTATION: msgspec.json.encode(order).decode(),
    }
    config = {
        **whole,
        "apiVersion": MULTIKUEUE_CONFIGS.api_version,
        "kind": "MultiKueueConfig",
        # The metadata that was read holds the resourceVersion. With it the API server refuses the
        # write if the list has changed since.
        "metadata": {
            **metadata,
            "labels": {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: MANAGER},
            "annotations": {**(metadata.get("annotations") or {}), **annotations},
        },
        "spec": {**(whole.get("spec") or {}), "clusters": list(order.clusters)},
    }
    if before is None:
        await api.create(MULTIKUEUE_CONFIGS.path, config)
    else:
        await api.replace(f"{MULTIKUEUE_CONFIGS.path}/{name}", config)
