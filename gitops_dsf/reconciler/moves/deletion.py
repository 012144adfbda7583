"""Deletes one copy, in four steps:

1. Read everything that the deletion depends on from the API server, and evaluate it again.
2. Change every copy that the deletion relies on, by an annotation that asks Argo CD to refresh it.
3. Read and evaluate once more.
4. Delete the copy with the UID and the resourceVersion of step 1.

Step 2 protects against two replicas that both believe to lead. Each deletes with a version that it read
before it changed the copies that stay. So when one replica relies on the copy that the other one deletes, the
API server answers one of them 409, however long a process or a request was stopped and whatever its clock
says. Therefore the last copy is never deleted.

Nothing is remembered, so after a crash at any point the next attempt starts from the beginning.
"""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from gitops_dsf.hub.applications import ApplicationSet, Handover, read_application_set
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import APPLICATION_LABEL, APPLICATION_REFRESH_ANNOTATION, PLACEMENT_LABEL
from gitops_dsf.hub.objects import ManagedCluster, PlacementDecision
from gitops_dsf.hub.resources import APPLICATION_SETS, APPLICATIONS, CLUSTERS, DECISIONS, PLACEMENTS
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import Versioned, versioned
from gitops_dsf.reconciler.moves.rules import (
    Action,
    CopyVerdict,
    MoveState,
    ReachabilityTracker,
    evaluate,
)

ONE_BY_ONE: Final = 10
"""Up to this many clusters are read one by one. For more, all clusters are listed."""
ATTEMPTS: Final = 3
"""Attempts when an Application changes meanwhile: Argo CD writes its status every few seconds."""
TOUCHED: Final = 10
"""Copies that one deletion changes, and Argo CD refreshes. One is enough to keep the last copy."""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    number_of_clusters: int | None = None


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    cluster_count: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    number_of_selected_clusters: int | None = None
    decision_groups: list[_Group] = []


class ObservedPlacement(msgspec.Struct, frozen=True):
    """A Placement as the API server has it, with the numbers in its status."""

    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Blocked(Exception):  # noqa: N818 - a state, not a mistake
    """Why nothing is deleted now. `reason` is one word, `message` a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


PLACEMENT_GONE: Final = "PlacementGone", "its Placement is deleted, so the decision does not count"
DECISION_EMPTY: Final = (
    "DecisionEmpty",
    "the decision names no cluster, and an empty decision deletes nothing",
)


def complete_decision(
    pages: Sequence[PlacementDecision], placement: ObservedPlacement | None
) -> frozenset[str]:
    """The clusters of a complete decision, never empty. Raises Blocked when it does not count."""
    if placement is None or placement.metadata.deleting:
        raise Blocked(*PLACEMENT_GONE)
    if any(page.metadata.controller("Placement").uid != placement.metadata.uid for page in pages):
        raise Blocked(
            "DecisionForeign",
            "a PlacementDecision with the Placement's label belongs to another owner",
        )
    clusters = frozenset(cluster for page in pages for cluster in page.cluster_names)
    if not clusters:
        raise Blocked(*DECISION_EMPTY)
    selected, groups = (
        placement.status.number_of_selected_clusters,
        placement.status.decision_groups,
    )
    entries = sum(len(set(page.cluster_names)) for page in pages)
    counts = {len(clusters), entries, selected if selected is not None else 0}
    if groups:
        counts.add(sum(group.cluster_count for group in groups))
    if len(counts) > 1:
        raise Blocked(
            "DecisionIncomplete",
            "the pages of the decision do not add up to the numbers in the Placement's status",
        )
    return clusters


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A copy that may be deleted according to the informers."""

    item: ApplicationSet
    handover: Handover
    state: MoveState
    verdict: CopyVerdict


