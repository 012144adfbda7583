"""What is kept of each kind's objects: typed decoding skips the rest. References for Events."""

import itertools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeVar, cast

import msgspec

from dsf_runtime.informer import Informer
from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.applications import Application, read_application, read_application_set
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import APPLICATION_REFRESH_ANNOTATION, PULL_ANNOTATION
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn, Placement, PlacementDecision
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.placements import PlacementSummary, summary_of
from gitops_dsf.hub.resources import APPLICATION_SETS, PLACEMENTS, SCORERS, SCORES
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import AddOnPlacementScore, Interner, Score, ScoreStatus
from gitops_dsf.reconciler.hub.api import HubApi

T = TypeVar("T")
OURS: Final = {"fieldSelector": f"metadata.name={ADDON_NAME}"}
"""Selects the agent's ManagedClusterAddOns."""


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """The namespaced object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class StoredMetadata(Metadata, frozen=True, rename="camel"):
    """Metadata of an object that is read in order to be changed."""

    resource_version: str = ""


class _Stored(msgspec.Struct, frozen=True):
    metadata: StoredMetadata


class StoredScore(msgspec.Struct, frozen=True):
    """An AddOnPlacementScore that is read in order to be changed or deleted."""

    metadata: StoredMetadata
    status: ScoreStatus | None = None


class Versioned(msgspec.Struct, frozen=True):
    """An Application with its resourceVersion."""

    copy: Application
    version: str
    hard_refresh: bool = False
    """Whether somebody asked this hub's Argo CD for a hard refresh that is not done yet."""


def _keyed(read: Callable[[msgspec.Raw], T], key: str) -> Callable[[msgspec.Raw], tuple[str, T]]:
    """Reads objects of a kind, with the attribute that is their key."""
    key_of = attrgetter(key)

    def project(raw: msgspec.Raw) -> tuple[str, T]:
        item = read(raw)
        return key_of(item), item

    return project


scorer: Final = _keyed(msgspec.json.Decoder(DynamicScorer).decode, "metadata.name")
cluster: Final = _keyed(msgspec.json.Decoder(ManagedCluster).decode, "metadata.name")
decision_page: Final = _keyed(msgspec.json.Decoder(PlacementDecision).decode, "metadata.name")
addon: Final = _keyed(msgspec.json.Decoder(ManagedClusterAddOn).decode, "cluster")
application_set: Final = _keyed(read_application_set, "name")
application: Final = _keyed(read_application, "name")


def placement(raw: msgspec.Raw) -> tuple[str, PlacementSummary]:
    item = msgspec.json.decode(raw, type=Placement)
    return item.metadata.name, summary_of(item)


def versioned(raw: msgspec.Raw) -> Versioned:
    """An Application that is read in order to be changed or deleted."""
    head = msgspec.json.decode(raw, type=_Stored).metadata
    return Versioned(
        copy=read_application(raw),
        version=head.resource_version,
        # On the hub nobody compares an Application of OCM's pull integration, or removes its annotation.
        hard_refresh=head.annotation(APPLICATION_REFRESH_ANNOTATION) == "hard"
        and PULL_ANNOTATION not in (head.annotations or {}),
    )


def scorer_reference(item: DynamicScorer) -> Reference:
    """With the UID, so that Events about a deleted scorer do not belong to a new one of the same name."""
    meta = item.metadata
    return Reference(
        SCORERS.api_version, "DynamicScorer", meta.namespace or "", meta.name, meta.uid
    )


def application_set_reference(name: str, uid: str, namespace: str) -> Reference:
    return Reference(APPLICATION_SETS.api_version, "ApplicationSet", namespace, name, uid)


def placement_reference(name: str, item: PlacementSummary, namespace: str) -> Reference:
    return Reference(PLACEMENTS.api_version, "Placement", namespace, name, item.uid)


MOST_CHARACTERS: Final = 65_536
"""Of the names of a score's items: a cluster cannot fill the memory of the hub."""
_NOTHING: Final[Mapping[str, Score]] = MappingProxyType({})


