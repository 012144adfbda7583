"""The desired status of a DynamicScorer, and the patch that leads there. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from gitops_dsf.hub.metadata import NOT_SAID, Condition
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.timestamp import timestamp_of
from gitops_dsf.reconciler.freshness.assessment import Assessment
from gitops_dsf.reconciler.scorers.configsync import ConfigSync
from gitops_dsf.reconciler.scorers.health import Health, HealthStatus
from gitops_dsf.wording import shortened

_HEALTHY: Final = {
    HealthStatus.ACTIVE: "True",
    HealthStatus.INACTIVE: "False",
    HealthStatus.UNKNOWN: "Unknown",
}
_BY_SCORES: Final = {"True": HealthStatus.ACTIVE, "False": HealthStatus.INACTIVE}
MAX_MESSAGE: Final = 2048
"""Characters of a condition's message at most. The CRD allows 32,768."""


def desired_status(
    scorer: DynamicScorer,
    *,
    health: Health | None,
    config: ConfigSync | None,
    scores: Assessment,
    now: float,
    settled: Condition = NOT_SAID,
) -> dict[str, Any]:
    """The whole status. `health` is None for a scorer without a scoring API: then its scores tell whether it
    works. `config` is None for a scorer without configSyncMode Full, `settled` is NOT_SAID without a journal.
    """
    conditions = []
    if health is not None:
        conditions.append(("Healthy", _HEALTHY[health.status], health.reason, health.message))
    if config is not None:
        conditions.append(("ConfigSynced", config.status, config.reason, config.message))
    judged = "" if health is not None else "; there is no scoring API, so healthStatus follows this condition"
    conditions.append(("Scored", scores.status, scores.reason, f"{scores.message}{judged}"))
    if settled is not NOT_SAID:
        conditions.append((settled.type, settled.status, settled.reason, settled.message))
    status: dict[str, Any] = {
        "observedGeneration": scorer.metadata.generation,
        "healthStatus": str(
            health.status if health is not None else _BY_SCORES.get(scores.status, HealthStatus.UNKNOWN)
        ),
        "conditions": [
            _condition(scorer.condition(item[0]), *item, generation=scorer.metadata.generation, now=now)
            for item in conditions
        ],
    }
    if config is not None:
        # While /config is unreachable, the configuration that was read last stays.
        last = config.config if config.config is not None else scorer.status.get("lastSyncedConfig")
        if last:
            status["lastSyncedConfig"] = last
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
    before: Condition,
    kind: str,
    status: str,
    reason: str,
    message: str,
    *,
    generation: int,
    now: float,
) -> dict[str, Any]:
    since = before.last_transition_time if before.status == status else None
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": shortened(message, most=MAX_MESSAGE),
        "lastTransitionTime": since or timestamp_of(now),
        "observedGeneration": generation,
    }
