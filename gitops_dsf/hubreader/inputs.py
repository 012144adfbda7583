"""Reads the inputs of the view gitops_dsf.views.status. Objects are reduced while their page is read."""

from collections.abc import Callable, Collection, Sequence
from typing import Final, Self

import msgspec

from dsf_wire.constants import ADDON_NAME, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from dsf_wire.ownership import FieldsOwner
from dsf_wire.suspended import score_names
from gitops_dsf.errors import HubError
from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.applications import read_application
from gitops_dsf.hub.applicationsets import read_application_set
from gitops_dsf.hub.collect import whole as whole_cluster
from gitops_dsf.hub.masks import Mask, read_masks
from gitops_dsf.hub.names import APPLICATION_LABEL, MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from gitops_dsf.hub.resources import (
    ADDONS,
    APPLICATION_SETS,
    APPLICATIONS,
    BINDINGS,
    CLUSTER_SETS,
    CLUSTERS,
    DECISIONS,
    PLACEMENTS,
    SCORERS,
    SCORES,
    Resource,
)
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import (
    AddOnPlacementScore,
    BareScore,
    Interner,
    OwnedScore,
    Score,
    other_managers,
)
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.reader import Object, Reader, T
from gitops_dsf.views.status import Filter, Inputs, Part
from gitops_dsf.views.status.build import resources_shown

BY_NAME: Final = 20
"""Up to this many names of AddOnPlacementScores are requested one by one."""


def read_inputs(
    reader: Reader,
    *,
    hub_namespace: str,
    argocd_namespace: str,
    only: Filter | None = None,
    owners: bool = False,
) -> Inputs:
    """Reads a hub. Reads only the scores that a view of `only` shows. `owners`: also reads which other
    programs write scores.

    Raises HubError when the hub does not answer, or is no hub.
    """
    parts = _Parts()
    clusters = parts.take(Part.CLUSTERS, reader.read(CLUSTERS, _as(ManagedCluster)))
    if (unread := parts.unread.get(Part.CLUSTERS)) is not None and unread.why is Why.NOT_INSTALLED:
        msg = f"context {reader.context}: {unread}; this cluster is not an OCM hub"
        raise HubError(msg)
    sets = parts.take(Part.SETS, reader.read(CLUSTER_SETS, _as(ManagedClusterSet)))
    bindings = parts.take(Part.BINDINGS, reader.read(BINDINGS, _as(ManagedClusterSetBinding)))
    decisions = parts.take(Part.DECISIONS, reader.read(DECISIONS, _as(PlacementDecision)))
    scorers = parts.take(Part.SCORERS, reader.read(SCORERS.within(hub_namespace), _as(DynamicScorer)))
    placements = parts.take(Part.PLACEMENTS, reader.read(PLACEMENTS, _as(Placement)))
    needed = resources_shown(scorers, placements, only or Filter()) if not owners else None
    scores = _Scores(resources={item.resource for item in scorers}, needed=needed)
    if (missing := _read_scores(reader, scores, needed, owners=owners)) is not None:
        parts.unread[Part.SCORES] = missing
    snapshot = Snapshot(
        origin=f"context {reader.context}",
        observed_at=reader.now(),
        scores=scores.tables,
        skipped=scores.skipped,
        decisions=tuple(
            sorted(decisions, key=lambda item: (item.metadata.namespace or "", item.metadata.name))
        ),
        clusters={item.metadata.name: whole_cluster(item) for item in clusters},
        sets={item.metadata.name: item for item in sets},
        bindings=tuple(sorted((item.metadata.namespace or "", item.metadata.name) for item in bindings)),
    )
    settings = Resource(plural="configmaps", namespace=hub_namespace)
    masks = _masks(reader.find(settings, MASKS_CONFIGMAP), settings)
    suspended = _suspended(reader.find(settings, SUSPENDED_CONFIGMAP), settings)
    applications = reader.read(
        APPLICATIONS.within(argocd_namespace), read_application, labels=APPLICATION_LABEL
    )
    return Inputs(
        snapshot=snapshot,
        now=reader.now(),
        scorers=scorers,
        placements=placements,
        application_sets=parts.take(
            Part.APPLICATION_SETS,
            reader.read(APPLICATION_SETS.within(argocd_namespace), read_application_set),
        ),
        applications=parts.take(Part.APPLICATIONS, applications),
        addons={
            item.cluster: item
            for item in parts.take(
                Part.ADDONS,
                reader.read(ADDONS, _as(ManagedClusterAddOn), name=ADDON_NAME, metadata_only=True),
            )
        },
        masks=parts.take(Part.MASKS, masks),
        suspended=frozenset(parts.take(Part.SUSPENDED, suspended)),
        foreign=tuple(sorted(scores.foreign)),
        contested=tuple(sorted(scores.contested)),
        unowned=tuple(sorted(scores.unowned)) if Part.SCORERS not in parts.unread else (),
        unread=parts.unread,
    )


