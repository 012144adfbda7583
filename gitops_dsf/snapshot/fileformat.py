"""kind HubSnapshot: the file format of snapshots (docs/preview.md). A document holds any of the sections; a folder is their union."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.snapshot.errors import SnapshotError
from gitops_dsf.snapshot.hubobjects import Score, Timestamp
from gitops_dsf.snapshot.values import Decision, Facts, PublishedScore, Snapshot

API_VERSION = "gitops-dsf.io/v1alpha1"
KIND = "HubSnapshot"
HEADER = "# Written by gitops-dsf: what the hub was seen to hold. Do not edit.\n"

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
        detail = str(error).replace(" - at `$.", " - at `")
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

    The same snapshot gives the same bytes; one line per cluster, so that two snapshots differ in the lines that changed.
    """
    result = {"snapshot.yaml": _document(hub, snapshot.observed_at, ())}
    for name, table in sorted(snapshot.scores.items()):
        lines = [f"    {_json(cluster)}: {_json(_score_entry(found))}\n" for cluster, found in sorted(table.items())]
        result[f"scores/{name}.yaml"] = _document(hub, snapshot.observed_at, ["scores:\n", f"  {_json(name)}:\n", *lines])
    if snapshot.decisions:
        entries = [DecisionEntry(item.namespace, item.name, item.placement, item.clusters) for item in snapshot.decisions]
        rows = [f"  - {_json(entry)}\n" for entry in entries]
        result["decisions.yaml"] = _document(hub, snapshot.observed_at, ["decisions:\n", *rows])
    if snapshot.clusters:
        rows = [f"  {_json(name)}: {_json(_cluster_entry(known))}\n" for name, known in sorted(snapshot.clusters.items())]
        result["clusters.yaml"] = _document(hub, snapshot.observed_at, ["clusters:\n", *rows])
    return dict(sorted(result.items()))


def _document(hub: str, observed_at: datetime | None, sections: Iterator[str] | list[str] | tuple[()]) -> bytes:
    head = [HEADER, f"apiVersion: {API_VERSION}\n", f"kind: {KIND}\n", f"metadata: {{name: {_json(hub)}}}\n"]
    if observed_at is not None:
        head.append(f'observedAt: "{_timestamp(observed_at)}"\n')
    return "".join([*head, *sections]).encode()


def _score_entry(found: PublishedScore) -> ScoreEntry:
    until = None if found.valid_until is None else found.valid_until.astimezone(UTC)
    return ScoreEntry(dict(sorted(found.values.items())), until, dict(sorted(found.raw.items())))


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


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(value: object) -> str:
    """A JSON value is a YAML flow value, and the only writing that no YAML reader takes for something else."""
    return msgspec.json.encode(value).decode()
