"""A record of the journal: one change of a decision, and why OCM decided so. Records are JSON
lines: one line for each record, one file for each month of the records' times.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal

import msgspec
from msgspec import Struct

from dsf_wire.jsontext import without_mark
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.times import Timestamp
from gitops_dsf.simulator.explain import Explanation

ChangeKind = Literal["Change", "Later", "Start"]
"""Change: seen when it happened. Later: it happened while no reconciler looked, so the time is when
it was found. Start: the first record of a Placement; the decision before it is not known.
"""
MAX_NAMED: Final = 100
"""Clusters that a record names in each list. A larger decision is recorded by what left and
joined.
"""
MAX_EXPLAINED: Final = 20
"""Clusters that a record explains."""
MAX_SCORES: Final = 200
"""Scores that a record holds."""


class RecordedTerm(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What one prioritizer adds to the sum of a cluster."""

    name: str
    weight: int
    score: int | None = None
    note: str = ""

    @property
    def points(self) -> int:
        return self.weight * (self.score or 0)


class ClusterReason(
    Struct,
    frozen=True,
    gc=False,
    rename={"contributions": "terms", "rival_points": "rivalPoints"},
    omit_defaults=True,
):
    """Why a cluster is in the new decision or not, as the simulator explains it."""

    cluster: str
    selected: bool
    reason: str
    filter: str | None = None
    rank: int | None = None
    total: int | None = None
    points: int | None = None
    contributions: tuple[RecordedTerm, ...] = ()
    rival: str | None = None
    rival_points: int | None = None
    margin: int | None = None


