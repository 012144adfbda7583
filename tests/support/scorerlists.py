"""The list of scorers as `render` writes it, made of DynamicScorers of a test's hub."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gitops_dsf.render.scorerlist import list_data

HUB = "gitops-dsf"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf"}


def config_maps(
    specs: Mapping[str, Mapping[str, Any]],
    *,
    namespace: str = HUB,
    crds: str = "Rendered",
    mode: str = "ManifestWork",
) -> list[dict[str, Any]]:
    """The ConfigMaps of a list with these specs, by the name of the scorer."""
    texts = {name: json.dumps(spec, indent=2) for name, spec in sorted(specs.items())}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": OURS},
            "data": data,
        }
        for name, data in list_data(texts, crds=crds, mode=mode).items()
    ]


def specs_of(scorers: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The spec of each DynamicScorer, by its name."""
    return {item["metadata"]["name"]: item.get("spec", {}) for item in scorers}
