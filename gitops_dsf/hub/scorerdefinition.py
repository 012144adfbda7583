"""The CRD of DynamicScorer on a hub: whether it has our fields, and which programs wrote it.

The CRDs of the upstream framework have the same names as ours, and fewer fields. The API server
drops fields that the CRD lacks from every object.
"""

from collections.abc import Mapping
from typing import Any, Final

from dsf_wire.constants import DSF_GROUP, DSF_VERSION

SCORER_CRD: Final = f"dynamicscorers.{DSF_GROUP}"
_OUR_FIELD: Final = "scoreTTLSeconds"
"""A field of the spec that upstream's CRD lacks (dynamic-scoring-framework v0.1.0)."""


def has_our_fields(definition: Mapping[str, Any]) -> bool:
    """Whether a CRD of DynamicScorer, as the API server sends it, has our fields."""
    for version in definition.get("spec", {}).get("versions") or ():
        if version.get("name") != DSF_VERSION:
            continue
        schema = version.get("schema", {}).get("openAPIV3Schema", {})
        spec = schema.get("properties", {}).get("spec", {})
        return _OUR_FIELD in spec.get("properties", {})
    return False


def writers_of(definition: Mapping[str, Any]) -> list[str]:
    """The programs that wrote a CRD, without those that write its status.

    Empty where the API server does not say it.
    """
    writers: set[str] = set()
    for entry in definition["metadata"].get("managedFields") or ():
        if not entry.get("subresource"):
            writers.add(str(entry.get("manager", "")))
    return sorted(writers)
