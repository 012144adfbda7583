"""Deletion of one old copy, safe against two replicas that both believe to lead.

It has four steps:

1. Read everything that the deletion depends on from the API server, and evaluate it again.
2. Change every copy that the deletion relies on, by an annotation that asks Argo CD to refresh it.
3. Read and evaluate once more.
4. Delete the copy with the UID and the resourceVersion of step 1.

Step 2 protects against two replicas that both believe to lead. Each deletes with a version that it
read before it changed the copies that stay. So when one replica relies on the copy that the other
one deletes, the API server answers one of them 409, however long a process or a request was stopped
and whatever its clock says. Therefore the last copy is never deleted.

Where moves are verified, steps 1 and 3 also read the ledger: the checks of exactly this move must
have passed.

Nothing is remembered, so after a crash at any point the next attempt starts from the beginning.

Not guaranteed: that a deletion succeeds. Argo CD writes the status of an Application every few
seconds, so the version of step 1 may be over by step 4; after a few attempts the deletion waits.
"""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from gitops_dsf.hub.application_sets import ApplicationSet, Handover, read_application_set
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.names import (
    APPLICATION_LABEL,
    APPLICATION_REFRESH_ANNOTATION,
    MOVES_CONFIGMAP,
    PLACEMENT_LABEL,
)
from gitops_dsf.hub.objects import ManagedCluster, PlacementDecision
from gitops_dsf.hub.pace import is_verified
from gitops_dsf.hub.resources import APPLICATION_SETS, APPLICATIONS, CLUSTERS, DECISIONS, PLACEMENTS
from gitops_dsf.pacing.stored import MovesError, read_moves
from gitops_dsf.pacing.verification import unverified
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.configmaps import OwnConfigMap
from gitops_dsf.reconciler.hub.kinds import VersionedApplication, versioned
from gitops_dsf.reconciler.moves.reachability import ReachabilityTracker
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict, MoveState, evaluate

MAX_ONE_BY_ONE: Final = 10
"""Up to this many clusters are read one by one. For more, all clusters are listed."""
ATTEMPTS: Final = 3
"""Attempts when an Application changes meanwhile: Argo CD writes its status every few seconds."""
MAX_TOUCHED: Final = 10
"""Copies that one deletion changes, and Argo CD refreshes. One is enough to keep the last copy."""
PLACEMENT_GONE: Final = "its Placement is deleted, so the decision does not count"
DECISION_EMPTY: Final = "the decision names no cluster, and an empty decision deletes nothing"


class _WantedClusters(msgspec.Struct, frozen=True, rename="camel"):
    number_of_clusters: int | None = None


class _DecisionGroupCount(msgspec.Struct, frozen=True, rename="camel"):
    cluster_count: int = 0


class _DecisionCounts(msgspec.Struct, frozen=True, rename="camel"):
    number_of_selected_clusters: int | None = None
    decision_groups: list[_DecisionGroupCount] = []


class ObservedPlacement(msgspec.Struct, frozen=True):
    """A Placement as the API server has it, with the numbers in its status."""

    metadata: Metadata
    spec: _WantedClusters = _WantedClusters()
    status: _DecisionCounts = _DecisionCounts()


