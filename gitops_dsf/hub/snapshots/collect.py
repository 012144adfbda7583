"""Collects objects into one snapshot.

One that appears twice is an error: it is unclear which is right.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub import objects
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.scores import AddOnPlacementScore, BareScore, Interner, PublishedScore
from gitops_dsf.hub.snapshots import file_format
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

KINDS = (
    "AddOnPlacementScore",
    "HubSnapshot",
    "ManagedCluster",
    "ManagedClusterSet",
    "ManagedClusterSetBinding",
    "PlacementDecision",
)
"""The kinds that are read. Others are ignored, because a folder may hold more than a snapshot."""

DEPTH: Final = 64
"""Levels of nesting in an object, the same as in a YAML document of a repository."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotDocument:
    """An object as JSON, decoded directly to the requested type."""

    place: str
    """Its position, for messages."""
    kind: str
    """Empty if it is absent or not a string."""
    text: bytes | msgspec.Raw

    def plain(self) -> Any:  # noqa: ANN401 - whatever it holds
        """Returns the object as plain data. Raises SnapshotError when it is nested too deeply."""
        try:
            data = msgspec.json.decode(self.text)
        except RecursionError:
            data = None
        if data is None or _is_deeper(data, DEPTH):
            msg = f"{self.place}: more than {DEPTH} levels of objects and lists inside each other"
            raise SnapshotError(msg)
        return data


def _is_deeper(data: Any, limit: int) -> bool:  # noqa: ANN401 - whatever JSON holds
    level = [data]
    for _ in range(limit):
        inside = (item.values() if isinstance(item, dict) else item for item in level)
        level = [value for values in inside for value in values if isinstance(value, dict | list)]
        if not level:
            return False
    return True


def collect(
    documents: Iterable[SnapshotDocument], *, origin: str, resources: frozenset[str] | None = None
) -> Snapshot:
    """One snapshot of documents; only scores with these names, if given. Raises SnapshotError."""
    collector = _Collector(resources)
    for document in documents:
        collector.add(document)
    if not collector.used:
        raise SnapshotError(f"{origin}: no {', '.join(KINDS[:-1])} or {KINDS[-1]} in it")
    return collector.snapshot(origin)


def whole(cluster: objects.ManagedCluster) -> objects.ManagedCluster:
    """Marks absent labels, taints and claims as known to be empty: an API server gave the object."""
    metadata = cluster.metadata
    if metadata.labels is None:
        metadata = msgspec.structs.replace(metadata, labels={})
    spec = cluster.spec or objects.ManagedClusterSpec()
    status = cluster.status or objects.ManagedClusterStatus()
    if spec.taints is None:
        spec = msgspec.structs.replace(spec, taints=())
    if status.cluster_claims is None:
        status = msgspec.structs.replace(status, cluster_claims=())
    return objects.ManagedCluster(metadata, spec, status)


