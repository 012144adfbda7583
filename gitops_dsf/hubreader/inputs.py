"""Reads snapshots and the inputs of gitops_dsf.views.status.

Objects are reduced while their page is read.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from dsf_wire.constants import ADDON_NAME
from dsf_wire.ownership import FieldsOwner
from gitops_dsf.errors import HubError
from gitops_dsf.hub import objects
from gitops_dsf.hub import resources as api
from gitops_dsf.hub.application_sets import read_application_set
from gitops_dsf.hub.applications import read_application
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.moves.waiting import WaitingCopy, read_waits
from gitops_dsf.hub.names import APPLICATION_LABEL, MASKS_CONFIGMAP, MASKS_KEY, MOVES_CONFIGMAP
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import (
    AddOnPlacementScore,
    BareScore,
    Interner,
    OwnedScore,
    PublishedScore,
    other_managers,
)
from gitops_dsf.hub.snapshots.collect import unreadable
from gitops_dsf.hub.snapshots.collect import whole as whole_cluster
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.targets import Mask, read_masks
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, JsonObject, Page, T, as_type
from gitops_dsf.pacing.stored import MovesError, StoredMoves, read_moves
from gitops_dsf.views.status.build import Filter, resources_shown
from gitops_dsf.views.status.inputs import HubPart, StatusInputs
from gitops_dsf.views.status.placements import any_waits

BY_NAME: Final = 20
"""Up to this many names of AddOnPlacementScores are requested one by one."""


def observe(
    *, context: str, kubeconfig: Path | None, resources: frozenset[str] | None, moves_in: str | None
) -> Snapshot:
    """Reads scores, with these names if given, and paced moves of a namespace if given.

    Raises HubError.
    """
    with HubClient(context=context, kubeconfig=kubeconfig) as hub:
        parts = _Parts()
        snapshot = _snapshot(hub, parts, _Scores(needed=resources))
        where = api.Resource(plural="configmaps", namespace=moves_in)
        moves = hub.find(where, MOVES_CONFIGMAP) if moves_in is not None else None
        for part in parts.unread.values():
            raise HubError(hub.lacks(part))
        if isinstance(moves, Unread):
            raise HubError(hub.lacks(moves))
        return snapshot if moves is None else replace(snapshot, moves=moves.get("data"))


def read_inputs(
    hub: HubClient,
    *,
    hub_namespace: str,
    argocd_namespace: str,
    only: Filter | None = None,
    owners: bool = False,
) -> StatusInputs:
    """Reads what a view of `only` shows; with `owners` also who else writes scores.

    Raises HubError.
    """
    parts = _Parts()
    scorers = parts.take(
        HubPart.SCORERS, hub.read(api.SCORERS.within(hub_namespace), as_type(DynamicScorer))
    )
    placements = parts.take(
        HubPart.PLACEMENTS, hub.read(api.PLACEMENTS, as_type(objects.Placement))
    )
    needed = resources_shown(scorers, placements, only or Filter()) if not owners else None
    scores = _Scores(needed=needed, resources={item.resource for item in scorers}, owners=owners)
    snapshot = _snapshot(hub, parts, scores)
    masks = _configmap(hub, hub_namespace, MASKS_CONFIGMAP, _masks)
    in_argocd = api.APPLICATIONS.within(argocd_namespace)
    applications = parts.take(
        HubPart.APPLICATIONS, hub.read(in_argocd, read_application, labels=APPLICATION_LABEL)
    )
    sets = parts.take(
        HubPart.APPLICATION_SETS,
        hub.read(api.APPLICATION_SETS.within(argocd_namespace), read_application_set),
    )
    # Only fleets with a pace, and those in which a copy waits, need the right.
    paced = any(item.metadata.annotation(PACE_ANNOTATION) for item in placements)
    asks = paced or any_waits(sets, applications, decided(snapshot.decisions))
    moves = _configmap(hub, hub_namespace, MOVES_CONFIGMAP, _moves) if asks else ()
    addons = hub.read(
        api.ADDONS, as_type(objects.ManagedClusterAddOn), name=ADDON_NAME, metadata_only=True
    )
    now = hub.now()
    stored, waits = next(iter(parts.take(HubPart.MOVES, moves)), (None, ()))
    return StatusInputs(
        snapshot=snapshot,
        now=now,
        scorers=scorers,
        placements=placements,
        application_sets=sets,
        applications=applications,
        addons={item.cluster: item for item in parts.take(HubPart.ADDONS, addons)},
        masks=parts.take(HubPart.MASKS, masks),
        moves=stored.not_after(now.timestamp()) if paced and stored is not None else None,
        waits=waits,
        foreign=tuple(sorted(scores.foreign)),
        contested=tuple(sorted(scores.contested)),
        unowned=tuple(sorted(scores.unowned)) if HubPart.SCORERS not in parts.unread else (),
        unread=parts.unread,
    )


def _snapshot(hub: HubClient, parts: "_Parts", scores: "_Scores") -> Snapshot:
    """Raises HubError when the hub does not answer, or is no hub."""
    clusters = parts.take(HubPart.CLUSTERS, hub.read(api.CLUSTERS, as_type(objects.ManagedCluster)))
    if (
        unread := parts.unread.get(HubPart.CLUSTERS)
    ) is not None and unread.why is Why.NOT_INSTALLED:
        raise HubError(hub.lacks(unread))
    sets = parts.take(HubPart.SETS, hub.read(api.CLUSTER_SETS, as_type(objects.ManagedClusterSet)))
    bindings = parts.take(
        HubPart.BINDINGS, hub.read(api.BINDINGS, as_type(objects.ManagedClusterSetBinding))
    )
    decisions = parts.take(
        HubPart.DECISIONS, hub.read(api.DECISIONS, as_type(objects.PlacementDecision))
    )
    if (missing := scores.read(hub)) is not None:
        parts.unread[HubPart.SCORES] = missing
    return Snapshot(
        origin=f"context {hub.context}",
        observed_at=hub.now(),
        scores=scores.tables,
        skipped=scores.skipped,
        unreadable=tuple(sorted(scores.unreadable)),
        decisions=tuple(
            sorted(decisions, key=lambda item: (item.metadata.namespace or "", item.metadata.name))
        ),
        clusters={item.metadata.name: whole_cluster(item) for item in clusters},
        sets={item.metadata.name: item for item in sets},
        bindings=tuple(
            sorted((item.metadata.namespace or "", item.metadata.name) for item in bindings)
        ),
    )


class _Page(Page, frozen=True):
    """A page of scores: nearly all pages have only scores that can be decoded."""

    items: list[AddOnPlacementScore] | None = None  # type: ignore[assignment]


class _OwnedPage(Page, frozen=True):
    """The same with managedFields."""

    items: list[OwnedScore] | None = None  # type: ignore[assignment]


class _Scores:
    """What a view needs of AddOnPlacementScores. Each is reduced while its page is read."""

    def __init__(
        self,
        *,
        needed: frozenset[str] | None,
        resources: Collection[str] | None = None,
        owners: bool = False,
    ) -> None:
        """`resources`: names that scorers publish.

        `owners`: also which other programs write scores.
        """
        self._resources, self._needed = resources, needed
        self._page: type[Page] = _OwnedPage if owners else _Page
        self._model: type[AddOnPlacementScore | OwnedScore] = (
            OwnedScore if owners else AddOnPlacementScore
        )
        self._interner = Interner()
        self._names: dict[str, str] = {}
        self._others: dict[tuple[FieldsOwner, ...], tuple[str, ...]] = {}
        self.tables: dict[str, dict[str, PublishedScore]] = {}
        self.skipped = 0
        self.unreadable: list[str] = []
        self.foreign: list[tuple[str, str]] = []
        self.unowned: list[tuple[str, str]] = []
        self.contested: list[tuple[str, str, str]] = []

    def read(self, hub: HubClient) -> Unread | None:
        """A few names are read one by one. Returns why a list could not be read."""
        names, needed = [""], self._needed
        if (
            needed is not None
            and len(needed) <= BY_NAME
            and (total := hub.count(api.SCORES)) is not None
        ):
            names, self.skipped = sorted(needed), total
        for name in names:
            found = hub.take(api.SCORES, self._take, of=self._page, name=name)
            if isinstance(found, Unread):
                return found
            if name:
                self.skipped = max(0, self.skipped - len(self.tables.get(name, ())))
        return None

    def _take(self, scores: Iterator[AddOnPlacementScore | OwnedScore | msgspec.Raw]) -> None:
        """Takes scores. One that cannot be decoded has no items."""
        needed, resources, others = self._needed, self._resources, self._others
        # A loop without calls for what nearly all scores are: there may be a million.
        tables, one_name, one_score = self.tables, self._names.setdefault, self._interner.of
        for found in scores:
            item = self._decoded(found) if isinstance(found, msgspec.Raw) else found
            if item is None:
                continue
            metadata = item.metadata
            name, cluster, ours = metadata.name, metadata.namespace or "", metadata.ours
            if resources is not None and ours != (name in resources):
                (self.unowned if ours else self.foreign).append((cluster, name))
            if ours and isinstance(item, OwnedScore):
                entries = item.metadata.managed_fields or ()
                if entries not in others:
                    # Nearly all scores of a fleet have the same writers.
                    others[entries] = other_managers(entries)
                if others[entries]:
                    self.contested += [(cluster, name, other) for other in others[entries]]
            if needed is not None and name not in needed:
                self.skipped += 1
                continue
            if name not in tables:
                tables[name] = {}
            tables[name][one_name(cluster, cluster)] = one_score(item.status)

    def _decoded(self, raw: msgspec.Raw) -> AddOnPlacementScore | OwnedScore | None:
        try:
            return msgspec.json.decode(raw, type=self._model)
        except msgspec.ValidationError as error:
            with suppress(msgspec.ValidationError):
                bare = msgspec.json.decode(raw, type=BareScore).metadata
                if self._needed is None or bare.name in self._needed:
                    self.unreadable.append(
                        unreadable(bare.name, bare.namespace or "", problem_of(error))
                    )
                return AddOnPlacementScore(bare)
            return None


class _Parts:
    def __init__(self) -> None:
        self.unread: dict[HubPart, Unread] = {}

    def take(self, part: HubPart, found: tuple[T, ...] | Unread) -> tuple[T, ...]:
        if isinstance(found, Unread):
            self.unread[part] = found
            return ()
        return found


def _configmap(
    hub: HubClient,
    namespace: str,
    name: str,
    read: Callable[[JsonObject | None], tuple[T, ...] | str],
) -> tuple[T, ...] | Unread:
    """What a ConfigMap says.

    `read` gets it, or None, and returns a text if it cannot be understood.
    """
    where = api.Resource(plural="configmaps", namespace=namespace)
    found = hub.find(where, name)
    if isinstance(found, Unread):
        return found
    said = read(found)
    if isinstance(said, str):
        return Unread(what=where.describe(name), why=Why.FAILED, verb="get", detail=said)
    return said


def _masks(found: JsonObject | None) -> tuple[Mask, ...] | str:
    lacks = "it is not there" if found is None else f"it has no key {MASKS_KEY}"
    try:
        masks = read_masks((found or {}).get("data"))
    except msgspec.DecodeError as error:
        return f"{MASKS_KEY} is not a list of masks: {error}"
    return f"{lacks}, so a masked score is shown as missing" if masks is None else masks


def _moves(
    found: JsonObject | None,
) -> tuple[tuple[StoredMoves, tuple[WaitingCopy, ...]], ...] | str:
    """The paced moves, and what copies wait for; none before the reconciler has written them."""
    try:
        return (
            ()
            if found is None
            else ((read_moves(found.get("data")), read_waits(found.get("data"))),)
        )
    except MovesError as error:
        return str(error)
