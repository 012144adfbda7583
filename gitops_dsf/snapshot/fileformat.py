"""kind HubSnapshot: the file format of snapshots (docs/preview.md). A document holds any of the sections; a folder is their union."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.snapshot.errors import SnapshotError
from gitops_dsf.snapshot.hubobjects import Score, Timestamp
from gitops_dsf.snapshot.values import Decision, Facts, PublishedScore, Snapshot
from gitops_dsf.timestamp import timestamp

API_VERSION = "gitops-dsf.io/v1alpha1"
KIND = "HubSnapshot"

Name = Annotated[str, Meta(min_length=1)]


class ScoreEntry(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One AddOnPlacementScore: published values and, where known, raw ones, by dimension."""

    values: dict[str, Score]
    valid_until: Timestamp | None = None
    raw: dict[str, float] = {}


class DecisionEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One PlacementDecision."""

    namespace: Name
    name: Name
    placement: Name
    clusters: tuple[Name, ...]


class ClusterEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of a ManagedCluster; a section that is absent is not known, an empty one is known to be empty."""

    labels: dict[str, str] | None = None
    taints: list[dict[str, str]] | None = None
    claims: dict[str, str] | None = None
    allocatable: dict[str, str | int] | None = None
    capacity: dict[str, str | int] | None = None


class HubSnapshot(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One document."""

    api_version: str
    kind: str
    observed_at: Timestamp | None = None
    """When the newest object of this document was seen on the hub; RFC 3339."""
    scores: dict[Name, dict[Name, ScoreEntry]] = {}
    """AddOnPlacementScore name to cluster to content."""
    decisions: list[DecisionEntry] = []
    clusters: dict[Name, ClusterEntry] = {}
    metadata: dict[str, Any] = {}
    """`name` is the hub's, for people."""


def read(data: Mapping[str, Any], *, place: str) -> HubSnapshot:
    """One document. Raises SnapshotError."""
    if data.get("apiVersion") != API_VERSION:
        msg = f"{place}: HubSnapshot has apiVersion {data.get('apiVersion')!r}; this version reads {API_VERSION}"
        raise SnapshotError(msg)
    try:
        return msgspec.convert(data, HubSnapshot)
    except msgspec.ValidationError as error:
        detail = str(error).replace(" - at `$.", " at `")
        msg = f"{place}: HubSnapshot: {detail}"
        raise SnapshotError(msg) from error


def published(entry: ScoreEntry) -> PublishedScore:
    """The value of an entry."""
    return PublishedScore(values=entry.values, valid_until=entry.valid_until, raw=entry.raw)


def facts(name: str, entry: ClusterEntry) -> Facts:
    """What is known of a cluster, in the shape of a ManagedCluster."""
    metadata: dict[str, Any] = {"name": name}
    if entry.labels is not None:
        metadata["labels"] = entry.labels
    status: dict[str, Any] = {}
    if entry.claims is not None:
        status["clusterClaims"] = [{"name": key, "value": value} for key, value in sorted(entry.claims.items())]
    resources = {"allocatable": entry.allocatable, "capacity": entry.capacity}
    status |= {key: value for key, value in resources.items() if value is not None}
    spec = {} if entry.taints is None else {"taints": entry.taints}
    return {"metadata": metadata, "spec": spec, "status": status}


def files(snapshot: Snapshot, *, hub: str) -> dict[str, bytes]:
    """A snapshot as the files of a folder or branch: one per score name, one for decisions, one for clusters.

    The same snapshot gives the same bytes. JSON, because a pipeline reads tens of thousands of scores; one line per cluster or
    decision, so that two snapshots differ in the lines that changed. When it was seen stands in snapshot.json alone: what did not
    change between two snapshots has the same bytes in both.
    """
    found = {"snapshot.json": moment_file(hub=hub, observed_at=snapshot.observed_at)}
    for name, table in snapshot.scores.items():
        found[f"scores/{name}.json"] = scores_file(name, (score_row(each, table[each]) for each in sorted(table)), hub=hub)
    if snapshot.decisions:
        found["decisions.json"] = decisions_file(snapshot.decisions, hub=hub)
    if snapshot.clusters:
        found["clusters.json"] = clusters_file(snapshot.clusters, hub=hub)
    return dict(sorted(found.items()))


def moment_file(*, hub: str, observed_at: datetime | None) -> bytes:
    """When a snapshot was seen."""
    return _file(hub, "" if observed_at is None else f',\n"observedAt": {_json(timestamp(observed_at))}')


def score_row(cluster: str, found: PublishedScore) -> str:
    """One line of `scores_file`."""
    until = None if found.valid_until is None else found.valid_until.astimezone(UTC)
    entry = ScoreEntry(dict(sorted(found.values.items())), until, dict(sorted(found.raw.items())))
    return f"{_json(cluster)}: {_json(entry)}"


def scores_file(name: str, rows: Iterable[str], *, hub: str) -> bytes:
    """All clusters of one AddOnPlacementScore name; `rows` are in the order of the clusters."""
    return _file(hub, f',\n"scores": {{{_json(name)}: {{\n{_rows(rows)}\n}}}}')


def decisions_file(decisions: Iterable[Decision], *, hub: str) -> bytes:
    """PlacementDecisions in the given order."""
    entries = (DecisionEntry(item.namespace, item.name, item.placement, item.clusters) for item in decisions)
    return _file(hub, f',\n"decisions": [\n{_rows(_json(entry) for entry in entries)}\n]')


def clusters_file(clusters: Mapping[str, Facts], *, hub: str) -> bytes:
    """What is known of ManagedClusters."""
    rows = _rows(f"{_json(name)}: {_json(_cluster_entry(known))}" for name, known in sorted(clusters.items()))
    return _file(hub, f',\n"clusters": {{\n{rows}\n}}')


def _file(hub: str, section: str) -> bytes:
    fields = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": hub}}
    head = ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in fields.items())
    return f"{{{head}{section}}}\n".encode()


def _rows(rows: Iterable[str]) -> str:
    return ",\n".join(rows)


def _cluster_entry(known: Facts) -> ClusterEntry:
    metadata, spec, status = known.get("metadata") or {}, known.get("spec") or {}, known.get("status") or {}
    claims = status.get("clusterClaims")
    return ClusterEntry(
        labels=metadata.get("labels"),
        taints=spec.get("taints"),
        claims=None if claims is None else {item["name"]: item.get("value", "") for item in claims},
        allocatable=status.get("allocatable"),
        capacity=status.get("capacity"),
    )


def decision(entry: DecisionEntry) -> Decision:
    """The value of an entry."""
    return Decision(namespace=entry.namespace, name=entry.name, placement=entry.placement, clusters=entry.clusters)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
