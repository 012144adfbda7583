"""The removal of one copy, in four steps:

1. Read from the API server everything that the removal rests on, and judge again.
2. Change every copy that the removal relies on, by an annotation that asks Argo CD to refresh it.
3. Read and judge once more.
4. Delete the copy with the UID and the resourceVersion of step 1.

Step 2 is what keeps two replicas apart that both believe to lead. Each deletes with a version that it read
before it changed the copies that stay. So when one replica relies on the copy that the other one deletes, the
API server answers one of them 409, however long a process or a request was stopped and whatever its clock
says. Therefore the last copy is never deleted.

Nothing is remembered, so a crash at any point is a new beginning.
"""

import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from gitops_dsf.hub.applicationsets import ApplicationSet, Handover
from gitops_dsf.hub.decisions import DecisionPage
from gitops_dsf.hub.names import APPLICATION_LABEL, APPLICATION_REFRESH_ANNOTATION, PLACEMENT_LABEL
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import (
    APPLICATIONS_PATH,
    CLUSTERS_PATH,
    DECISIONS_PATH,
    PLACEMENTS_PATH,
    SETS_PATH,
    Versioned,
    application_set,
    cluster,
    decision_page,
    versioned,
)
from gitops_dsf.reconciler.moves.decided import Doubt, PlacementNow, whole
from gitops_dsf.reconciler.moves.handover import Action, Situation, Verdict, judge
from gitops_dsf.reconciler.moves.reach import Reachability

