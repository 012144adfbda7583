"""Collects objects into one snapshot.

An object that appears twice is an error, because it is unclear which one is right. A score whose
time cannot be read counts as 0 and is named in `Snapshot.unreadable`; any other object that cannot
be decoded is an error.

Not guaranteed: that the snapshot is complete, or of one moment. Its age is that of its oldest part.
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
from gitops_dsf.hub.raw_results import ByCluster
from gitops_dsf.hub.scores import (
    AddOnPlacementScore,
    BareScore,
    Interner,
    PublishedScore,
    ScoreFailure,
)
from gitops_dsf.hub.snapshots import file_format
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError
from gitops_dsf.wording import or_text

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

MAX_DEPTH: Final = 64
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
        """The object as plain data. Raises SnapshotError when it is nested too deeply."""
        try:
            data = msgspec.json.decode(self.text)
        except RecursionError:
            data = None
        if data is None or _is_deeper(data, MAX_DEPTH):
            raise SnapshotError(
                f"{self.place}: more than {MAX_DEPTH} levels of objects and lists inside each other"
            )
        return data


def collect(
    documents: Iterable[SnapshotDocument],
    *,
    origin: str,
    resources: frozenset[str] | None = None,
) -> Snapshot:
    """One snapshot of documents; only scores with these names, if given. Raises SnapshotError."""
    collector = _Collector(resources)
    for document in documents:
        collector.add(document)
    # Nothing at all is more probably a wrong path than an empty hub.
    if not collector.used:
        raise SnapshotError(f"{origin} contains no {or_text(KINDS)}")
    return collector.snapshot(origin)


def whole(cluster: objects.ManagedCluster) -> objects.ManagedCluster:
    """The cluster with absent labels, taints and claims marked as known to be empty.

    An API server leaves out what is empty. In a snapshot file an absent section is not known.
    """
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


def unreadable(name: str, cluster: str, why: str) -> str:
    """The message about a score that counts as 0."""
    return f"AddOnPlacementScore {cluster}/{name} cannot be read and counts as 0: {why}"


class _Collector:
    def __init__(self, resources: frozenset[str] | None) -> None:
        self.used = 0
        self._resources = resources
        self._interner = Interner()
        self._skipped = 0
        self._unreadable: list[str] = []
        self._scores: dict[str, dict[str, PublishedScore]] = {}
        self._raw_scores: dict[str, ByCluster] = {}
        self._failures: dict[tuple[str, str], ScoreFailure] = {}
        """Failures by name of the AddOnPlacementScore and cluster."""
        self._failures_left_out = 0
        self._decisions: dict[tuple[str, str], objects.PlacementDecision] = {}
        self._clusters: dict[str, objects.ManagedCluster] = {}
        self._sets: dict[str, objects.ManagedClusterSet] = {}
        self._bindings: set[tuple[str, str]] = set()
        self._observed: list[datetime] = []

    def add(self, document: SnapshotDocument) -> None:
        """Takes one document. Raises SnapshotError."""
        self.used += document.kind in KINDS
        match document.kind:
            case "AddOnPlacementScore":
                self._add_score(document)
            case "PlacementDecision":
                self._add_decision(_read(document, objects.PlacementDecision), document)
            case "ManagedCluster":
                cluster = whole(_read(document, objects.ManagedCluster))
                _put(self._clusters, cluster.metadata.name, cluster, document.place)
            case "ManagedClusterSet":
                cluster_set = _read(document, objects.ManagedClusterSet)
                _put(self._sets, cluster_set.metadata.name, cluster_set, document.place)
            case "ManagedClusterSetBinding":
                metadata = _read(document, objects.ManagedClusterSetBinding).metadata
                self._bindings.add((_namespace(metadata.namespace, document), metadata.name))
            case "HubSnapshot":
                self._add_part(document)

    def snapshot(self, origin: str) -> Snapshot:
        """The snapshot of all collected objects. Its age is that of the oldest part."""
        # At the end, because a file of failures may be read before that of the scores.
        for (name, cluster), failure in self._failures.items():
            scores = self._scores.setdefault(name, {})
            score = scores.get(cluster, PublishedScore())
            scores[cluster] = msgspec.structs.replace(score, failure=failure)
        return Snapshot(
            origin=origin,
            observed_at=min(self._observed, default=None),
            scores=self._scores,
            skipped=self._skipped,
            unreadable=tuple(sorted(self._unreadable)),
            failures_left_out=self._failures_left_out,
            raw_scores=self._raw_scores,
            decisions=tuple(self._decisions[key] for key in sorted(self._decisions)),
            clusters=self._clusters,
            sets=self._sets,
            # A file without bindings does not say that the hub has none.
            bindings=tuple(sorted(self._bindings)) or None,
        )

    def _add_score(self, document: SnapshotDocument) -> None:
        score = self._decoded(document)
        name = score.metadata.name
        cluster = _namespace(score.metadata.namespace, document)
        # An API server refuses such values, but a file may have been edited.
        for part in (score.status.scores if score.status else None) or ():
            if not SCORE_MIN <= part.value <= SCORE_MAX:
                raise SnapshotError(
                    f"{document.place}: AddOnPlacementScore {cluster}/{name}: {part.name} is"
                    f" {part.value}; a score is -100 to 100"
                )
        if self._resources is not None and name not in self._resources:
            self._skipped += 1
            return
        scores = self._begin(name, (cluster,), document.place)
        scores[cluster] = self._interner.of(score.status)

    def _decoded(self, document: SnapshotDocument) -> AddOnPlacementScore:
        """The score; without items if its time cannot be read, which costs nothing but itself."""
        try:
            return msgspec.json.decode(document.text, type=AddOnPlacementScore)
        except msgspec.ValidationError as error:
            if "validUntil" not in str(error):
                return _read(document, AddOnPlacementScore)
            metadata = _read(document, BareScore).metadata
            if self._resources is None or metadata.name in self._resources:
                self._unreadable.append(
                    unreadable(metadata.name, metadata.namespace or "", problem_of(error))
                )
            return AddOnPlacementScore(metadata)

    def _add_part(self, document: SnapshotDocument) -> None:
        position = document.place
        part = file_format.read(document.text, place=position)
        if part.observed_at is not None:
            self._observed.append(part.observed_at)
        for name, table in part.tables(self._resources, place=position):
            # If a name was not requested, its table is only the number of its scores.
            if isinstance(table, int):
                self._skipped += table
            else:
                self._add_table(name, table, position)
        for score_name, by_cluster in part.raw_tables(self._resources, place=position):
            if score_name in self._raw_scores:
                _refuse_second(f"the table of raw scores {score_name}", position)
            self._raw_scores[score_name] = by_cluster
        self._failures_left_out += part.failures_left_out
        for name, failures in part.failures.items():
            if self._resources is None or name in self._resources:
                for cluster, failure in failures.items():
                    _put(self._failures, (name, cluster), failure.failure(), position)
        for entry in part.decisions:
            decision = decision_of(**msgspec.structs.asdict(entry))
            self._add_decision(decision, document)
        for name, facts in part.clusters.items():
            _put(self._clusters, name, file_format.cluster(name, facts), position)

    def _add_table(
        self, name: str, table: Mapping[str, file_format.ScoreEntry], place: str
    ) -> None:
        scores = self._begin(name, table, place)
        for cluster, entry in table.items():
            if entry.problem:
                self._unreadable.append(unreadable(name, cluster, entry.problem))
            scores[cluster] = entry.score(self._interner)

    def _begin(self, name: str, clusters: Iterable[str], place: str) -> dict[str, PublishedScore]:
        """The table of a name. Raises SnapshotError if one of these clusters is in it already."""
        scores = self._scores.setdefault(name, {})
        # A name is nearly always in one document, and then nothing has to be compared.
        if scores:
            for cluster in clusters:
                if cluster in scores:
                    _refuse_second(f"AddOnPlacementScore {cluster}/{name}", place)
        return scores

    def _add_decision(
        self, decision: objects.PlacementDecision, document: SnapshotDocument
    ) -> None:
        namespace = _namespace(decision.metadata.namespace, document)
        _put(self._decisions, (namespace, decision.metadata.name), decision, document.place)


def _is_deeper(data: Any, limit: int) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Whether objects and lists are nested in more than this many levels."""
    # Level by level and without recursion, because the depth itself is what is not known.
    level = [data]
    for _ in range(limit):
        below: list[Any] = []
        for container in level:
            values = container.values() if isinstance(container, dict) else container
            below += [value for value in values if isinstance(value, dict | list)]
        if not below:
            return False
        level = below
    return True


def _put(table: dict[K, V], key: K, value: V, place: str) -> None:
    if key in table:
        name = "/".join(key) if isinstance(key, tuple) else key
        _refuse_second(f"{type(value).__name__} {name}", place)
    table[key] = value


def _refuse_second(name: str, place: str) -> NoReturn:
    raise SnapshotError(f"{place}: {name} is there already; give one state of the hub at a time")


def _namespace(namespace: str | None, document: SnapshotDocument) -> str:
    if not namespace:
        raise SnapshotError(
            f"{document.place}: {_description(document)}: it needs metadata.namespace"
        )
    return namespace


def _read(document: SnapshotDocument, model: type[T]) -> T:
    try:
        return msgspec.json.decode(document.text, type=model)
    except msgspec.ValidationError as error:
        parts = (document.place, _description(document), problem_of(error))
        raise SnapshotError(": ".join(filter(None, parts))) from error


def _description(document: SnapshotDocument) -> str:
    """Kind, namespace and name, as far as the document has them."""
    data = document.plain()
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    if not isinstance(metadata, Mapping):
        return document.kind
    names = [str(metadata[key]) for key in ("namespace", "name") if metadata.get(key)]
    return " ".join(filter(None, (document.kind, "/".join(names))))