class CopyDeleter:
    """Deletes Applications, and asks for the refresh of those that stay."""

    def __init__(self, *, api: HubApi, argocd_namespace: str, reach: ReachabilityTracker) -> None:
        self._api, self._reach = api, reach
        self._sets, self._applications, self._decisions, self._placements = (
            resource.within(argocd_namespace).path
            for resource in (APPLICATION_SETS, APPLICATIONS, DECISIONS, PLACEMENTS)
        )

    async def delete(self, candidate: Candidate) -> None:
        """Raises Blocked when the copy may not be deleted now, and ApiError."""
        name = candidate.verdict.copy.name
        for _ in range(ATTEMPTS):
            target, relies_on = await self._ready(candidate)
            if not await self._touch(relies_on):
                continue
            _, again = await self._ready(candidate)
            if not {item.copy.uid for item in again} <= {item.copy.uid for item in relies_on}:
                continue
            try:
                path = f"{self._applications}/{name}"
                await self._api.delete(path, uid=target.copy.uid, resource_version=target.version)
            except ApiError as error:
                if error.status == HTTPStatus.CONFLICT:
                    continue
                if error.status == HTTPStatus.NOT_FOUND:
                    raise Blocked("Gone", f"{name} does not exist any more") from error
                raise
            return
        raise Blocked(
            "Conflict",
            f"{name}, or a copy that its deletion relies on, changed during each of {ATTEMPTS} attempts",
        )

    async def _touch(self, copies: Iterable[Versioned]) -> bool:
        """Changes each copy, so that its old version is over. False when one of them is gone."""
        # Each value is new: a patch that changes nothing leaves the resourceVersion as it is.
        value = uuid.uuid4().hex
        for item in copies:
            metadata = {
                "uid": item.copy.uid,
                "annotations": {APPLICATION_REFRESH_ANNOTATION: value},
            }
            try:
                await self._api.merge(
                    f"{self._applications}/{item.copy.name}", {"metadata": metadata}
                )
            except ApiError as error:
                # The API server calls another UID in a patch of a custom resource an invalid value (422).
                if error.status in {
                    HTTPStatus.NOT_FOUND,
                    HTTPStatus.CONFLICT,
                } or "metadata.uid" in str(error):
                    return False
                raise
        return True

    async def _ready(self, candidate: Candidate) -> tuple[Versioned, tuple[Versioned, ...]]:
        """The copy, and copies that its deletion relies on, all of one read. Raises Blocked."""
        try:
            return await self._evaluate(candidate)
        except UNREADABLE as error:
            raise Blocked(
                "Unreadable", f"an object that the deletion depends on cannot be read: {error}"
            ) from error

    async def _evaluate(self, candidate: Candidate) -> tuple[Versioned, tuple[Versioned, ...]]:
        item = candidate.item
        try:
            found = read_application_set(await self._api.get(f"{self._sets}/{item.name}"))
            changed = found.uid != item.uid or found.handover != candidate.handover
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            changed = True
        if changed:
            raise Blocked("Changed", f"ApplicationSet {item.name} has changed")
        # Copies with the candidate's label that the ApplicationSet controls. Leaving out others only makes a
        # deletion less likely.
        label = f"{APPLICATION_LABEL}={candidate.verdict.copy.application}"
        listed = await self._api.listed(self._applications, versioned, labelSelector=label)
        copies = {
            item.copy.uid: item for item in listed if item.copy.owner_uid == candidate.item.uid
        }
        reach = self._reach.of(
            await self._clusters({item.copy.cluster for item in copies.values()} - {""})
        )
        # Read the decision last. Pages before status, as OCM writes them.
        name = candidate.handover.placement
        selector, page = f"{PLACEMENT_LABEL}={name}", msgspec.json.Decoder(PlacementDecision)
        pages = await self._api.listed(self._decisions, page.decode, labelSelector=selector)
        placement = await self._api.one(self._placements, name, ObservedPlacement)
        if complete_decision(pages, placement) != candidate.state.decided:
            raise Blocked("DecisionUnsettled", "the decision has just changed")
        state = replace(
            candidate.state,
            asked_for=placement.spec.number_of_clusters if placement is not None else None,
            copies=tuple(item.copy for item in copies.values()),
            unreachable=reach.unreachable,
            # The informers may have seen a return that the hub's times no longer show.
            returned=reach.returned | candidate.state.returned,
        )
        uid = candidate.verdict.copy.uid
        verdict = next((item for item in evaluate(state) if item.copy.uid == uid), None)
        if verdict is None:
            copy = candidate.verdict.copy
            raise Blocked(
                "Gone", f"{copy.name} is being deleted, is gone, or was moved by somebody"
            )
        if verdict.action is not Action.DELETE:
            raise Blocked(verdict.reason, verdict.message)
        relies_on = tuple(copies[item.uid] for item in verdict.relies_on[:TOUCHED])
        busy = next((item.copy.name for item in relies_on if item.hard_refresh), "")
        if busy:
            raise Blocked(
                "RefreshPending",
                f"somebody asked for a hard refresh of {busy}, and Argo CD has not done it yet",
            )
        return copies[uid], relies_on

    async def _clusters(self, names: Collection[str]) -> dict[str, ManagedCluster]:
        if len(names) > ONE_BY_ONE:
            found = await self._api.listed(
                CLUSTERS.path, msgspec.json.Decoder(ManagedCluster).decode
            )
        else:
            one_by_one = [
                await self._api.one(CLUSTERS.path, name, ManagedCluster) for name in sorted(names)
            ]
            found = [item for item in one_by_one if item is not None]
        return {item.metadata.name: item for item in found if item.metadata.name in names}