T = TypeVar("T")
ONE_BY_ONE: Final = 10
"""Clusters up to which each is read by itself; for more than these all are read, page by page."""
ATTEMPTS: Final = 3
"""At an Application that changes while it is judged: Argo CD writes its status every few seconds."""
TOUCHED: Final = 10
"""Copies that one removal changes at most, because each is refreshed by Argo CD. One is enough to keep the
last copy.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """What the informers say may go."""

    set_name: str
    set_uid: str
    handover: Handover
    situation: Situation
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ready:
    """A copy that may go, and copies that its removal relies on, all of one reading."""

    target: Versioned
    relies_on: tuple[Versioned, ...]

    @property
    def relies_on_uids(self) -> frozenset[str]:
        return frozenset(item.copy.uid for item in self.relies_on)


class Removal:
    """Reads ApplicationSets, Applications, ManagedClusters, Placements and decisions; deletes Applications,
    and asks for the refresh of those that stay.
    """

    def __init__(self, *, api: HubApi, argocd_namespace: str, reach: Reachability) -> None:
        self._api, self._reach = api, reach
        self._sets, self._applications, self._decisions, self._placements = (
            path.format(argocd_namespace)
            for path in (SETS_PATH, APPLICATIONS_PATH, DECISIONS_PATH, PLACEMENTS_PATH)
        )

    async def attempt(self, candidate: Candidate) -> Doubt | None:
        """None: it is being deleted. Raises ApiError when the hub refuses or does not answer."""
        for _ in range(ATTEMPTS):
            ready = await self._ready(candidate)
            if isinstance(ready, Doubt):
                return ready
            if not await self._touch(ready.relies_on):
                continue
            again = await self._ready(candidate)
            if isinstance(again, Doubt):
                return again
            if not again.relies_on_uids <= ready.relies_on_uids:
                continue
            try:
                path = f"{self._applications}/{ready.target.copy.name}"
                await self._api.delete(path, uid=ready.target.copy.uid, resource_version=ready.target.version)
            except ApiError as error:
                if error.status == HTTPStatus.CONFLICT:
                    continue
                if error.status == HTTPStatus.NOT_FOUND:
                    return Doubt(reason="Gone", message=f"{ready.target.copy.name} is gone already")
                raise
            return None
        return Doubt(
            reason="Conflict",
            message=(
                f"{candidate.verdict.copy.name}, or a copy that its removal relies on, changed while it was"
                f" judged, {ATTEMPTS} times"
            ),
        )

    async def _touch(self, copies: Iterable[Versioned]) -> bool:
        """Changes each copy, so that no deletion succeeds that names the version of before. False when one
        of them is gone or was made anew. Raises ApiError.
        """
        # Each value is new: a patch that changes nothing leaves the resourceVersion as it is.
        value = uuid.uuid4().hex
        for item in copies:
            metadata = {"uid": item.copy.uid, "annotations": {APPLICATION_REFRESH_ANNOTATION: value}}
            try:
                await self._api.merge(f"{self._applications}/{item.copy.name}", {"metadata": metadata})
            except ApiError as error:
                # The API server calls another UID in a patch of a custom resource an invalid value (422).
                if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT} or "metadata.uid" in str(
                    error
                ):
                    return False
                raise
        return True

    async def _ready(self, candidate: Candidate) -> _Ready | Doubt:
        """The candidate as it is now, if it may still go."""
        try:
            return await self._judged(candidate)
        except UNREADABLE as error:
            return Doubt(reason="Unreadable", message=f"what its removal rests on cannot be read: {error}")

    async def _judged(self, candidate: Candidate) -> _Ready | Doubt:
        found = await self._follower(candidate.set_name)
        if found is None or found.uid != candidate.set_uid or found.handover != candidate.handover:
            return Doubt(
                reason="Changed", message=f"ApplicationSet {candidate.set_name} is another one by now"
            )
        copies = {item.copy.uid: item for item in await self._copies(candidate)}
        reach = self._reach.of(await self._clusters({item.copy.cluster for item in copies.values()} - {""}))
        # Last of all, because it decides: pages before status, as OCM writes them.
        pages = await self._pages(candidate.handover.placement)
        placement = await self._placement(candidate.handover.placement)
        decided = whole(pages, placement)
        if isinstance(decided, Doubt):
            return decided
        if decided != candidate.situation.decided:
            return Doubt(reason="DecisionUnsettled", message="the decision changed a moment ago")
        situation = replace(
            candidate.situation,
            asked_for=placement.spec.number_of_clusters if placement is not None else None,
            copies=tuple(item.copy for item in copies.values()),
            unreachable=reach.unreachable,
            # What the informers saw come back may be old news for the hub, and still too new for OCM.
            returned=reach.returned | candidate.situation.returned,
        )
        uid = candidate.verdict.copy.uid
        verdict = next((item for item in judge(situation) if item.copy.uid == uid), None)
        if verdict is None:
            return Doubt(
                reason="Gone", message=f"{candidate.verdict.copy.name} is going, gone, or moved by somebody"
            )
        if verdict.action is not Action.REMOVE:
            return Doubt(reason=verdict.reason, message=verdict.message)
        relies_on = tuple(copies[item.uid] for item in verdict.relies_on[:TOUCHED])
        busy = next((item.copy.name for item in relies_on if item.hard_refresh), "")
        if busy:
            return Doubt(
                reason="RefreshPending",
                message=f"somebody asked for a hard refresh of {busy}, and Argo CD has not done it yet",
            )
        return _Ready(target=copies[uid], relies_on=relies_on)

    async def _follower(self, name: str) -> ApplicationSet | None:
        try:
            return application_set(msgspec.Raw(await self._api.get(f"{self._sets}/{name}")))[1]
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _copies(self, candidate: Candidate) -> list[Versioned]:
        """Those that the ApplicationSet controls, among those with the candidate's label; others would only
        count in favour of it.
        """
        label = f"{APPLICATION_LABEL}={candidate.verdict.copy.application}"
        found = await self._all(self._applications, versioned, labelSelector=label)
        return [item for item in found if item.copy.owner_uid == candidate.set_uid]

    async def _clusters(self, names: Collection[str]) -> dict[str, ManagedCluster]:
        if len(names) > ONE_BY_ONE:
            found = await self._all(CLUSTERS_PATH, cluster)
        else:
            found = [
                item
                for name in sorted(names)
                for item in await self._all(CLUSTERS_PATH, cluster, fieldSelector=f"metadata.name={name}")
            ]
        return {name: item for name, item in found if name in names}

    async def _pages(self, placement: str) -> list[DecisionPage]:
        return await self._all(
            self._decisions, lambda raw: decision_page(raw)[1], labelSelector=f"{PLACEMENT_LABEL}={placement}"
        )

    async def _placement(self, name: str) -> PlacementNow | None:
        """By a list of one, which the right to list covers."""
        found = await self._all(
            self._placements,
            lambda raw: msgspec.json.decode(raw, type=PlacementNow),
            fieldSelector=f"metadata.name={name}",
        )
        return found[0] if found else None

    async def _all(self, path: str, project: Callable[[msgspec.Raw], T], **selector: str) -> list[T]:
        found = list[T]()
        await self._api.list(path, lambda item: found.append(project(item)), **selector)
        return found
