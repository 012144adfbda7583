"""What the hub holds when a decision changed, as far as the simulator needs it."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.names import DELIVERY_APPLICATION
from gitops_dsf.hub.objects import ManagedClusterSet, ManagedClusterSetBinding, Placement
from gitops_dsf.hub.placements import resources_read
from gitops_dsf.hub.resources import APPLICATIONS, BINDINGS, CLUSTER_SETS, PLACEMENTS
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.simulator import HubState


class _Revision(msgspec.Struct, frozen=True):
    revision: str = ""


class _Sync(msgspec.Struct, frozen=True):
    status: str = ""
    revision: str = ""


class _Status(msgspec.Struct, frozen=True):
    sync: _Sync = _Sync()
    history: tuple[_Revision, ...] | None = None


class _Deployed(msgspec.Struct, frozen=True):
    status: _Status = _Status()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The hub at one moment."""

    placements: Mapping[str, Placement]
    """By name."""
    state: HubState
    now: datetime
    commit: str
    """The commit that Argo CD applied last; empty if that is not known."""


async def read_facts(names: Collection[str], *, api: HubApi, view: HubView) -> Facts:
    """What concerns these Placements of the Argo CD namespace. Raises ApiError.

    Scores come first, from the informer: they are what OCM saw when it decided.
    """
    now = datetime.fromtimestamp(api.now(), tz=UTC)
    known = {each.resource for name in names for each in view.placements.items[name].ranked_by}
    scores = {resource: dict(view.scores.of(resource)) for resource in sorted(known)}
    listed = await api.listed(PLACEMENTS.within(view.argocd_namespace).path, _placement)
    placements = {item.metadata.name: item for item in listed if item.metadata.name in names}
    for resource in sorted(_read(placements.values(), view) - known):
        scores[resource] = dict(view.scores.of(resource))
    sets = await api.listed(CLUSTER_SETS.path, lambda raw: msgspec.json.decode(raw, type=ManagedClusterSet))
    bindings = await api.listed(BINDINGS.within(view.argocd_namespace).path, _binding)
    # In a thread, because thousands of clusters take a while, and leadership must be renewed.
    state = await asyncio.to_thread(
        HubState.of,
        clusters=list(view.clusters.items.values()),
        sets=sets,
        bindings=bindings,
        placements=placements.values(),
        decisions=list(view.decisions.items.values()),
        scores=scores,
    )
    return Facts(
        placements=placements,
        state=state,
        now=now,
        commit=await _commit(api, view.argocd_namespace),
    )


def _read(placements: Iterable[Placement], view: HubView) -> set[str]:
    found: set[str] = set()
    for item in placements:
        read = resources_read(item)
        found |= set(view.scores.columns) if read is None else read
    return found


def _placement(raw: msgspec.Raw) -> Placement:
    return msgspec.json.decode(raw, type=Placement)


def _binding(raw: msgspec.Raw) -> tuple[str, str]:
    """Namespace and name."""
    item = msgspec.json.decode(raw, type=ManagedClusterSetBinding)
    return item.metadata.namespace or "", item.metadata.name


async def _commit(api: HubApi, namespace: str) -> str:
    """The live commit of the rendered Placements."""
    try:
        found = await api.one(APPLICATIONS.within(namespace).path, DELIVERY_APPLICATION, live_commit)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return ""  # a hub without Argo CD
    return found or ""


def live_commit(raw: bytes | msgspec.Raw) -> str:
    """The commit that an Application has applied; empty if it has applied none. Raises msgspec.DecodeError.

    A commit that does not change the Application's objects is compared, and not synced, so it is not in the
    history.
    """
    status = msgspec.json.decode(raw, type=_Deployed).status
    if status.sync.status == "Synced" and status.sync.revision:
        return status.sync.revision
    history = status.history or ()
    return history[-1].revision if history else ""
