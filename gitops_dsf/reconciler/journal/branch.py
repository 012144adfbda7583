"""The branch of the journal. Records are appended by commits on top of it, and never with force.

The server takes a push only on top of what was read, and a record is pushed only if it continues
the last one of its Placement there. So of several replicas that saw the same move one writes it.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.lines import FILE, JournalRead, appended, file_of, read
from gitops_dsf.journal.record import Record, RecordKind, digest, new_record
from gitops_dsf.reconciler.git.clone import Clone
from gitops_dsf.reconciler.hub.decisions import DecisionSets
from gitops_dsf.wording import plural

README: Final = "README.md"
MONTHS: Final = 2
"""Months whose records are read. Of older ones only the last record of a Placement counts."""
_README: Final = b"""Written by `gitops-dsf reconcile`: each change of a decision of OCM, one JSON object a line, one file a month.
`gitops-dsf log` reads it. Records are only appended. Old months may be removed by a commit.
"""  # noqa: E501
UNCHANGED_SECONDS: Final = 1.0
"""A decision is recorded when it has not changed for this long.

OCM writes its pages one after another.
"""


class ChangedDecision(NamedTuple):
    """A decision that needs a record."""

    record: Record
    """The record, without explanations and scores."""
    before: frozenset[str] | None
    """None if it is not known."""
    after: frozenset[str]


class ObservedDecisions(NamedTuple):
    """The decisions that differ from the last records."""

    changed: list[ChangedDecision]
    """The changes that need a record now."""
    wait: float | None
    """The seconds until another one has not changed for long enough; None if there is none."""


def continues(record: Record, last: Record) -> bool:
    """Whether a record continues the last one of its Placement."""
    if record.uid != last.uid:
        return record.kind in {"Start", "Ordered"} and record.number == 1
    return record.number == last.number + 1 and (
        record.from_ is None or digest(frozenset(record.from_)) == digest_of(last)
    )


def digest_of(record: Record) -> str:
    """The digest of the clusters of the new decision, whether the record names them or not."""
    return record.digest if record.to is None else digest(frozenset(record.to))


def observe(
    placements: Mapping[str, PlacementSummary],
    *,
    namespace: str,
    decisions: DecisionSets,
    last: Mapping[str, Record],
    unnamed: Mapping[str, frozenset[str]],
    started: float,
    now: float,
    hub_time: float,
) -> ObservedDecisions:
    """Compares decisions with the last records.

    `last` are the last records by namespace/name, and `unnamed` decisions by the id of a record
    that does not name them. Decisions that have not changed since `started` were made before this
    replica looked.
    """
    changed: list[ChangedDecision] = []
    wait: float | None = None
    for name, placement in placements.items():
        decision = decisions.get(name)
        key = f"{namespace}/{name}"
        if decision is None:
            continue
        last_record = last.get(key)
        if last_record is not None and last_record.uid != placement.uid:
            last_record = None  # of a Placement of this name that was deleted
        # Digests are compared, because a record of more than 100 clusters does not name them.
        if last_record is not None and digest_of(last_record) == digest(decision.clusters):
            continue
        age = now - decision.since
        if age < UNCHANGED_SECONDS:
            wait = min(wait or UNCHANGED_SECONDS, UNCHANGED_SECONDS - age)
            continue
        before = None
        if last_record is not None and last_record.to is not None:
            before = frozenset(last_record.to)
        elif last_record is not None:
            before = unnamed.get(last_record.id)
        kind: RecordKind
        if before is None:
            kind = "Start"
        else:
            # A change that this replica did not see happen gets the time at which it was found.
            kind = "Later" if decision.since <= started else "Change"
        record = new_record(
            placement=key,
            number=1 if last_record is None else last_record.number + 1,
            time=datetime.fromtimestamp(hub_time - (0.0 if kind == "Later" else age), tz=UTC),
            kind=kind,
            before=before,
            after=decision.clusters,
            uid=placement.uid,
        )
        changed.append(ChangedDecision(record, before, decision.clusters))
    return ObservedDecisions(changed, wait)


class JournalClone:
    """Every method raises GitError, and RepositoryError when the branch holds something else."""

    def __init__(self, *, clone: Clone, name: str) -> None:
        self._clone = clone
        self._name = name
        self._tip: str | None = None
        self._listed: tuple[str, set[str]] = ("", set())
        """The commit whose months were listed last, and these."""
        self.last: Mapping[str, Record] = {}
        """The last record of each Placement (namespace/name) that the branch had at the last look
        or push.
        """

    async def read_newest(self, placements: Collection[str]) -> JournalRead:
        """Reads the newest months, and older ones until each Placement has its last record.

        The Placements are written as namespace/name.
        """
        return await self._read(await self._fetch(), placements)

    async def append(self, records: Sequence[Record], *, at: datetime) -> Sequence[Record]:
        """Adds records. Returns those in whose place the branch has another record."""
        tip = await self._fetch()
        # Another replica has pushed meanwhile, or people have removed old months.
        if tip != self._tip:
            await self._read(tip, {record.placement for record in records})
        new = list[Record]()
        last = dict(self.last)
        for record in records:
            before = last.get(record.placement)
            if before is None or continues(record, before):
                new.append(record)
                last[record.placement] = _bare(record)
        if new:
            months = await self._months(tip)
            touched = {file_of(record) for record in new} & months
            files = appended(await self._files(tip, touched), new)
            if tip is None:
                files[README] = _README
            message = f"Record {plural(len(new), 'change')} of decisions"
            commit = await self._clone.commit_files(files, parent=tip, message=message, at=at)
            # On top of what the branch holds, so the lease overwrites nothing.
            await self._clone.push(commit, branch=self._name, expected=tip)
            self._tip = commit
            self._listed = commit, months | {file_of(record) for record in new}
            self.last = last
        # Another replica has recorded these moves already.
        return [record for record in records if record not in new]

    async def _read(self, tip: str | None, placements: Collection[str]) -> JournalRead:
        missing = set(placements)
        last = dict[str, Record]()
        recent: list[JournalRead] = []
        for number, name in enumerate(sorted(await self._months(tip), reverse=True)):
            if number >= MONTHS and not missing:
                break
            # In a thread, because a month may have many records, and leadership must be renewed.
            month = await asyncio.to_thread(read, await self._files(tip, {name}))
            if number < MONTHS:
                recent.insert(0, month)
            last = {**last_of(month.records), **last}
            missing -= last.keys()
        self._tip = tip
        self.last = {**self.last, **last}
        return JournalRead(
            records=tuple(chain.from_iterable(month.records for month in recent)),
            bad=tuple(chain.from_iterable(month.bad for month in recent)),
        )

    async def _fetch(self) -> str | None:
        """The newest commit of the branch; None if there is no such branch."""
        exists = self._name in await self._clone.heads(self._name)
        return await self._clone.fetch(self._name) if exists else None

    async def _months(self, commit: str | None) -> set[str]:
        """The names of the months that a commit holds."""
        if commit is None:
            return set()
        if commit == self._listed[0]:
            return self._listed[1]
        paths = await self._clone.files(commit)
        months = {path for path in paths if FILE.fullmatch(path)}
        if README not in paths and not months:
            msg = (
                f"branch {self._name} holds {', '.join(sorted(paths)[:3]) or 'nothing'}"
                " and no file of a journal, so it is not changed; name another branch as"
                " reconciler.journal.branch"
            )
            raise RepositoryError(msg)
        self._listed = commit, months
        return months

    async def _files(self, commit: str | None, names: Collection[str]) -> dict[str, bytes]:
        return {name: await self._clone.read(commit or "", name) for name in sorted(names)}


def last_of(records: Iterable[Record]) -> dict[str, Record]:
    """The last record of each Placement, of records in their order on the branch."""
    newest: dict[str, Record] = {}
    for record in records:
        earlier = newest.get(record.placement)
        if earlier is None or earlier.uid != record.uid or earlier.number <= record.number:
            newest[record.placement] = _bare(record)
    return newest


def _bare(record: Record) -> Record:
    """The record without explanations and scores, which are most of its size."""
    return msgspec.structs.replace(record, clusters=(), scores=())