class _Collector:
    def __init__(self, resources: frozenset[str] | None) -> None:
        self.used = 0
        self._resources = resources
        self._interner = Interner()
        self._skipped = 0
        self._unreadable: list[str] = []
        self._scores: dict[str, dict[str, PublishedScore]] = {}
        self._decisions: dict[tuple[str, str], objects.PlacementDecision] = {}
        self._clusters: dict[str, objects.ManagedCluster] = {}
        self._sets: dict[str, objects.ManagedClusterSet] = {}
        self._bindings: set[tuple[str, str]] = set()
        self._observed: list[datetime] = []

    def add(self, document: SnapshotDocument) -> None:
        kind, place = document.kind, document.place
        self.used += kind in KINDS
        match kind:
            case "AddOnPlacementScore":
                self._score(document)
            case "PlacementDecision":
                self._decision(_read(document, objects.PlacementDecision), document)
            case "ManagedCluster":
                found = whole(_read(document, objects.ManagedCluster))
                _put(self._clusters, found.metadata.name, found, place)
            case "ManagedClusterSet":
                item = _read(document, objects.ManagedClusterSet)
                _put(self._sets, item.metadata.name, item, place)
            case "ManagedClusterSetBinding":
                binding = _read(document, objects.ManagedClusterSetBinding)
                self._bindings.add(
                    (_namespace(binding.metadata.namespace, document), binding.metadata.name)
                )
            case "HubSnapshot":
                self._part(document)

    def snapshot(self, origin: str) -> Snapshot:
        return Snapshot(
            origin=origin,
            observed_at=min(self._observed, default=None),
            scores=self._scores,
            skipped=self._skipped,
            unreadable=tuple(sorted(self._unreadable)),
            decisions=tuple(self._decisions[key] for key in sorted(self._decisions)),
            clusters=self._clusters,
            sets=self._sets,
            # A file without bindings does not say that the hub has none.
            bindings=tuple(sorted(self._bindings)) or None,
        )

    def _score(self, document: SnapshotDocument) -> None:
        item = self._decoded(document)
        name, place = item.metadata.name, document.place
        cluster = _namespace(item.metadata.namespace, document)
        for each in (item.status.scores if item.status else None) or ():
            if not SCORE_MIN <= each.value <= SCORE_MAX:
                raise SnapshotError(
                    f"{place}: AddOnPlacementScore {cluster}/{name}: {each.name} is {each.value}; a"
                    " score is -100 to 100"
                )
        if self._resources is not None and name not in self._resources:
            self._skipped += 1
            return
        self._begin(name, (cluster,), place)[cluster] = self._interner.of(item.status)

    def _decoded(self, document: SnapshotDocument) -> AddOnPlacementScore:
        """A score whose time cannot be read costs nothing but itself."""
        try:
            return msgspec.json.decode(document.text, type=AddOnPlacementScore)
        except msgspec.ValidationError as error:
            if "validUntil" not in str(error):
                return _read(document, AddOnPlacementScore)
            bare = _read(document, BareScore).metadata
            if self._resources is None or bare.name in self._resources:
                self._unreadable.append(
                    unreadable(bare.name, bare.namespace or "", problem_of(error))
                )
            return AddOnPlacementScore(bare)

    def _part(self, document: SnapshotDocument) -> None:
        place = document.place
        part = file_format.read(document.text, place=place)
        if part.observed_at is not None:
            self._observed.append(part.observed_at)
        for name, entries in part.tables(self._resources, place=place):
            if isinstance(entries, int):
                self._skipped += entries
                continue
            self._unreadable += [
                unreadable(name, cluster, entry.problem)
                for cluster, entry in entries.items()
                if entry.problem
            ]
            scores = self._begin(name, entries, place)
            scores.update(
                (cluster, entry.score(self._interner)) for cluster, entry in entries.items()
            )
        for entry in part.decisions:
            self._decision(decision_of(**msgspec.structs.asdict(entry)), document)
        for cluster, known in part.clusters.items():
            _put(self._clusters, cluster, file_format.cluster(cluster, known), place)

    def _begin(self, name: str, clusters: Iterable[str], place: str) -> dict[str, PublishedScore]:
        """The table of a name. Raises SnapshotError if one of these clusters is in it already."""
        scores = self._scores.setdefault(name, {})
        for cluster in clusters if scores else ():
            if cluster in scores:
                _twice(f"AddOnPlacementScore {cluster}/{name}", place)
        return scores

    def _decision(self, found: objects.PlacementDecision, document: SnapshotDocument) -> None:
        namespace = _namespace(found.metadata.namespace, document)
        _put(self._decisions, (namespace, found.metadata.name), found, document.place)


def _put(table: dict[K, V], key: K, item: V, place: str) -> None:
    if key in table:
        name = "/".join(key) if isinstance(key, tuple) else key
        _twice(f"{type(item).__name__} {name}", place)
    table[key] = item


def unreadable(name: str, cluster: str, why: str) -> str:
    """Says that a score counts as 0."""
    return f"AddOnPlacementScore {cluster}/{name} cannot be read and counts as 0: {why}"


def _twice(what: str, place: str) -> NoReturn:
    raise SnapshotError(f"{place}: {what} is there already; give one state of the hub at a time")


def _namespace(namespace: str | None, document: SnapshotDocument) -> str:
    if not namespace:
        raise SnapshotError(f"{document.place}: {_which(document)}: it needs metadata.namespace")
    return namespace


def _read(document: SnapshotDocument, model: type[T]) -> T:
    try:
        return msgspec.json.decode(document.text, type=model)
    except msgspec.ValidationError as error:
        msg = ": ".join(filter(None, (document.place, _which(document), problem_of(error))))
        raise SnapshotError(msg) from error


def _which(document: SnapshotDocument) -> str:
    data = document.plain()
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    names = (
        (metadata.get(key) for key in ("namespace", "name"))
        if isinstance(metadata, Mapping)
        else ()
    )
    return " ".join(filter(None, (document.kind, "/".join(map(str, filter(None, names))))))
