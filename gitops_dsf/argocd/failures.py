"""Reads from the status of an Application why its last sync failed."""

from collections.abc import Mapping
from typing import Any


def failure_of(status: Mapping[str, Any]) -> str:
    """The reason why the last sync failed, or why there is no comparison; else empty."""
    # Argo CD names its conditions so: ComparisonError, InvalidSpecError, SyncError and others are
    # errors, and what ends in Warning is none.
    for condition in status.get("conditions") or ():
        if str(condition.get("type", "")).endswith("Error"):
            return str(condition.get("message"))
    operation = status.get("operationState") or {}
    phase = operation.get("phase")
    # The phase of a failed sync that Argo CD tries again is Running. Rendered Applications are
    # tried without end, so whoever waits for Failed waits for ever.
    is_retried = phase == "Running" and operation.get("retryCount")
    if phase in {"Failed", "Error"} or is_retried:
        return str(operation.get("message") or phase)
    return ""
