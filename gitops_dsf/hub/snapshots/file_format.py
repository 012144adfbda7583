"""The file format of snapshots (docs/decisions/preview.md). A folder is the union of its documents.

Guaranteed: equal snapshots give equal bytes, with one line for each entry, so that git shows what
changed and stores little. Not guaranteed: that every failure is in the file, because their size has
a limit; the file says how many were left out.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.dimension import LABELS
from dsf_wire.scorename import sanitise
from gitops_dsf.hub import objects
from gitops_dsf.hub.metadata import Metadata, problem_of
from gitops_dsf.hub.raw_results import ByCluster, ClusterResults, RawResult
from gitops_dsf.hub.scores import (
    Interner,
    PublishedScore,
    ScoreFailure,
    Scores,
    failure_of,
    failures_in,
)
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError
from gitops_dsf.hub.times import Timestamp, in_utc, timestamp

API_VERSION = "gitops-dsf.io/v1alpha1"
KIND = "HubSnapshot"
MOMENT = "snapshot.json"
"""The file with the time of observation."""
RAW_FOLDER = "raw/"
"""The folder with a file of raw scores for each score name."""
FAILURES: Final = "failures.json"
"""The file that says why scorers give no scores. It is there only while some give none."""
MAX_FAILURE_BYTES: Final = 2 << 20
"""Upper limit for the entries of failures.

The branch is cloned by every pipeline. A failure without its message has about 100 bytes, so 20,000
fit in.
"""
MAX_MESSAGES: Final = 20
"""Clusters of one score and reason whose message is written. A central failure has one message."""

Name = Annotated[str, Meta(min_length=1)]
ItemValue = Annotated[int, Meta(ge=SCORE_MIN, le=SCORE_MAX)]
"""AddOnPlacementScore CRD: status.scores[].value."""
RoundedTime = Callable[[datetime | None], datetime | None]
"""Says which validUntil is written instead of the one of a score."""


class ScoreEntry(
    Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One AddOnPlacementScore: published values by dimension."""

    values: dict[str, ItemValue]
    valid_until: Timestamp | None = None
    problem: str = ""
    """The reason why the object could not be decoded; such an entry has no values."""

    def score(self, interner: Interner) -> PublishedScore:
        """The score, with parts shared by an Interner."""
        return interner.score(self.valid_until, tuple(self.values), tuple(self.values.values()))


class DecisionEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One PlacementDecision."""

    namespace: Name
    name: Name
    placement: Name
    clusters: tuple[Name, ...]


class ClusterEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The known facts of a ManagedCluster. An absent section is unknown; an empty one is known."""

    labels: dict[str, str] | None = None
    taints: tuple[objects.Taint, ...] | None = None
    claims: dict[str, str] | None = None
    allocatable: objects.Resources | None = None
    capacity: objects.Resources | None = None


