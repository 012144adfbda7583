"""The file format of snapshots (docs/decisions/preview.md).

A folder is the union of its documents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub import objects
from gitops_dsf.hub.metadata import Metadata, problem_of
from gitops_dsf.hub.scores import Interner, PublishedScore
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError
from gitops_dsf.hub.times import Timestamp, in_utc, timestamp

API_VERSION = "gitops-dsf.io/v1alpha1"
KIND = "HubSnapshot"
MOMENT = "snapshot.json"
"""The file with the time of observation."""

Name = Annotated[str, Meta(min_length=1)]
Value = Annotated[int, Meta(ge=SCORE_MIN, le=SCORE_MAX)]
"""AddOnPlacementScore CRD: status.scores[].value."""


class ScoreEntry(
    Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One AddOnPlacementScore: published values by dimension."""

    values: dict[str, Value]
    valid_until: Timestamp | None = None
    problem: str = ""
    """Why the object could not be decoded; such an entry has no values."""

    def score(self, interner: Interner) -> PublishedScore:
        """Returns the score, with parts shared by an Interner."""
        return interner.score(self.valid_until, tuple(self.values), tuple(self.values.values()))


class DecisionEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One PlacementDecision."""

    namespace: Name
    name: Name
    placement: Name
    clusters: tuple[Name, ...]


class ClusterEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of a ManagedCluster. An absent section is not known; an empty one is known."""

    labels: dict[str, str] | None = None
    taints: tuple[objects.Taint, ...] | None = None
    claims: dict[str, str] | None = None
    allocatable: objects.Resources | None = None
    capacity: objects.Resources | None = None


Table = dict[Name, ScoreEntry]


class HubSnapshot(
    Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """One document of the format."""

    api_version: str
    kind: str
    observed_at: Timestamp | None = None
    """When the newest object of this document was observed, in RFC 3339."""
    scores: dict[Name, msgspec.Raw] = {}
    """Tables by name of the AddOnPlacementScore, then by cluster, decoded when the name is
    requested.
    """
    decisions: list[DecisionEntry] = []
    clusters: dict[Name, ClusterEntry] = {}
    metadata: dict[str, Any] = {}
    """`name` is the name of the hub, for people."""

    def tables(
        self, resources: frozenset[str] | None, *, place: str
    ) -> Iterator[tuple[str, Mapping[str, ScoreEntry] | int]]:
        """Scores by name, then by cluster; of other names only how many, because a fleet has many."""
        for name, raw in self.scores.items():
            try:
                if resources is None or name in resources:
                    yield name, _table(raw)
                else:
                    yield name, len(msgspec.json.decode(raw, type=dict[Name, msgspec.Raw]))
            except msgspec.ValidationError as error:
                msg = f"{place}: HubSnapshot: {problem_of(error).replace(' at `', f' at `scores.{name}')}"
                raise SnapshotError(msg) from error


def _table(raw: msgspec.Raw) -> Mapping[str, ScoreEntry]:
    """Decodes a table at once, and its entries one by one if a validUntil is no time."""
    try:
        return msgspec.json.decode(raw, type=Table)
    except msgspec.ValidationError as error:
        if "validUntil" not in str(error):
            raise
    entries = msgspec.json.decode(raw, type=dict[Name, msgspec.Raw])
    return {cluster: _entry(entry) for cluster, entry in entries.items()}


def _entry(raw: msgspec.Raw) -> ScoreEntry:
    try:
        return msgspec.json.decode(raw, type=ScoreEntry)
    except msgspec.ValidationError as error:
        if "validUntil" not in str(error):
            raise
        return ScoreEntry({}, problem=problem_of(error))


def read(text: bytes | msgspec.Raw, *, place: str) -> HubSnapshot:
    """Decodes one document. Raises SnapshotError."""
    try:
        document = msgspec.json.decode(text, type=HubSnapshot)
    except msgspec.ValidationError as error:
        _check_version(msgspec.json.decode(text, type=_Head).api_version, place)
        raise SnapshotError(f"{place}: HubSnapshot: {problem_of(error)}") from error
    _check_version(document.api_version, place)
    return document


def _check_version(found: object, place: str) -> None:
    if found != API_VERSION:
        msg = f"{place}: HubSnapshot has apiVersion {found!r}; this version reads {API_VERSION}"
        raise SnapshotError(msg)


class _Head(Struct, frozen=True, rename="camel"):
    api_version: Any = None


def cluster(name: str, entry: ClusterEntry) -> objects.ManagedCluster:
    claims = None
    if entry.claims is not None:
        claims = tuple(
            objects.ClusterClaim(key, value) for key, value in sorted(entry.claims.items())
        )
    return objects.ManagedCluster(
        Metadata(name, labels=entry.labels),
        objects.ManagedClusterSpec(taints=entry.taints),
        objects.ManagedClusterStatus(
            cluster_claims=claims, allocatable=entry.allocatable, capacity=entry.capacity
        ),
    )


def files(
    snapshot: Snapshot,
    *,
    hub: str,
    rounded: Callable[[datetime | None], datetime | None] = lambda until: until,
) -> Iterator[tuple[str, bytes]]:
    """A snapshot as files: one per score name, one each for the time, decisions and clusters.

    Equal snapshots give equal bytes, and each entry has its own line. `rounded` says which
    validUntil is written.
    """
    at = snapshot.observed_at
    yield MOMENT, _file(hub, "" if at is None else f',\n"observedAt": {_json(timestamp(at))}')
    for name, table in snapshot.scores.items():
        rows = (
            f"{_json(each)}: {_json(_score_entry(table[each], rounded))}" for each in sorted(table)
        )
        yield (
            f"scores/{name}.json",
            _file(hub, f',\n"scores": {{{_json(name)}: {{\n{_rows(rows)}\n}}}}'),
        )
    if snapshot.decisions:
        entries = (
            DecisionEntry(
                item.metadata.namespace or "",
                item.metadata.name,
                item.placement,
                item.cluster_names,
            )
            for item in snapshot.decisions
        )
        yield "decisions.json", _file(hub, f',\n"decisions": [\n{_rows(map(_json, entries))}\n]')
    if snapshot.clusters:
        known = sorted(snapshot.clusters.items())
        rows = (f"{_json(name)}: {_json(_cluster_entry(cluster))}" for name, cluster in known)
        yield "clusters.json", _file(hub, f',\n"clusters": {{\n{_rows(rows)}\n}}')


def _score_entry(
    found: PublishedScore, rounded: Callable[[datetime | None], datetime | None]
) -> ScoreEntry:
    until = rounded(found.valid_until)
    return ScoreEntry(dict(sorted(found.items())), None if until is None else in_utc(until))


def _file(hub: str, section: str) -> bytes:
    fields = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": hub}}
    head = ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in fields.items())
    return f"{{{head}{section}}}\n".encode()


def _rows(rows: Iterable[str]) -> str:
    return ",\n".join(rows)


def _cluster_entry(known: objects.ManagedCluster) -> dict[str, Any]:
    spec, status = (
        known.spec or objects.ManagedClusterSpec(),
        known.status or objects.ManagedClusterStatus(),
    )
    entry = {
        "labels": known.metadata.labels,
        "taints": msgspec.to_builtins(spec.taints, order="sorted"),
        "claims": None if status.cluster_claims is None else known.claims,
        "allocatable": status.allocatable,
        "capacity": status.capacity,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
