"""JSON Schema of `summaries` in the scoring ConfigMap, for programs that read or write it (wire contract)."""

import msgspec

from dsf_wire.constants import AGENT_NAMESPACE, CONFIGMAP_KEY, CONFIGMAP_NAME
from dsf_wire.summary import UPSTREAM_KEYS, Summary
from gitops_dsf.repository.model.rule import Schema
from gitops_dsf.schema.editor import DRAFT


def summaries_schema() -> Schema:
    """The schema for writers: upstream's sixteen keys always, ours if they are set. Readers also accept fewer
    keys, and ignore unknown ones.
    """
    plain = msgspec.json.schema(list[Summary])
    definitions: Schema = plain.pop("$defs")
    for definition in definitions.values():
        definition.pop("title", None)
    summary = definitions["Summary"]
    summary["required"] = list(UPSTREAM_KEYS)
    summary["description"] = (
        "One scorer as one cluster runs it. Ranges, steps and intervals are seconds; endpoints are whole"
        " URLs."
    )
    for name in UPSTREAM_KEYS:
        summary["properties"][name].pop("default", None)
    for name in ("name", "scoreName"):
        summary["properties"][name]["minLength"] = 1
    return {
        "$schema": DRAFT,
        "title": f"{CONFIGMAP_KEY} of ConfigMap {AGENT_NAMESPACE}/{CONFIGMAP_NAME}",
        **plain,
        "$defs": definitions,
    }
