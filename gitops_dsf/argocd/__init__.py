"""What Argo CD accepts and reports.

`fields` knows the fields of its ApplicationSets, `gotemplate` their templates, `steering` the
labels and annotations that change what it does.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def api() -> dict[str, Any]:
    """The facts about the pinned Argo CD and OCM, from `api.json`.

    `python -m tools.argocd_api` writes that file from their Go types.
    """
    found: dict[str, Any] = json.loads(
        (Path(__file__).parent / "api.json").read_text(encoding="utf-8")
    )
    return found


def failure_of(status: Mapping[str, Any]) -> str:
    """Why the last sync of an Application failed, or why it cannot be compared; else empty."""
    for one in status.get("conditions") or ():
        if str(one.get("type", "")).endswith("Error"):
            return str(one.get("message"))
    operation = status.get("operationState") or {}
    phase = operation.get("phase")
    # A failed sync that Argo CD tries again, as it does without end for rendered Applications, is Running.
    if phase in {"Failed", "Error"} or (phase == "Running" and operation.get("retryCount")):
        return str(operation.get("message") or phase)
    return ""
