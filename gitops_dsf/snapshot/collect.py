"""Many documents to one snapshot; an object that is there twice is a mistake, because nobody could say which one counts."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from gitops_dsf.snapshot import fileformat, hubobjects
from gitops_dsf.snapshot.documents import HubDocument
from gitops_dsf.snapshot.errors import SnapshotError
from gitops_dsf.snapshot.values import Decision, Facts, PublishedScore, Snapshot

KINDS = (
    "AddOnPlacementScore",
    "HubSnapshot",
    "ManagedCluster",
    "ManagedClusterSet",
    "ManagedClusterSetBinding",
    "PlacementDecision",
)
"""What is read; other kinds are passed over, because a folder may hold more than a snapshot."""


def collect(documents: Iterable[HubDocument], *, origin: str, observed_at: datetime | None = None) -> Snapshot:
    """The union of documents. Raises SnapshotError for a malformed object, one that is there twice, or nothing usable at all."""
    collector = _Collector()
    for document in documents:
        collector.add(document)
    if not collector.used:
        msg = f"{origin}: no {', '.join(KINDS[:-1])} or {KINDS[-1]} in it"
        raise SnapshotError(msg)
    return collector.snapshot(origin=origin, observed_at=observed_at)


class _Collector:
    def __init__(self) -> None:
        self.used = 0
        self._scores: dict[str, dict[str, PublishedScore]] = {}
        self._decisions: dict[tuple[str, str], Decision] = {}
        self._clusters: dict[str, Facts] = {}
        self._sets: dict[str, Mapping[str, Any]] = {}
        self._bindings: set[tuple[str, str]] = set()
        self._observed: list[datetime] = []
        self._places: dict[tuple[str, ...], str] = {}

    def add(self, document: HubDocument) -> None:
        data, place = document.data, document.place
        self.used += document.kind in KINDS
        match document.kind:
            case "AddOnPlacementScore":
                name, cluster, found = hubobjects.score(data, place=place)
                self._score(name, cluster, found, place)
            case "PlacementDecision":
                self._decision(hubobjects.decision(data, place=place), place)
            case "ManagedCluster":
                name, facts = hubobjects.cluster(data, place=place)
                self._cluster(name, facts, place)
            case "ManagedClusterSet":
                name = hubobjects.name_of(data, place=place)
                self._once(("ManagedClusterSet", name), place)
                self._sets[name] = data
            case "ManagedClusterSetBinding":
                self._bindings.add(hubobjects.namespaced(data, place=place))
            case "HubSnapshot":
                self._part(fileformat.read(data, place=place), place)

    def snapshot(self, *, origin: str, observed_at: datetime | None) -> Snapshot:
        return Snapshot(
            origin=origin,
            observed_at=min(self._observed) if self._observed else observed_at,
            scores=self._scores,
            decisions=tuple(self._decisions[key] for key in sorted(self._decisions)),
            clusters=self._clusters,
            sets=self._sets,
            bindings=tuple(sorted(self._bindings)),
        )

    def _part(self, part: fileformat.HubSnapshot, place: str) -> None:
        if part.observed_at is not None:
            self._observed.append(part.observed_at)
        for name, table in part.scores.items():
            for cluster, entry in table.items():
                self._score(name, cluster, fileformat.published(entry), place)
        for row in part.decisions:
            self._decision(fileformat.decision(row), place)
        for cluster, known in part.clusters.items():
            self._cluster(cluster, fileformat.facts(cluster, known), place)

    def _score(self, name: str, cluster: str, found: PublishedScore, place: str) -> None:
        self._once(("AddOnPlacementScore", cluster, name), place)
        self._scores.setdefault(name, {})[cluster] = found

    def _decision(self, found: Decision, place: str) -> None:
        self._once(("PlacementDecision", found.namespace, found.name), place)
        self._decisions[found.namespace, found.name] = found

    def _cluster(self, name: str, facts: Facts, place: str) -> None:
        self._once(("ManagedCluster", name), place)
        self._clusters[name] = facts

    def _once(self, key: tuple[str, ...], place: str) -> None:
        first = self._places.setdefault(key, place)
        if first is not place:
            kind, *names = key
            msg = f"{place}: {kind} {'/'.join(names)} is there already, at {first}; give one state of the hub at a time"
            raise SnapshotError(msg)
