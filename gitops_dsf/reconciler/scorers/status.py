"""DynamicScorer.status from what was observed, and the patch that leads there; none when nothing changed.
Pure.
"""

from collections.abc import Mapping
from typing import Any

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.timestamp import timestamp_of
from gitops_dsf.reconciler.freshness.judge import Scored
from gitops_dsf.reconciler.scorers.configsync import ConfigSync
from gitops_dsf.reconciler.scorers.health import Health, HealthStatus

_HEALTHY = {HealthStatus.ACTIVE: "True", HealthStatus.INACTIVE: "False", HealthStatus.UNKNOWN: "Unknown"}
MAX_MESSAGE = 2048
"""Characters of a condition's message; the CRD takes 32,768, which nobody reads."""


def desired(
    scorer: DynamicScorer, *, health: Health, config: ConfigSync | None, scored: Scored, now: float
) -> dict[str, Any]:
    """The whole status. `config` is None with configSyncMode None, whose page does not count."""
    conditions = [("Healthy", _HEALTHY[health.status], health.reason, health.message)]
    if config is not None:
        conditions.append(("ConfigSynced", config.status, config.reason, config.message))
    conditions.append(("Scored", scored.status, scored.reason, scored.message))
    before = {
        item.get("type"): item for item in scorer.status.get("conditions") or [] if isinstance(item, dict)
    }
    status: dict[str, Any] = {
        "observedGeneration": scorer.metadata.generation,
        "healthStatus": str(health.status),
        "conditions": [
            _condition(before.get(item[0]), *item, generation=scorer.metadata.generation, now=now)
            for item in conditions
        ],
    }
    if config is not None:
        # An unreachable page changes nothing about what was last read.
        last = config.config if config.config is not None else scorer.status.get("lastSyncedConfig")
        if last:
            status["lastSyncedConfig"] = _plain(last)
    return status


def patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from one object to another; empty when they are equal."""
    change: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            inner = patch(old, value)
            if inner:
                change[key] = inner
        elif old != value:
            change[key] = value
    return change


def _condition(
    before: Mapping[str, Any] | None,
    kind: str,
    status: str,
    reason: str,
    message: str,
    *,
    generation: int,
    now: float,
) -> dict[str, Any]:
    since = (
        before.get("lastTransitionTime") if before is not None and before.get("status") == status else None
    )
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 3]}...",
        "lastTransitionTime": since or timestamp_of(now),
        "observedGeneration": generation,
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
