"""What differs between hub and git now: locks of drifted scorers, and clusters that joined, left or changed.
The worker works it out.
"""

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

import msgspec

from dsf_wire.constants import SCORE_GROUP
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSpec, ManagedClusterStatus
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.proposals.decide import Finding
from gitops_dsf.reconciler.proposals.memory import Absences, Memory
from gitops_dsf.reconciler.proposals.proposal import Kind, Proposal, Subject
from gitops_dsf.reconciler.proposals.protocol import (
    InventoryChange,
    LockChange,
    WorkerRequest,
    WorkerResponse,
)
from gitops_dsf.reconciler.proposals.worker import ask

SCORERS: Final = 20
"""Scorers that one pass compares at most. The others follow in later passes."""


class DriftDetector:
    """Compares one fleet with the hub. `removes`: clusters that left may be removed from git."""

    def __init__(
        self,
        *,
        view: HubView,
        kinds: Collection[str],
        absences: Absences,
        memory: Memory,
        seconds: float,
        removes: bool,
    ) -> None:
        self._view, self._kinds, self._absences, self._memory = view, kinds, absences, memory
        self._seconds, self._removes = seconds, removes
        self._known: list[str] = []
        """Clusters in git at the last response."""
        self._seen: tuple[str, InventoryChange] | None = None
        """Digest of the input of the last inventory, and its result."""

    async def findings(
        self,
        root: Path,
        *,
        commit: str,
        offered: Collection[Subject],
        in_repository: Callable[[str], str],
        now: float,
    ) -> list[Finding]:
        """A finding for every subject that drifted or has a branch. Raises WorkerError."""
        scorers = self._scorers(offered)
        clusters = [
            _object(item) for name, item in sorted(self._view.clusters.items.items()) if not item.deleting
        ]
        gone = (
            self._absences.observe(known=self._known, present=self._view.clusters.items, now=now)
            if self._removes
            else []
        )
        stamp = hashlib.sha256(msgspec.json.encode([commit, clusters, gone])).hexdigest()
        wants_inventory = Kind.INVENTORY in self._kinds and bool(clusters)
        known = self._seen[1] if self._seen is not None and self._seen[0] == stamp else None
        if not scorers and (known is not None or not wants_inventory):
            answer = WorkerResponse()
        else:
            asked = clusters if wants_inventory and known is None else None
            answer = await ask(
                WorkerRequest(
                    root=str(root), scorers=scorers, seconds=self._seconds, clusters=asked, gone=gone
                )
            )
        found = [_lock(item, in_repository) for item in answer.locks]
        inventory = answer.inventory or known
        if wants_inventory and inventory is not None:
            if inventory.known:
                self._known = inventory.known
            self._seen = (stamp, inventory)
            found.append(_inventory(inventory, in_repository))
        return found

    def _scorers(self, offered: Collection[Subject]) -> list[str]:
        if Kind.LOCKS not in self._kinds:
            return []
        drifted = {
            name
            for name, item in self._view.scorers.items.items()
            if item.condition("ConfigSynced").reason == "Drifted"
        }
        names = drifted | {subject.scorer for subject in offered if subject.kind is Kind.LOCKS}
        subjects = [Subject(kind=Kind.LOCKS, scorer=name) for name in names]
        return [subject.scorer for subject in self._memory.in_turn(subjects, SCORERS)]


def _lock(item: LockChange, in_repository: Callable[[str], str]) -> Finding:
    subject = Subject(kind=Kind.LOCKS, scorer=item.scorer)
    if item.state != "change":
        return Finding(subject=subject, why=item.why)
    title = f"Accept what /config of scorer {item.scorer} says"
    files = {in_repository(item.file): item.text.encode()}
    return Finding(
        subject=subject,
        proposal=Proposal(subject=subject, files=files, title=title, details=tuple(item.details)),
    )


def _inventory(item: InventoryChange, in_repository: Callable[[str], str]) -> Finding:
    subject = Subject(kind=Kind.INVENTORY)
    if item.state != "change":
        return Finding(subject=subject, why=item.why)
    files = {
        in_repository(file): None if text is None else text.encode() for file, text in item.files.items()
    }
    proposal = Proposal(subject=subject, files=files, title=item.title, details=tuple(item.details))
    return Finding(subject=subject, proposal=proposal, note=item.why)


def _object(item: ManagedCluster) -> dict[str, Any]:
    """The fields of a ManagedCluster that `gitops-dsf import` uses."""
    spec, status = item.spec or ManagedClusterSpec(), item.status or ManagedClusterStatus()
    return {
        "apiVersion": f"{SCORE_GROUP}/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": item.metadata.name, "labels": item.labels},
        "spec": {
            "hubAcceptsClient": spec.hub_accepts_client,
            "taints": [msgspec.to_builtins(taint) for taint in item.taints],
        },
        "status": {
            "clusterClaims": [
                {"name": claim.name, "value": claim.value} for claim in status.cluster_claims or ()
            ],
            "allocatable": status.allocatable or {},
            "capacity": status.capacity or {},
        },
    }