class Blocked(Exception):  # noqa: N818 - a state, not a mistake
    """The reason why nothing is deleted now."""

    def __init__(self, reason: MoveReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class _Evaluation(NamedTuple):
    """A copy that may be deleted, and the copies that its deletion relies on, all of one read."""

    copy: VersionedApplication
    relies_on: tuple[VersionedApplication, ...]


def complete_decision(
    pages: Sequence[PlacementDecision], placement: ObservedPlacement | None
) -> frozenset[str]:
    """The clusters of a complete decision, never empty. Raises Blocked when it does not count.

    OCM writes a decision page by page, and the numbers in the status of the Placement after the
    last page. So pages that do not add up to these numbers are half of a decision.
    """
    if placement is None or placement.metadata.deleting:
        raise Blocked(MoveReason.PLACEMENT_GONE, PLACEMENT_GONE)
    # The label alone does not make a page part of the decision: OCM owns its pages.
    if any(page.metadata.controller("Placement").uid != placement.metadata.uid for page in pages):
        message = "a PlacementDecision with the Placement's label belongs to another owner"
        raise Blocked(MoveReason.DECISION_FOREIGN, message)
    named = set[str]()
    entries = 0
    for page in pages:
        named.update(page.cluster_names)
        entries += len(set(page.cluster_names))
    clusters = frozenset(named)
    # OCM 1.2.1 empties the pages also after a mistake, such as a CEL expression that does not
    # compile (schedule.go). So an empty decision does not mean that the copies are unwanted.
    if not clusters:
        raise Blocked(MoveReason.DECISION_EMPTY, DECISION_EMPTY)
    # A cluster on two pages is between two writes of OCM, and counts twice in `entries`.
    counts = {len(clusters), entries, placement.status.number_of_selected_clusters or 0}
    if placement.status.decision_groups:
        counts.add(sum(group.cluster_count for group in placement.status.decision_groups))
    if len(counts) > 1:
        message = "the pages of the decision do not add up to the numbers in the Placement's status"
        raise Blocked(MoveReason.DECISION_INCOMPLETE, message)
    return clusters


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A copy that may be deleted according to the informers."""

    application_set: ApplicationSet
    handover: Handover
    state: MoveState
    verdict: CopyVerdict


class CopyDeleter:
    """Deletes Applications, and asks for the refresh of those that stay."""

    def __init__(
        self,
        *,
        api: HubApi,
        hub_namespace: str,
        argocd_namespace: str,
        reach: ReachabilityTracker,
    ) -> None:
        self._api = api
        self._ledger = OwnConfigMap(api=api, namespace=hub_namespace, name=MOVES_CONFIGMAP)
        self._argocd_namespace = argocd_namespace
        self._reach = reach
        self._sets = APPLICATION_SETS.within(argocd_namespace).path
        self._applications = APPLICATIONS.within(argocd_namespace).path
        self._decisions = DECISIONS.within(argocd_namespace).path
        self._placements = PLACEMENTS.within(argocd_namespace).path

    async def delete(self, candidate: Candidate) -> None:
        """Raises Blocked when the copy may not be deleted now, and ApiError."""
        name = candidate.verdict.copy.name
        for _ in range(ATTEMPTS):
            target, relies_on = await self._ready(candidate)
            if not await self._touch(relies_on):
                continue
            _, again = await self._ready(candidate)
            # A copy that the second look relies on and that was not touched is not protected.
            touched = {versioned_copy.copy.uid for versioned_copy in relies_on}
            if any(versioned_copy.copy.uid not in touched for versioned_copy in again):
                continue
            try:
                path = f"{self._applications}/{name}"
                await self._api.delete(path, uid=target.copy.uid, resource_version=target.version)
            except ApiError as error:
                if error.status == HTTPStatus.CONFLICT:
                    continue
                if error.status == HTTPStatus.NOT_FOUND:
                    raise Blocked(MoveReason.GONE, f"{name} does not exist any more") from error
                raise
            return
        message = (
            f"{name}, or a copy that its deletion relies on, changed during each of {ATTEMPTS}"
            " attempts"
        )
        raise Blocked(MoveReason.CONFLICT, message)

    async def _touch(self, copies: Iterable[VersionedApplication]) -> bool:
        """Changes each copy, so that its old version is over. False when one of them is gone."""
        # Each value is new: a patch that changes nothing leaves the resourceVersion as it is.
        value = uuid.uuid4().hex
        for versioned_copy in copies:
            path = f"{self._applications}/{versioned_copy.copy.name}"
            metadata = {
                "uid": versioned_copy.copy.uid,
                "annotations": {APPLICATION_REFRESH_ANNOTATION: value},
            }
            try:
                await self._api.merge(path, {"metadata": metadata})
            except ApiError as error:
                is_gone = error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}
                # The API server calls another UID in a patch of a custom resource an invalid value
                # (422).
                if is_gone or "metadata.uid" in str(error):
                    return False
                raise
        return True

    async def _ready(self, candidate: Candidate) -> _Evaluation:
        """Reads and evaluates everything again. Raises Blocked."""
        try:
            return await self._evaluate(candidate)
        except UNREADABLE as error:
            message = f"an object that the deletion depends on cannot be read: {error}"
            raise Blocked(MoveReason.UNREADABLE, message) from error

    async def _evaluate(self, candidate: Candidate) -> _Evaluation:
        await self._check_application_set(candidate)
        # Copies with the candidate's label that the ApplicationSet controls. Leaving out others
        # only makes a deletion less likely.
        label = f"{APPLICATION_LABEL}={candidate.verdict.copy.application}"
        listed = await self._api.listed(self._applications, versioned, labelSelector=label)
        copies: dict[str, VersionedApplication] = {}
        clusters = set[str]()
        for versioned_copy in listed:
            if versioned_copy.copy.owner_uid != candidate.application_set.uid:
                continue
            copies[versioned_copy.copy.uid] = versioned_copy
            if versioned_copy.copy.cluster:
                clusters.add(versioned_copy.copy.cluster)
        reach = self._reach.of(await self._clusters(clusters))
        # Read the decision last. Pages before status, as OCM writes them.
        name = candidate.handover.placement
        read_page = msgspec.json.Decoder(PlacementDecision).decode
        pages = await self._api.listed(
            self._decisions, read_page, labelSelector=f"{PLACEMENT_LABEL}={name}"
        )
        placement = await self._api.one(self._placements, name, ObservedPlacement)
        if complete_decision(pages, placement) != candidate.state.decided:
            raise Blocked(MoveReason.DECISION_UNSETTLED, "the decision has just changed")
        copy = candidate.verdict.copy
        waiting: dict[str, str] = {}
        if placement is not None and is_verified(placement.metadata):
            # All old copies are judged: one that waits must not take the turn of this one.
            waiting = await self._unverified(
                name, clusters - candidate.state.decided, candidate.state.decided
            )
        state = replace(
            candidate.state,
            asked_for=placement.spec.number_of_clusters if placement is not None else None,
            copies=tuple(versioned_copy.copy for versioned_copy in copies.values()),
            unreachable=reach.unreachable,
            # The informers may have seen a return that the hub's times no longer show.
            returned=reach.returned | candidate.state.returned,
            unverified=waiting,
        )
        verdicts = evaluate(state)
        verdict = next((verdict for verdict in verdicts if verdict.copy.uid == copy.uid), None)
        if verdict is None:
            message = f"{copy.name} is being deleted, is gone, or was moved by somebody"
            raise Blocked(MoveReason.GONE, message)
        if verdict.action is not Action.DELETE:
            raise Blocked(verdict.reason, verdict.message)
        relies_on = tuple(copies[other.uid] for other in verdict.relies_on[:MAX_TOUCHED])
        for versioned_copy in relies_on:
            if versioned_copy.hard_refresh:
                # The annotation of step 2 would replace the one that asks for a hard refresh.
                message = (
                    f"somebody asked for a hard refresh of {versioned_copy.copy.name}, and Argo CD"
                    " has not done it yet"
                )
                raise Blocked(MoveReason.REFRESH_PENDING, message)
        return _Evaluation(copies[copy.uid], relies_on)

    async def _unverified(
        self, placement: str, clusters: Iterable[str], decided: frozenset[str]
    ) -> dict[str, str]:
        """The clusters among these whose copy waits for the checks of its move, with the reason.

        The ledger of the API server decides, because a leader that was stopped remembers an old
        one. A move that the ledger allows is never taken back, so no other leader can return it
        afterwards.
        """
        config_map = await self._ledger.read()
        try:
            ledger = read_moves((config_map or {}).get("data")).ledger
        except MovesError as error:
            raise Blocked(MoveReason.UNREADABLE, str(error)) from error
        return unverified(ledger.moves, f"{self._argocd_namespace}/{placement}", clusters, decided)

    async def _check_application_set(self, candidate: Candidate) -> None:
        """Raises Blocked when the ApplicationSet is another one, or has other settings of moves."""
        expected = candidate.application_set
        content = await self._api.find(f"{self._sets}/{expected.name}")
        current = None if content is None else read_application_set(content)
        if current is None or current.uid != expected.uid or current.handover != candidate.handover:
            raise Blocked(MoveReason.CHANGED, f"ApplicationSet {expected.name} has changed")

    async def _clusters(self, names: Collection[str]) -> dict[str, ManagedCluster]:
        if len(names) > MAX_ONE_BY_ONE:
            read = msgspec.json.Decoder(ManagedCluster).decode
            clusters = await self._api.listed(CLUSTERS.path, read)
            by_listed_name = {cluster.metadata.name: cluster for cluster in clusters}
            return {name: by_listed_name[name] for name in names if name in by_listed_name}
        by_name: dict[str, ManagedCluster] = {}
        for name in sorted(names):
            cluster = await self._api.one(CLUSTERS.path, name, ManagedCluster)
            if cluster is not None:
                by_name[name] = cluster
        return by_name
