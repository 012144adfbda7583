"""The status of a DynamicScorer: what it should be, and writing it.

It is written as a merge patch of what differs: a new status or reason in the next pass, a new
message alone once a minute. Not guaranteed: that what others wrote into the status stays; this
controller owns all of it.
"""

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Pauses
from gitops_dsf.hub.metadata import NO_CONDITION, ObjectCondition
from gitops_dsf.hub.resources import SCORERS
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.freshness import Assessment
from gitops_dsf.reconciler.hub.api import REFUSAL_BACKOFF
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.scorers.probes import ConfigSync, Health, HealthStatus
from gitops_dsf.wording import shortened

MAX_MESSAGE: Final = 2048
"""Characters of a condition's message at most. The CRD allows 32,768."""
MESSAGE_SECONDS: Final = 60.0
"""A message alone is written this time after the last write of the same status at the earliest.

While a fleet loses its scores, the counts in the message change with each pass, every 15 s, for
twelve minutes.
"""
BUSY: Final = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""The cause is the hub, and not one status."""
_UPSTREAMS: Final = frozenset({"healthStatus", "lastSyncedConfig"})
"""All fields that the status has in upstream's CRD (dynamic-scoring-framework v0.1.0)."""
_HEALTHY: Final = {
    HealthStatus.ACTIVE: "True",
    HealthStatus.INACTIVE: "False",
    HealthStatus.UNKNOWN: "Unknown",
}
_BY_SCORES: Final = {"True": HealthStatus.ACTIVE, "False": HealthStatus.INACTIVE}

LOG = logging.getLogger(__name__)


