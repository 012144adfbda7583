"""The branch of the journal. Records are appended by commits on top of it, and never with force.

The server takes a push only on top of what was read, and a record is pushed only if it continues the last one
of its Placement there. So of several replicas that saw the same move one writes it.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from gitops_dsf.errors import RepositoryError
from gitops_dsf.journal.lines import FILE, Read, appended, file_of, read
from gitops_dsf.journal.record import Record
from gitops_dsf.reconciler.git import Clone
from gitops_dsf.reconciler.journal.observing import Head, head_of
from gitops_dsf.wording import plural

README: Final = "README.md"
MONTHS: Final = 2
"""Months whose records are read. Of older ones only the last record of a Placement counts."""
_README: Final = b"""Written by `gitops-dsf reconcile`: each change of a decision of OCM, one JSON object a line, one file a month.
`gitops-dsf log` reads it. Records are only appended. Old months may be removed by a commit.
"""  # noqa: E501


class JournalBranch:
    """Appends to a branch of the server. Every method raises GitError, and RepositoryError when the branch
    holds something else.
    """

    def __init__(self, *, clone: Clone, name: str) -> None:
        self._clone, self._name = clone, name
        self._tip: str | None = None
        self.heads: Mapping[str, Head] = {}
        """The last record of each Placement (namespace/name), as the branch had it at the last look or push.
        """

    async def look(self, placements: Collection[str]) -> Read:
        """Reads the newest months, and older ones until each of these Placements has its last record."""
        return await self._look(await self._fetch(), placements)

    async def append(self, records: Sequence[tuple[Record, Head]], *, at: datetime) -> Sequence[Record]:
        """Adds records, each with the head that it makes. Returns those that were not added, because the
        branch has another record in their place.
        """
        tip = await self._fetch()
        if tip != self._tip:
            await self._look(tip, {record.placement for record, _ in records})
        new, heads = continuing(records, self.heads)
        taken = {record.id for record in new}
        if new:
            files = appended(await self._files(tip, {file_of(record) for record in new}), new)
            if tip is None:
                files[README] = _README
            await self._clone.write(files)
            message = f"Record {plural(len(new), 'change')} of decisions"
            commit = await self._clone.commit(files, parent=tip, message=message, at=at)
            # On top of what the branch holds, so the lease overwrites nothing.
            await self._clone.push(commit, branch=self._name, expected=tip)
            self._tip, self.heads = commit, heads
        return [record for record, _ in records if record.id not in taken]

    async def _look(self, tip: str | None, placements: Collection[str]) -> Read:
        missing, heads = set(placements), dict[str, Head]()
        recent: list[Read] = []
        for number, name in enumerate(sorted(await self._months(tip), reverse=True)):
            if number >= MONTHS and not missing:
                break
            # In a thread, because a month may have many records, and leadership must be renewed.
            found = await asyncio.to_thread(read, await self._files(tip, {name}))
            if number < MONTHS:
                recent.insert(0, found)
            heads = {**heads_of(found.records), **heads}
            missing -= heads.keys()
        self._tip, self.heads = tip, {**self.heads, **heads}
        return Read(
            records=tuple(record for each in recent for record in each.records),
            bad=tuple(bad for each in recent for bad in each.bad),
        )

    async def _fetch(self) -> str | None:
        """The newest commit of the branch; None if there is no such branch."""
        exists = self._name in await self._clone.heads(self._name)
        return await self._clone.fetch(self._name) if exists else None

    async def _months(self, commit: str | None) -> set[str]:
        """The names of the months that a commit holds."""
        if commit is None:
            return set()
        paths = await self._clone.names(commit)
        months = {path for path in paths if FILE.fullmatch(path)}
        if README not in paths and not months:
            msg = (
                f"branch {self._name} holds {', '.join(sorted(paths)[:3]) or 'nothing'} and no month of a"
                " journal, so it is not changed; name another branch as reconciler.journal.branch"
            )
            raise RepositoryError(msg)
        return months

    async def _files(self, commit: str | None, wanted: Collection[str]) -> dict[str, bytes]:
        if commit is None:
            return {}
        held = await self._months(commit)
        return {name: await self._clone.read(commit, name) for name in sorted(held.intersection(wanted))}


def heads_of(records: Iterable[Record]) -> dict[str, Head]:
    """The last record of each Placement, of records in their order on the branch."""
    found: dict[str, Head] = {}
    for record in records:
        known = found.get(record.placement)
        if known is None or known.uid != record.uid or known.number <= record.number:
            found[record.placement] = head_of(record)
    return found


def continuing(
    records: Iterable[tuple[Record, Head]], heads: Mapping[str, Head]
) -> tuple[list[Record], Mapping[str, Head]]:
    """The records that continue what these heads say, and the heads after them."""
    kept, after = list[Record](), dict(heads)
    for record, head in records:
        before = after.get(record.placement)
        if before is None or before.precedes(record):
            kept.append(record)
            after[record.placement] = head
    return kept, after
