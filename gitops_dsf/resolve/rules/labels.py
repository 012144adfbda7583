"""Checks labels and annotations that an API server would reject."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.names import SYNC_WAVE
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.selectors import KEY_RULE, VALUE_RULE, label_key, label_value

_OF_ARGOCD: Final = "argocd.argoproj.io/"
_ALLOWED: Final = {("Placement", SYNC_WAVE), ("ApplicationSet", SYNC_WAVE)}
"""Allowed kinds and keys. Sync waves of copied documents are kept, because only their author
knows the order.
"""


def argocd_is_not_steered(context: Context) -> Iterator[Diagnostic]:
    """Hooks, sync options and tracking IDs change what Argo CD does with a rendered object: it may never
    delete it, replace it, run it as a hook, or assign it to another Application.
    """
    declared = context.declared
    for item in (
        *declared.scorers,
        *declared.applications,
        *declared.scored_placements,
        *declared.placements,
        *declared.application_sets,
    ):
        metadata = item.document.data.get("metadata")
        for field in ("labels", "annotations"):
            # The metadata of a malformed object can have any shape.
            entries = metadata.get(field) if isinstance(metadata, dict) else None
            for key in entries if isinstance(entries, dict) else ():
                if key.lower().startswith(_OF_ARGOCD) and (
                    field == "labels" or (item.document.kind, key) not in _ALLOWED
                ):
                    message = f"metadata.{field}: {key} would steer how Argo CD applies this object"
                    hint = "remove it; gitops-dsf renders the waves and options that its objects need"
                    yield codes.ARGOCD_CONTROL.at(
                        item.document.key_at(("metadata", field, key)), message, hint
                    )


def labels_are_valid(context: Context) -> Iterator[Diagnostic]:
    """Checks the labels of everything that is rendered, and of clusters, because no selector matches an
    invalid label.
    """
    declared = context.declared
    kinds = (
        declared.clusters,
        declared.cluster_sets,
        declared.scorers,
        declared.applications,
        declared.scored_placements,
        declared.placements,
    )
    for item in (found for items in (*kinds, declared.application_sets) for found in items):
        for field in ("labels", "annotations"):
            entries = item.document.data["metadata"].get(field)
            for key, value in entries.items() if isinstance(entries, dict) else ():
                path = ("metadata", field, key)
                if not label_key(key.lower() if field == "annotations" else key):
                    message = f"metadata.{field}: {key or 'an empty key'} is not allowed"
                    yield codes.BAD_VALUE.at(item.document.key_at(path), message, KEY_RULE)
                elif field == "labels" and isinstance(value, str) and not label_value(value):
                    yield codes.BAD_VALUE.at(
                        item.at(*path), f"metadata.labels.{key}: {value[:60]} is not allowed", VALUE_RULE
                    )