def _read_scores(
    reader: Reader, scores: "_Scores", needed: frozenset[str] | None, *, owners: bool
) -> Unread | None:
    """Requests a few names one by one, because a hub has hundreds of scores for each name."""
    if needed is not None and len(needed) <= BY_NAME and (total := reader.count(SCORES)) is not None:
        for name in sorted(needed):
            if (
                missing := reader.stream(SCORES, AddOnPlacementScore, scores.keeping(name), name=name)
            ) is not None:
                return missing
        scores.skipped = max(0, total - sum(len(table) for table in scores.tables.values()))
        return None
    return (
        reader.stream(SCORES, OwnedScore, scores)
        if owners
        else reader.stream(SCORES, AddOnPlacementScore, scores)
    )


class _Scores:
    """Keeps what a view needs of AddOnPlacementScores while their pages are read."""

    def __init__(self, *, resources: Collection[str], needed: frozenset[str] | None) -> None:
        self._resources, self._needed, self._only = resources, needed, ""
        self._interner = Interner()
        self._names: dict[str, str] = {}
        self._others: dict[tuple[FieldsOwner, ...], tuple[str, ...]] = {}
        self.tables: dict[str, dict[str, Score]] = {}
        self.skipped = 0
        self.foreign: list[tuple[str, str]] = []
        self.unowned: list[tuple[str, str]] = []
        self.contested: list[tuple[str, str, str]] = []

    def keeping(self, name: str) -> Self:
        """Restricts the next list to this name."""
        self._only = name
        return self

    def begin(self) -> None:
        """Discards what was read of the list before."""
        if self._only:
            self.tables.pop(self._only, None)
            return
        self.tables.clear()
        self.skipped = 0
        for found in (self.foreign, self.unowned, self.contested):
            found.clear()

    def take(self, items: Sequence[AddOnPlacementScore] | Sequence[OwnedScore]) -> None:
        """Takes the objects of one page."""
        needed, tables, names, interned, resources = (
            self._needed,
            self.tables,
            self._names,
            self._interner.of,
            self._resources,
        )
        for item in items:
            metadata = item.metadata
            name, cluster, ours = metadata.name, metadata.namespace or "", metadata.ours
            if ours != (name in resources):
                (self.unowned if ours else self.foreign).append((cluster, name))
            if ours and isinstance(item, OwnedScore):
                self._note_others(cluster, name, item.metadata.managed_fields or ())
            if needed is not None and name not in needed:
                self.skipped += 1
                continue
            table = tables.get(name)
            if table is None:
                table = tables[name] = {}
            table[names.setdefault(cluster, cluster)] = interned(item.status)

    def _note_others(self, cluster: str, name: str, entries: tuple[FieldsOwner, ...]) -> None:
        others = self._others.get(entries)
        if others is None:
            # Nearly all scores of a fleet have the same writers.
            others = self._others[entries] = other_managers(entries)
        if others:
            self.contested += [(cluster, name, other) for other in others]

    def broken(self, raw: msgspec.Raw) -> None:
        """Takes a score that cannot be decoded as one without items."""
        try:
            metadata = msgspec.json.decode(raw, type=BareScore).metadata
        except msgspec.ValidationError:
            return
        self.take((AddOnPlacementScore(metadata),))


class _Parts:
    """Collects what could not be read."""

    def __init__(self) -> None:
        self.unread: dict[Part, Unread] = {}

    def take(self, part: Part, found: tuple[T, ...] | Unread) -> tuple[T, ...]:
        if isinstance(found, Unread):
            self.unread[part] = found
            return ()
        return found


def _as(model: type[T]) -> Callable[[msgspec.Raw], T]:
    """Decodes an object as a type."""
    return lambda raw: msgspec.json.decode(raw, type=model)


def _masks(found: Object | Unread | None, where: Resource) -> tuple[Mask, ...] | Unread:
    if isinstance(found, Unread):
        return found
    lacks = "it is not there" if found is None else f"it has no key {MASKS_KEY}"
    detail = f"{lacks}, so a masked score is shown as missing"
    try:
        masks = read_masks((found or {}).get("data"))
    except msgspec.DecodeError as error:
        masks, detail = None, f"{MASKS_KEY} is not a list of masks: {error}"
    if masks is not None:
        return masks
    return Unread(what=where.describe(MASKS_CONFIGMAP), why=Why.FAILED, verb="get", detail=detail)


def _suspended(found: Object | Unread | None, where: Resource) -> tuple[str, ...] | Unread:
    if isinstance(found, Unread):
        return found
    try:
        return tuple(score_names((found or {}).get("data")))
    except msgspec.DecodeError as error:
        detail = f"{SUSPENDED_KEY} is not a list of score names: {error}"
        return Unread(what=where.describe(SUSPENDED_CONFIGMAP), why=Why.FAILED, verb="get", detail=detail)