class ScoreColumns(MutableMapping[str, Score]):
    """Scores by cluster/name, kept by name: the keys are not stored twice."""

    _numbers: Final = itertools.count()

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, Score]] = {}
        self.versions: dict[str, int] = {}
        """A number for each column. It never has the same one with other scores."""

    def __getitem__(self, key: str) -> Score:
        cluster, _, resource = key.partition("/")
        return self.columns[resource][cluster]

    def __setitem__(self, key: str, item: Score) -> None:
        cluster, _, resource = key.partition("/")
        resource = sys.intern(resource)
        self.columns.setdefault(resource, {})[sys.intern(cluster)] = item
        self.versions[resource] = next(self._numbers)

    def __delitem__(self, key: str) -> None:
        cluster, _, resource = key.partition("/")
        del self.columns[resource][cluster]
        self.versions[resource] = next(self._numbers)
        if not self.columns[resource]:
            del self.columns[resource], self.versions[resource]

    def __iter__(self) -> Iterator[str]:
        return (
            f"{cluster}/{resource}"
            for resource, column in self.columns.items()
            for cluster in column
        )

    def __len__(self) -> int:
        return sum(map(len, self.columns.values()))


class ScoreMarks:
    """Keys of scores, in one byte each: a set of a million keys takes 150 MB."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """Of the clusters."""
        self._columns: dict[str, bytearray] = defaultdict(bytearray)

    def add(self, key: str, /) -> None:
        cluster, _, resource = key.partition("/")
        number, column = (
            self._numbers.setdefault(cluster, len(self._numbers)),
            self._columns[resource],
        )
        if number >= len(column):
            column.extend(bytes(number + 1 - len(column)))
        column[number] = 1

    def __contains__(self, key: object, /) -> bool:
        cluster, _, resource = str(key).partition("/")
        number, column = self._numbers.get(cluster), self._columns.get(resource, b"")
        return number is not None and number < len(column) and bool(column[number])


class ScoreInformer(Informer[Score]):
    def __init__(self, *, api: HubApi) -> None:
        interner, versions = Interner(), dict[str, str]()
        self._versions_of_moves = versions

        def score(raw: msgspec.Raw) -> tuple[str, Score]:
            item = msgspec.json.decode(raw, type=AddOnPlacementScore)
            found = interner.of(item.status, on_hub=item.metadata.on_hub)
            if sum(map(len, found.names)) > MOST_CHARACTERS:
                msg = f"the names of its items have more than {MOST_CHARACTERS} characters"
                raise ValueError(msg)
            if item.metadata.name == MOVES_SCORE:
                metadata = msgspec.json.decode(raw, type=_Stored).metadata
                versions[item.metadata.namespace or ""] = metadata.resource_version
            return f"{item.metadata.namespace}/{item.metadata.name}", found

        super().__init__(
            api=api,
            path=SCORES.path,
            project=score,
            key=lambda cluster, name: f"{cluster}/{name}",
            shelf=ScoreColumns,
            marks=ScoreMarks,
        )

    @property
    def columns(self) -> Mapping[str, Mapping[str, Score]]:
        """By name, scorers' and others', and then by cluster."""
        return cast("ScoreColumns", self._items).columns

    @property
    def versions_of_moves(self) -> Mapping[str, str]:
        """The resourceVersion of each `gitops-dsf-moves`, by cluster. The writer of these objects compares it
        with what it wrote, because an informer may be behind.
        """
        return {
            cluster: self._versions_of_moves.get(cluster, "") for cluster in self.of(MOVES_SCORE)
        }

    def version(self, resource: str) -> int:
        """A number that changes with the scores of one name; -1 while there are none."""
        return cast("ScoreColumns", self._items).versions.get(resource, -1)

    def of(self, resource: str) -> Mapping[str, Score]:
        """The scores of one name by cluster, such as a scorer's."""
        return self.columns.get(resource, _NOTHING)
