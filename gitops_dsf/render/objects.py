"""What rendered objects have in common: metadata, labels and sync waves."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.names import SYNC_WAVE

Object = dict[str, Any]

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
OPERATOR_API = "monitoring.coreos.com/v1"
"""Of the Prometheus operator."""
PART_OF_LABEL = "app.kubernetes.io/part-of"


class Wave(IntEnum):
    """Argo CD sync waves. A wave starts when the objects of earlier waves are Healthy."""

    CRDS = -20
    FOUNDATIONS = -15
    ADDON = -5
    SCORERS = 0
    BINDINGS = 0
    DECISIONS = 5


def metadata(
    *,
    name: str,
    namespace: str | None = None,
    wave: Wave | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    sync_options: str | None = None,
) -> Object:
    """Metadata with our labels. Labels and annotations are sorted, and empty ones left out."""
    notes = dict(annotations or {})
    if wave:
        notes[SYNC_WAVE] = str(int(wave))
    if sync_options:
        notes[SYNC_OPTIONS] = sync_options
    tags = {**(labels or {}), MANAGED_BY_LABEL: GENERATOR_MANAGER, PART_OF_LABEL: "gitops-dsf"}
    result: Object = {"name": name}
    if namespace is not None:
        result["namespace"] = namespace
    result["labels"] = dict(sorted(tags.items()))
    if notes:
        result["annotations"] = dict(sorted(notes.items()))
    return result


def network_policy(
    *,
    name: str,
    namespace: str,
    labels: Mapping[str, str],
    ingress: Sequence[Object] | None = None,
    egress: Sequence[Object] | None = None,
) -> Object:
    """The NetworkPolicy of the pods with these labels. A direction that is None is not limited."""
    directions = {"Ingress": ingress, "Egress": egress}
    limited = {kind: rules for kind, rules in directions.items() if rules is not None}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name=name, namespace=namespace),
        "spec": {
            "podSelector": {"matchLabels": dict(labels)},
            "policyTypes": list(limited),
            **{kind.lower(): rules for kind, rules in limited.items()},
        },
    }
