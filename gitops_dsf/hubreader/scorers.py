"""Reads the scorers of a hub: the rendered list, and the DynamicScorers with their status.

The list says what runs. A hub whose list cannot be read has only DynamicScorers to show, as people
see them with kubectl; the unread list is named beside them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from gitops_dsf.hub import resources
from gitops_dsf.hub.delivery import OUR_CRDS
from gitops_dsf.hub.names import STATUS_CONFIGMAP
from gitops_dsf.hub.scorerlist import (
    INDEX_CONFIGMAP,
    ListConfigMap,
    ListError,
    ListIndex,
    listed_scorer,
    read_index,
    read_scorers,
    read_statuses,
)
from gitops_dsf.hub.scorers import DynamicScorer, ScorerSpec
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, as_type


@dataclass(frozen=True, kw_only=True)
class HubScorers:
    """The scorers of a hub."""

    scorers: tuple[DynamicScorer, ...] | Unread
    unread_list: Unread | None = None
    """The reason why the list was not read; then `scorers` are the DynamicScorers."""
    unread_status: Unread | None = None
    """The reason why the DynamicScorers, which have the status, were not read beside the list."""
    unlisted: tuple[str, ...] = ()
    """Names of DynamicScorers that are not in the list, so that nothing runs them."""
    crds: str = OUR_CRDS
    """The value of delivery.crds."""
    mode: str | None = None
    """The value of delivery.mode; None if no list was read."""


class _List(NamedTuple):
    """The list, and what is read beside it."""

    specs: dict[str, ScorerSpec]
    statuses: dict[str, dict[str, Any]]
    """The statuses that DynamicScorers cannot hold."""
    says: ListIndex


def read_hub_scorers(hub: HubClient, namespace: str) -> HubScorers:
    """Raises HubError."""
    stored = hub.read(resources.SCORERS.within(namespace), as_type(DynamicScorer))
    listed = _read_list(hub, namespace)
    if isinstance(listed, Unread):
        # A hub without anything of ours has no list, and nothing to say about it.
        nothing = isinstance(stored, Unread) or not stored
        return HubScorers(scorers=stored, unread_list=None if nothing else listed)
    unread = stored if isinstance(stored, Unread) else None
    objects: dict[str, DynamicScorer] = {}
    for scorer in () if isinstance(stored, Unread) else stored:
        objects[scorer.name] = scorer
    scorers: list[DynamicScorer] = []
    for name, spec in sorted(listed.specs.items()):
        scorer = listed_scorer(
            name,
            spec,
            objects.get(name),
            namespace=namespace,
            status=listed.statuses.get(name),
        )
        scorers.append(scorer)
    return HubScorers(
        scorers=tuple(scorers),
        unread_status=unread,
        crds=listed.says.crds,
        mode=listed.says.mode,
        unlisted=tuple(sorted(objects.keys() - listed.specs.keys())),
    )


def _read_list(hub: HubClient, namespace: str) -> _List | Unread:
    configmaps = resources.Resource(plural="configmaps", namespace=namespace)
    try:
        index_map = _config_map(hub, configmaps, INDEX_CONFIGMAP)
        if isinstance(index_map, Unread):
            return index_map
        index = read_index(index_map)
        parts: dict[str, ListConfigMap | None] = {}
        for name in index.names:
            part = _config_map(hub, configmaps, name)
            if isinstance(part, Unread):
                return part
            parts[name] = part
        specs = read_scorers(index, parts)
        statuses: dict[str, dict[str, Any]] = {}
        if index.crds != OUR_CRDS:
            # Only there the right is needed. Without it the statuses of the objects are shown.
            kept = _config_map(hub, configmaps, STATUS_CONFIGMAP)
            if isinstance(kept, ListConfigMap):
                statuses = read_statuses(kept.data)
        return _List(specs, statuses, index)
    except ListError as error:
        return Unread(
            what=configmaps.describe(INDEX_CONFIGMAP), why=Why.FAILED, verb="get", detail=str(error)
        )


def _config_map(
    hub: HubClient, configmaps: resources.Resource, name: str
) -> ListConfigMap | Unread | None:
    """Raises ListError."""
    content = hub.find(configmaps, name)
    if content is None or isinstance(content, Unread):
        return content
    try:
        return msgspec.convert(content, ListConfigMap)
    except msgspec.ValidationError as error:
        raise ListError(f"ConfigMap {name}: {error}") from error
