"""Removes one dead score: everything that speaks for its removal is read again first, and the hub removes
what was read or nothing.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from dsf_wire.constants import (
    ADDON_NAME,
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    SCORE_GROUP,
    SCORE_PLURAL,
    SCORE_VERSION,
)
from gitops_dsf.reconciler.deadscores.candidates import DeadScore, absence, expired_for_long
from gitops_dsf.reconciler.hub.api import HubApi, NotSentError
from gitops_dsf.reconciler.hub.kinds import ADDONS_PATH, CLUSTERS_PATH, addon, cluster

LOG = logging.getLogger(__name__)
T = TypeVar("T")
_SCORES: Final = f"/apis/{SCORE_GROUP}/{SCORE_VERSION}/namespaces/{{}}/{SCORE_PLURAL}"
_ADDONS: Final = ADDONS_PATH.replace("/managedclusteraddons", "/namespaces/{}/managedclusteraddons")


class Outcome(StrEnum):
    """What came of it."""

    REMOVED = "removed"
    FOREIGN = "foreign"
    """No agent of ours wrote it: it stays for ever."""
    ALIVE = "alive"
    """It was renewed, somebody may renew it, it is gone already, it cannot be read, or the hub's time is not
    known.
    """
    REFUSED = "refused"
    """The hub said no, or was not asked; nothing was removed."""
    UNCERTAIN = "uncertain"
    """No answer came: it may be gone."""


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


async def remove(api: HubApi, dead: DeadScore, *, ttl: float, about_to: Callable[[], None]) -> Outcome:
    """Calls `about_to` when nothing but the request itself is left to do. Raises ApiError when something
    cannot be read.
    """
    try:
        return await _remove(api, dead, ttl=ttl, about_to=about_to)
    except UNREADABLE as error:
        LOG.warning(
            "dead score %s of %s not removed: what its removal rests on cannot be read: %s",
            dead.resource,
            dead.cluster,
            error,
        )
        return Outcome.ALIVE


async def _remove(api: HubApi, dead: DeadScore, *, ttl: float, about_to: Callable[[], None]) -> Outcome:
    found = await _one(
        api, _SCORES.format(dead.cluster), dead.resource, lambda raw: msgspec.json.decode(raw, type=_Score)
    )
    if found is None or found.metadata.deletion_timestamp is not None:
        return Outcome.ALIVE
    if found.metadata.labels.get(MANAGED_BY_LABEL) != AGENT_MANAGER:
        return Outcome.FOREIGN
    holder = await _one(api, CLUSTERS_PATH, dead.cluster, lambda raw: cluster(raw)[1])
    agent = await _one(api, _ADDONS.format(dead.cluster), ADDON_NAME, lambda raw: addon(raw)[1])
    until = found.status.valid_until.timestamp() if found.status.valid_until is not None else None
    why = absence(holder, agent)
    # The hub's clock last: the answers above have just told it.
    if not why or not api.clock.known or not expired_for_long(until, ttl=ttl, now=api.now()):
        return Outcome.ALIVE
    about_to()
    path = f"{_SCORES.format(dead.cluster)}/{dead.resource}"
    try:
        await api.delete(path, uid=found.metadata.uid, resource_version=found.metadata.resource_version)
    except ApiError as error:
        LOG.warning("dead score %s of %s not removed: %s", dead.resource, dead.cluster, error)
        return (
            Outcome.REFUSED
            if isinstance(error, NotSentError) or 400 <= error.status < 500
            else Outcome.UNCERTAIN
        )
    LOG.info(
        "removed the score %s of %s, which ended at %s: %s",
        dead.resource,
        dead.cluster,
        found.status.valid_until,
        why,
    )
    return Outcome.REMOVED


async def _one(api: HubApi, path: str, name: str, read: Callable[[msgspec.Raw], T]) -> T | None:
    """One object by a list with its name as the selector: the right to list is there anyway, and no other is
    needed.
    """
    found = list[T]()
    await api.list(path, lambda item: found.append(read(item)), fieldSelector=f"metadata.name={name}")
    return found[0] if found else None