class _DesiredCondition(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str


def desired_status(
    scorer: DynamicScorer,
    *,
    health: Health | None,
    config: ConfigSync | None,
    scores: Assessment | ObjectCondition,
    now: float,
    flapping: ObjectCondition = NO_CONDITION,
) -> dict[str, Any]:
    """The complete status.

    `health` is None for a scorer without a scoring API: then its scores show whether it works.
    `config` is None for a scorer without configSyncMode Full, `flapping` is NO_CONDITION without a
    journal. `scores` is a Condition where the scores are not known now: then Scored stays as it
    was.
    """
    conditions = []
    if health is not None:
        status = _HEALTHY[health.status]
        conditions.append(_DesiredCondition("Healthy", status, health.reason, health.message))
    if config is not None:
        conditions.append(
            _DesiredCondition("ConfigSynced", config.status, config.reason, config.message)
        )
    message = scores.message
    if health is None and not isinstance(scores, ObjectCondition):
        message = (
            f"{scores.message}; there is no scoring API, so healthStatus follows this condition"
        )
    conditions.append(_DesiredCondition("Scored", scores.status, scores.reason, message))
    if flapping is not NO_CONDITION:
        conditions.append(
            _DesiredCondition(flapping.type, flapping.status, flapping.reason, flapping.message)
        )
    health_status = _BY_SCORES.get(scores.status, HealthStatus.UNKNOWN)
    if health is not None:
        health_status = health.status
    after: dict[str, Any] = {
        "observedGeneration": scorer.metadata.generation,
        "healthStatus": str(health_status),
        "conditions": [_condition(scorer, condition, now=now) for condition in conditions],
    }
    if config is not None:
        # While /config is unreachable, the configuration that was read last stays.
        last = config.config if config.config is not None else scorer.status.get("lastSyncedConfig")
        if last:
            after["lastSyncedConfig"] = last
    return after


def _condition(scorer: DynamicScorer, desired: _DesiredCondition, *, now: float) -> dict[str, Any]:
    before = scorer.condition(desired.type)
    # As the API conventions of Kubernetes have it: the time changes with the status alone.
    since = before.last_transition_time if before.status == desired.status else None
    return {
        "type": desired.type,
        "status": desired.status,
        "reason": desired.reason,
        "message": shortened(desired.message, max_characters=MAX_MESSAGE),
        "lastTransitionTime": since or timestamp_of(now),
        "observedGeneration": scorer.metadata.generation,
    }


def scored_before(scorer: DynamicScorer, outdated: str) -> ObjectCondition:
    """The condition Scored as it is on the hub; Unknown for a scorer that has none yet."""
    condition = scorer.condition("Scored")
    if condition is not NO_CONDITION:
        return condition
    return ObjectCondition(type="Scored", status="Unknown", reason="NotKnown", message=outdated)


def patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from one object to another; empty when they are equal."""
    # In a merge patch null removes a field: leaving it out would keep it.
    change: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            inner = patch(old, value)
            if inner:
                change[key] = inner
        # A merge patch cannot change one item of a list, so all conditions are sent if one differs.
        elif old != value:
            change[key] = value
    return change


def _without_messages(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the messages of its conditions."""
    conditions: list[dict[str, Any]] = []
    for condition in status.get("conditions") or ():
        conditions.append({**condition, "message": ""})
    return {**status, "conditions": conditions}


def _without_upstreams(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without the fields that upstream's controller writes."""
    return {key: value for key, value in status.items() if key not in _UPSTREAMS}


def _known_to_upstream(live: DynamicScorer, status: Mapping[str, Any]) -> dict[str, Any]:
    """The status of an object whose CRD is upstream's (dynamic-scoring-framework v0.1.0).

    What that CRD does not know stays as it is on the hub, and so does the last /config if the new
    one is not complete: the API server would refuse the whole status.
    """
    accepted_status = {**live.status, "healthStatus": status["healthStatus"]}
    config = status.get("lastSyncedConfig")
    if config is not None and _is_complete(config):
        accepted_status["lastSyncedConfig"] = config
    return accepted_status


def _is_complete(config: Mapping[str, Any]) -> bool:
    """Whether a /config has every field that upstream's CRD requires."""
    source = config.get("source")
    scoring = config.get("scoring")
    if not {"name", "description"} <= config.keys():
        return False
    if not isinstance(source, Mapping) or not isinstance(scoring, Mapping):
        return False
    return (
        {"path", "params"} <= source.keys()
        and {"path", "params"} <= scoring.keys()
        and {"query", "range", "step"} <= dict(source["params"]).keys()
        and {"name", "interval"} <= dict(scoring["params"]).keys()
    )


class StatusWriter:
    """Writes a status that the hub refused again after a pause."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._source = context.view.scorers
        self._is_partial = not context.delivery.renders_crds
        """Whether the status of a DynamicScorer has only upstream's fields."""
        self._is_ours = context.delivery.is_ours
        """Whether upstream's fields are ours to write.

        With UpstreamController they belong to its controller, which decides by its healthStatus
        what agents run.
        """
        self._path = SCORERS.within(context.view.hub_namespace).path
        self._pauses = Pauses(REFUSAL_BACKOFF, clock=context.clock)
        """Pauses by scorer, after the hub refused its status."""
        self._written: dict[str, float] = {}
        """The time of the last write of each scorer's status, by the context's clock."""

    async def write(self, scorer: DynamicScorer, status: Mapping[str, Any]) -> None:
        """Raises ApiError when the hub takes no statuses now."""
        name = scorer.metadata.name
        before = self.kept_apart(scorer.status)
        status = self.kept_apart(status)
        if self._is_partial and "lastSyncedConfig" not in status:
            # The value in the object stays there, and would look like a change in every pass.
            before = {key: value for key, value in before.items() if key != "lastSyncedConfig"}
        change = patch(before, status)
        if not change and not self._is_partial:
            return
        age = self._context.clock() - self._written.get(name, -math.inf)
        # Also what is not changed waits: upstream's controller may write the same fields of a part,
        # and both would take turns.
        if age < MESSAGE_SECONDS and _without_messages(before) == _without_messages(status):
            return
        if self._is_partial:
            await self._write_part(scorer, status, is_news=bool(change))
        # Without an object there is nowhere to write it: Argo CD has not made it yet.
        elif scorer.metadata.uid and await self._patch(scorer, change):
            self._written[name] = self._context.clock()
            self._record_events(scorer, status)

    def kept_apart(self, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of a status that is ours."""
        return status if self._is_ours else _without_upstreams(status)

    async def _write_part(
        self, scorer: DynamicScorer, status: Mapping[str, Any], *, is_news: bool
    ) -> None:
        """Remembers the status, and writes what upstream's CRD has of it. Raises ApiError."""
        name = scorer.name
        if is_news:
            self._written[name] = self._context.clock()
            self._source.remember(name, dict(status))
            self._record_events(scorer, status)
        if not self._is_ours:
            return
        live = self._source.live(name)
        change = {} if live is None else patch(live.status, _known_to_upstream(live, status))
        if change:
            self._written[name] = self._context.clock()
            await self._patch(scorer, change)

    async def _patch(self, scorer: DynamicScorer, change: Mapping[str, Any]) -> bool:
        """Writes a change of the status.

        Returns whether the hub took it. Raises ApiError when it takes no statuses now.
        """
        name = scorer.name
        if self._pauses.left(name):
            return False
        metrics = self._context.metrics
        # The UID makes the hub refuse the status of a scorer that was deleted and created again.
        body = {"metadata": {"uid": scorer.metadata.uid}, "status": change}
        try:
            await self._context.api.merge(f"{self._path}/{name}/status", body)
        except ApiError as error:
            metrics.patch_failures.inc()
            if not error.status or error.status in BUSY:
                # The other statuses would fail the same way, one time limit each.
                raise
            pause = self._pauses.failed(name)
            LOG.warning("status of scorer %s not written; next try in %g s: %s", name, pause, error)
            return False
        self._pauses.worked(name)
        metrics.patches.inc()
        return True

    def keep_only(self, scorers: Mapping[str, DynamicScorer]) -> None:
        self._pauses.keep_only(scorers)
        for name in self._written.keys() - scorers.keys():
            del self._written[name]

    def _record_events(self, before: DynamicScorer, status: Mapping[str, Any]) -> None:
        """An Event for each condition that changed."""
        for condition in status["conditions"]:
            earlier = before.condition(condition["type"])
            is_bad = condition["status"] == "False"
            changed = (earlier.status, earlier.reason) != (condition["status"], condition["reason"])
            # A condition that is new and good needs no Event.
            is_news = is_bad if earlier is NO_CONDITION else changed
            if is_news:
                message = f"{condition['type']} is {condition['status']}: {condition['message']}"
                about = scorer_reference(before)
                if not before.metadata.uid:
                    # The Event is about the list, which names many.
                    message = f"scorer {before.name}: {message}"
                self._context.events.record(about, condition["reason"], message, warning=is_bad)
