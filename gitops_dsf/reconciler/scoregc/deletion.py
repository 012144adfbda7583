"""Deletes one dead score.

Everything that the deletion depends on is read again first. The request names UID and resourceVersion, so the
hub deletes the version that was read, or nothing.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from dsf_wire.constants import (
    ADDON_NAME,
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    RUNS_ON_HUB,
    RUNS_ON_LABEL,
)
from gitops_dsf.hub.resources import ADDONS, CLUSTERS, SCORES
from gitops_dsf.reconciler.hub.api import HubApi, NotSentError
from gitops_dsf.reconciler.hub.kinds import addon, cluster
from gitops_dsf.reconciler.scoregc.candidates import DeadScore, expired_for_long, why_not_renewed

LOG = logging.getLogger(__name__)


class DeletionResult(StrEnum):
    """What became of a dead score."""

    DELETED = "deleted"
    FOREIGN = "foreign"
    """No agent of ours wrote it, so it is never deleted."""
    KEPT = "kept"
    """It was renewed, an agent may renew it, it is gone already, it cannot be read, or the hub's time is not
    known.
    """
    REFUSED = "refused"
    """The hub refused the request, or it was not sent. Nothing was deleted."""
    UNKNOWN = "unknown"
    """The hub did not answer. The score may be deleted."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    resource_version: str
    labels: dict[str, str] = {}
    deletion_timestamp: datetime | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    valid_until: datetime | None = None


class _Score(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _Status = _Status()


async def delete_if_dead(
    api: HubApi, dead: DeadScore, *, ttl: float, before_deletion: Callable[[], None]
) -> DeletionResult:
    """Calls `before_deletion` right before the request. Raises ApiError when a read fails."""
    try:
        return await _delete_if_dead(api, dead, ttl=ttl, before_deletion=before_deletion)
    except UNREADABLE as error:
        LOG.warning(
            "dead score %s of cluster %s not deleted: an object that it depends on cannot be read: %s",
            dead.resource,
            dead.cluster,
            error,
        )
        return DeletionResult.KEPT


async def _delete_if_dead(
    api: HubApi, dead: DeadScore, *, ttl: float, before_deletion: Callable[[], None]
) -> DeletionResult:
    scores, addons = SCORES.within(dead.cluster).path, ADDONS.within(dead.cluster).path
    found = await api.one(scores, dead.resource, lambda raw: msgspec.json.decode(raw, type=_Score))
    if found is None or found.metadata.deletion_timestamp is not None:
        return DeletionResult.KEPT
    if found.metadata.labels.get(MANAGED_BY_LABEL) != AGENT_MANAGER:
        return DeletionResult.FOREIGN
    if (found.metadata.labels.get(RUNS_ON_LABEL) == RUNS_ON_HUB) != dead.on_hub:
        return DeletionResult.KEPT
    holder = await api.one(CLUSTERS.path, dead.cluster, lambda raw: cluster(raw)[1])
    agent = await api.one(addons, ADDON_NAME, lambda raw: addon(raw)[1])
    until = found.status.valid_until.timestamp() if found.status.valid_until is not None else None
    why = why_not_renewed(holder, agent, renewer=dead.renewer)
    # Ask the hub's clock last: the answers above have just updated it.
    if not why or not api.clock.known or not expired_for_long(until, ttl=ttl, now=api.now()):
        return DeletionResult.KEPT
    before_deletion()
    try:
        await api.delete(
            f"{scores}/{dead.resource}",
            uid=found.metadata.uid,
            resource_version=found.metadata.resource_version,
        )
    except ApiError as error:
        LOG.warning("dead score %s of cluster %s not deleted: %s", dead.resource, dead.cluster, error)
        refused = isinstance(error, NotSentError) or 400 <= error.status < 500
        return DeletionResult.REFUSED if refused else DeletionResult.UNKNOWN
    LOG.info(
        "deleted the score %s of cluster %s, which expired at %s: %s",
        dead.resource,
        dead.cluster,
        found.status.valid_until,
        why,
    )
    return DeletionResult.DELETED