class ScoreChange(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A score that is another one than at the record before."""

    name: str
    """As a prioritizer names it: `AddOn/resource/item`."""
    cluster: str
    before: int | None = None
    """None: there was none that counted, or it is not known."""
    after: int | None = None
    """None: there is none that counts."""


class Record(
    Struct,
    frozen=True,
    gc=False,
    kw_only=True,
    rename={"from_": "from", "more_scores": "moreScores"},
    omit_defaults=True,
):
    """One change of the decision of one Placement. Clusters are in order of name.

    A record that was written is never changed: its id stays, so it can be told from others wherever
    it is.
    """

    id: str
    number: int
    """Counts the records of a Placement from 1. It orders them when clocks do not."""
    time: Timestamp
    kind: ChangeKind = "Change"
    placement: str
    """namespace/name."""
    uid: str = ""
    applications: tuple[str, ...] = ()
    """The ApplicationSets that follow the Placement."""
    from_: tuple[str, ...] | None = None
    """The decision before; None if it is not known, or has more clusters than a record names."""
    left: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    to: tuple[str, ...] | None = None
    """The new decision; None if it has more clusters than a record names."""
    count: int = 0
    """Clusters of the new decision."""
    before: int = 0
    """Clusters of the decision before."""
    more: int = 0
    """Clusters that left or joined and are not named, because there are too many."""
    clusters: tuple[ClusterReason, ...] = ()
    """Clusters that left or joined."""
    doubt: str = ""
    """Why the explanations may not be OCM's reasons; empty if the simulator came to the same
    decision.
    """
    scores: tuple[ScoreChange, ...] = ()
    more_scores: int = 0
    """Changed scores that are left out, because there are too many."""
    commit: str = ""
    """The commit of the fleet repository that Argo CD had applied; empty if that is not known."""
    digest: str = ""
    """Tells the new decision from others when `to` does not name it."""
    admitted: Timestamp | None = None
    """When the reconciler admitted the move, where moves are paced; None if OCM moved it itself."""
    gain: float | None = None
    """Points of the weighted mean of the scores that an admitted move was to gain."""
    cause: MoveCause | None = None
    """Why it moved; None in the first record of a Placement, and in records of versions without
    it.
    """

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name of the Placement."""
        namespace, _, name = self.placement.partition("/")
        return namespace, name

    def is_about(self, name: str) -> bool:
        """Whether that is an ApplicationSet, or the Placement with or without its namespace."""
        return name in {self.placement, self.key[1], *self.applications}


def new_record(
    *,
    placement: str,
    number: int,
    time: datetime,
    kind: ChangeKind,
    before: Collection[str] | None,
    after: Collection[str],
    uid: str = "",
    applications: Sequence[str] = (),
) -> Record:
    """A record without explanations and scores. `before` is None if that decision is not known."""
    old = set() if before is None else set(before)
    left, joined = ((), ()) if before is None else (sorted(old - {*after}), sorted({*after} - old))
    named = (tuple(left[:MAX_NAMED]), tuple(joined[:MAX_NAMED]))
    to = tuple(sorted(after))
    # Milliseconds tell quick changes apart, and people can still read them.
    time = time.replace(microsecond=time.microsecond // 1000 * 1000)
    content = msgspec.json.encode((placement, uid, number, time, kind, left, joined, to))
    return Record(
        id=hashlib.sha256(content).hexdigest()[:16],
        number=number,
        time=time,
        kind=kind,
        placement=placement,
        uid=uid,
        applications=tuple(applications),
        from_=None if before is None or len(old) > MAX_NAMED else tuple(sorted(old)),
        left=named[0],
        joined=named[1],
        to=to if len(to) <= MAX_NAMED else None,
        count=len(to),
        before=len(old),
        more=len(left) + len(joined) - len(named[0]) - len(named[1]),
        digest=digest(frozenset(to)) if len(to) > MAX_NAMED else "",
    )


@lru_cache(maxsize=4096)
def digest(clusters: frozenset[str]) -> str:
    """A short name of a decision. It is asked for every Placement whenever a decision changes."""
    return hashlib.sha256("\n".join(sorted(clusters)).encode()).hexdigest()[:12]


def reason_of(explanation: Explanation) -> ClusterReason:
    """The kept part of an explanation."""
    return msgspec.convert(explanation, ClusterReason, from_attributes=True)


FILE: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])\.jsonl")
"""The name of a month's file."""
LINE_BYTES: Final = 256 << 10
"""A longer line is no record. The largest one that the reconciler writes has about 64 KiB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalRead:
    """What the files of a journal hold, in the order of files and lines."""

    records: tuple[Record, ...]
    bad: tuple[str, ...]
    """Lines that are not records, with file, number and what is wrong. Readers skip them."""


def file_of(record: Record) -> str:
    return f"{record.time.astimezone(UTC):%Y-%m}.jsonl"


def encode(record: Record) -> bytes:
    """One line, with its line break."""
    return msgspec.json.encode(record) + b"\n"


def read(
    files: Mapping[str, bytes], *, about: str | None = None, explained: bool = True
) -> JournalRead:
    """A record that appears twice is read once, and unknown keys are ignored. `about` limits the
    records to those of one application; without `explained` they lack their explanations, which are
    most of a journal.
    """
    found: dict[str, Record] = {}
    bad: list[str] = []
    needle = (about or "").encode()
    for name in sorted(files):
        for number, line in enumerate(without_mark(files[name]).split(b"\n"), 1):
            if needle not in line or not line.strip():
                continue
            record = _decoded(line)
            if isinstance(record, Record):
                if about is None or record.is_about(about):
                    found.setdefault(
                        record.id,
                        record if explained else msgspec.structs.replace(record, clusters=()),
                    )
            else:
                bad.append(f"{name}:{number}: {record}")
    return JournalRead(records=tuple(found.values()), bad=tuple(bad))


def _decoded(line: bytes) -> Record | str:
    """The record, or what is wrong with the line."""
    if len(line) > LINE_BYTES:
        return f"this line has {len(line)} bytes, and a record has at most {LINE_BYTES}"
    try:
        record = msgspec.json.decode(line, type=Record)
        # A time near the year 1 or 9999 with an offset may have no equivalent in UTC.
        record.time.astimezone(UTC)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        return f"this line is not a record: {error}"
    return record


def appended(files: Mapping[str, bytes], records: Iterable[Record]) -> dict[str, bytes]:
    """The files that change when these records are added."""
    added: dict[str, list[bytes]] = {}
    for record in records:
        added.setdefault(file_of(record), []).append(encode(record))
    changed = {}
    for name, lines in added.items():
        content = files.get(name, b"")
        # A last line without its line break was cut off, or edited by hand. It must not swallow a
        # record.
        separator = b"" if not content or content.endswith(b"\n") else b"\n"
        changed[name] = b"".join((content, separator, *lines))
    return changed