class RawEntry(
    Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One raw score."""

    value: float
    up_to: float | None = None
    """The highest of several numbers of which `value` is the lowest; None if there is one."""
    labels: dict[str, str] = {}
    """Labels of the result that are not empty."""

    def result(self) -> RawResult:
        high = self.value if self.up_to is None else self.up_to
        labels = tuple([self.labels.get(label, "") for label in LABELS])
        return RawResult(labels=labels, low=self.value, high=high)


class RawTable(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The raw scores of one score name."""

    measured_at: Timestamp
    """The time when the oldest of them was measured."""
    clusters: dict[Name, tuple[RawEntry, ...]]


ScoreTable = dict[Name, ScoreEntry]
"""Scores of one name, by cluster."""


class FailureEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A reason why a scorer gives no score on a cluster."""

    reason: str
    message: str = ""
    """Empty also where many clusters have the reason."""
    since: Timestamp | None = None

    def failure(self) -> ScoreFailure:
        """The failure. Whoever may push the branch wrote the texts, so they are cleaned again."""
        return failure_of(reason=self.reason, message=self.message, since=self.since)


class HubSnapshot(
    Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """One document of the format."""

    api_version: str
    kind: str
    observed_at: Timestamp | None = None
    """The time when the newest object of this document was observed, in RFC 3339."""
    scores: dict[Name, msgspec.Raw] = {}
    """Tables by name of the AddOnPlacementScore, then by cluster.

    A table is decoded when its name is requested, because a fleet has hundreds of thousands of
    scores.
    """
    raw_scores: dict[Name, msgspec.Raw] = {}
    """Raw scores by score name, as agents export them. Decoded as tables of scores are."""
    failures: dict[Name, dict[Name, FailureEntry]] = {}
    """The reasons why there are no newer scores, by name of the AddOnPlacementScore, then by
    cluster.
    """
    failures_left_out: Annotated[int, Meta(ge=0)] = 0
    """Failures that had no room."""
    decisions: list[DecisionEntry] = []
    clusters: dict[Name, ClusterEntry] = {}
    metadata: dict[str, Any] = {}
    """`name` is the name of the hub, for people."""

    def tables(
        self, resources: frozenset[str] | None, *, place: str
    ) -> Iterator[tuple[str, Mapping[str, ScoreEntry] | int]]:
        """Scores by name, then by cluster; of names that are not requested only how many."""
        for name, raw in self.scores.items():
            try:
                if resources is None or name in resources:
                    yield name, _table(raw)
                else:
                    yield name, len(msgspec.json.decode(raw, type=dict[Name, msgspec.Raw]))
            except msgspec.ValidationError as error:
                # The path of the error is inside the table.
                problem = problem_of(error).replace(" at `", f" at `scores.{name}")
                raise SnapshotError(f"{place}: HubSnapshot: {problem}") from error

    def raw_tables(
        self, resources: frozenset[str] | None, *, place: str
    ) -> Iterator[tuple[str, ByCluster]]:
        """Raw scores by score name, then by cluster; only of requested AddOnPlacementScores.

        Raises SnapshotError.
        """
        for name, raw in self.raw_scores.items():
            if resources is None or sanitise(name) in resources:
                try:
                    yield name, _raw_scores(msgspec.json.decode(raw, type=RawTable))
                except (msgspec.ValidationError, ValueError) as error:
                    raise SnapshotError(
                        f"{place}: HubSnapshot: rawScores.{name}: {error}"
                    ) from error


class _VersionOnly(Struct, frozen=True, rename="camel"):
    api_version: Any = None


def read(text: bytes | msgspec.Raw, *, place: str) -> HubSnapshot:
    """Decodes one document. Raises SnapshotError."""
    try:
        document = msgspec.json.decode(text, type=HubSnapshot)
    except msgspec.ValidationError as error:
        # A document of another version may have other fields, so the version is the better message.
        _check_version(msgspec.json.decode(text, type=_VersionOnly).api_version, place)
        raise SnapshotError(f"{place}: HubSnapshot: {problem_of(error)}") from error
    _check_version(document.api_version, place)
    return document


def cluster(name: str, entry: ClusterEntry) -> objects.ManagedCluster:
    """The ManagedCluster, as far as an entry knows it."""
    claims = None
    if entry.claims is not None:
        in_order = sorted(entry.claims.items())
        claims = tuple(objects.ClusterClaim(key, value) for key, value in in_order)
    return objects.ManagedCluster(
        Metadata(name, labels=entry.labels),
        objects.ManagedClusterSpec(taints=entry.taints),
        objects.ManagedClusterStatus(
            cluster_claims=claims, allocatable=entry.allocatable, capacity=entry.capacity
        ),
    )


def files(
    snapshot: Snapshot, *, hub: str, rounded: RoundedTime = lambda until: until
) -> Iterator[tuple[str, bytes]]:
    """A snapshot as files: one or two per score name, and one for each of the other sections."""
    moment = ""
    if snapshot.observed_at is not None:
        moment = f',\n"observedAt": {_json(timestamp(snapshot.observed_at))}'
    yield MOMENT, _file(hub, moment)
    for name, scores in snapshot.scores.items():
        table = _lines(_score_line(key, scores[key], rounded) for key in sorted(scores))
        yield f"scores/{name}.json", _file(hub, f',\n"scores": {{{_json(name)}: {{\n{table}\n}}}}')
    for name, by_cluster in sorted(snapshot.raw_scores.items()):
        if by_cluster:
            content = f"{_json(name)}: {_raw_table(by_cluster)}"
            yield f"{RAW_FOLDER}{sanitise(name)}.json", _file(hub, f',\n"rawScores": {{{content}}}')
    failures = _failures_section(snapshot.scores)
    if failures:
        yield FAILURES, _file(hub, failures)
    if snapshot.decisions:
        decisions = _lines(_json(_decision_entry(page)) for page in snapshot.decisions)
        yield "decisions.json", _file(hub, f',\n"decisions": [\n{decisions}\n]')
    if snapshot.clusters:
        lines: list[str] = []
        for name in sorted(snapshot.clusters):
            lines.append(_cluster_line(name, snapshot.clusters[name]))
        clusters = _lines(lines)
        yield "clusters.json", _file(hub, f',\n"clusters": {{\n{clusters}\n}}')


def _table(raw: msgspec.Raw) -> Mapping[str, ScoreEntry]:
    """Decodes a table at once, and its entries one by one if a validUntil is not a valid time."""
    try:
        return msgspec.json.decode(raw, type=ScoreTable)
    except msgspec.ValidationError as error:
        if "validUntil" not in str(error):
            raise
    entries = msgspec.json.decode(raw, type=dict[Name, msgspec.Raw])
    return {name: _entry(entry) for name, entry in entries.items()}


def _entry(raw: msgspec.Raw) -> ScoreEntry:
    try:
        return msgspec.json.decode(raw, type=ScoreEntry)
    except msgspec.ValidationError as error:
        if "validUntil" not in str(error):
            raise
        # A time that cannot be read costs this score alone, and not the whole table.
        return ScoreEntry({}, problem=problem_of(error))


def _check_version(version: object, place: str) -> None:
    if version != API_VERSION:
        raise SnapshotError(
            f"{place}: HubSnapshot has apiVersion {version!r}; this version reads {API_VERSION}"
        )


def _raw_scores(table: RawTable) -> ByCluster:
    """Raises ValueError for what no agent exports."""
    measured = table.measured_at.timestamp()
    by_cluster: dict[str, ClusterResults] = {}
    for cluster_name, entries in table.clusters.items():
        for entry in entries:
            unknown = sorted(entry.labels.keys() - set(LABELS))
            if unknown:
                raise ValueError(f"{cluster_name}: results have no label {', '.join(unknown)}")
            if entry.up_to is not None and entry.up_to < entry.value:
                raise ValueError(f"{cluster_name}: upTo is less than value")
        results = tuple([entry.result() for entry in entries])
        by_cluster[cluster_name] = ClusterResults(results=results, measured=measured)
    return by_cluster


def _raw_table(by_cluster: ByCluster) -> str:
    """A table with one line for each cluster."""
    oldest = min(results.measured for results in by_cluster.values())
    lines: list[str] = []
    for name in sorted(by_cluster):
        entries = list(map(_raw_entry, by_cluster[name].results))
        lines.append(f"{_json(name)}: {_json(entries)}")
    # Rounded down: the scores are at least as old as the file says.
    measured = timestamp(datetime.fromtimestamp(math.floor(oldest), UTC))
    return f'{{\n"measuredAt": {_json(measured)},\n"clusters": {{\n{_lines(lines)}\n}}}}'


def _raw_entry(result: RawResult) -> RawEntry:
    labels = {label: value for label, value in zip(LABELS, result.labels, strict=True) if value}
    up_to = None if result.high == result.low else result.high
    return RawEntry(value=result.low, up_to=up_to, labels=labels)


def _score_line(cluster_name: str, score: PublishedScore, rounded: RoundedTime) -> str:
    until = rounded(score.valid_until)
    # Sorted: agents write their items in order, other add-ons in any.
    values = dict(sorted(score.items()))
    entry = ScoreEntry(values, None if until is None else in_utc(until))
    return f"{_json(cluster_name)}: {_json(entry)}"


def _failures_section(scores: Scores) -> str:
    """The failures of all scores with one line for each cluster; empty if there are none."""
    by_name: dict[str, dict[str, ScoreFailure]] = {}
    for name, by_cluster in scores.items():
        failures = failures_in(by_cluster)
        if failures:
            by_name[name] = failures
    tables: dict[str, str] = {}
    room = MAX_FAILURE_BYTES
    left_out = 0
    # One scorer that fails on a whole fleet must not push out those that fail on a few clusters.
    for name in sorted(by_name, key=lambda name: (len(by_name[name]), name)):
        lines: list[str] = []
        for line in _failure_lines(by_name[name]):
            room -= len(line.encode())
            # The rest is counted and not encoded: where everything fails, a large fleet has a
            # million failures, and encoding them takes seconds of an event loop.
            if room < 0:
                break
            lines.append(line)
        left_out += len(by_name[name]) - len(lines)
        if lines:
            tables[name] = f"{_json(name)}: {{\n{_lines(lines)}\n}}"
    if not tables:
        return ""
    rest = f',\n"failuresLeftOut": {left_out}' if left_out else ""
    return f',\n"failures": {{\n{_lines(tables[name] for name in sorted(tables))}\n}}{rest}'


def _failure_lines(failures: Mapping[str, ScoreFailure]) -> Iterator[str]:
    messages = Counter[str]()
    for cluster_name in sorted(failures):
        failure = failures[cluster_name]
        messages[failure.reason] += 1
        entry = FailureEntry(
            reason=failure.reason,
            message=failure.message if messages[failure.reason] <= MAX_MESSAGES else "",
            since=None if failure.since is None else in_utc(failure.since),
        )
        yield f"{_json(cluster_name)}: {_json(entry)}"


def _decision_entry(page: objects.PlacementDecision) -> DecisionEntry:
    metadata = page.metadata
    return DecisionEntry(
        metadata.namespace or "", metadata.name, page.placement, page.cluster_names
    )


def _cluster_line(name: str, cluster: objects.ManagedCluster) -> str:
    return f"{_json(name)}: {_json(_cluster_entry(cluster))}"


def _cluster_entry(cluster: objects.ManagedCluster) -> dict[str, Any]:
    """The sections that are known."""
    spec = cluster.spec or objects.ManagedClusterSpec()
    status = cluster.status or objects.ManagedClusterStatus()
    # An absent section is not known. Taints are sorted: only their set has a meaning.
    sections = {
        "labels": cluster.metadata.labels,
        "taints": msgspec.to_builtins(spec.taints, order="sorted"),
        "claims": None if status.cluster_claims is None else cluster.claims,
        "allocatable": status.allocatable,
        "capacity": status.capacity,
    }
    known: dict[str, Any] = {}
    for key, section in sections.items():
        if section is not None:
            known[key] = section
    return known


def _file(hub: str, section: str) -> bytes:
    # Put together by hand: an encoder writes everything on one line, or every value on its own.
    fields = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": hub}}
    head = ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in fields.items())
    return f"{{{head}{section}}}\n".encode()


def _lines(entries: Iterable[str]) -> str:
    return ",\n".join(entries)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
