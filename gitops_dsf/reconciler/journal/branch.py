"""The branch of the journal. Records are appended by commits on top of it, and never with force."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from gitops_dsf.errors import RepositoryError
from gitops_dsf.journal.lines import FILE, Read, appended, file_of, read
from gitops_dsf.journal.record import Record
from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.wording import plural

README: Final = "README.md"
ATTEMPTS: Final = 3
"""Pushes of the same records, when others push to the branch at the same time."""
_README: Final = b"""Written by `gitops-dsf reconcile`: each change of a decision of OCM, one JSON object a line, one file a month.
`gitops-dsf log` reads it. Records are only appended. Old months may be removed by a commit.
"""  # noqa: E501


class JournalBranch:
    """Appends to a branch of the server. Every method raises GitError, and RepositoryError when the branch
    holds something else.
    """

    def __init__(self, *, clone: Clone, name: str) -> None:
        self._clone, self._name = clone, name

    async def read(self, *, months: int) -> Read:
        """The records of the newest months on the branch."""
        files = await self._files(await self._fetch())
        return read(dict(sorted(files.items())[-months:]))

    async def append(self, records: Sequence[Record], *, at: datetime) -> int:
        """Makes sure that the branch has these records. Returns how many were added: records that it has
        already are not added again.
        """
        for attempt in range(1, ATTEMPTS + 1):
            tip = await self._fetch()
            files = await self._files(tip, {file_of(record) for record in records})
            known = {record.id for record in read(files).records}
            new = [record for record in records if record.id not in known]
            if not new:
                return 0
            changed = appended(files, new)
            commit = await self._clone.commit(
                parent=tip,
                files=changed if tip else {README: _README, **changed},
                message=f"Record {plural(len(new), 'change')} of decisions\n",
                at=at,
            )
            try:
                await self._clone.advance(commit, branch=self._name)
            except GitError as error:
                if error.cause is not Cause.REJECTED or attempt == ATTEMPTS:
                    raise
            else:
                return len(new)
        return 0

    async def _fetch(self) -> str | None:
        """The newest commit of the branch; None if there is no such branch."""
        exists = self._name in await self._clone.heads(self._name)
        return await self._clone.fetch(self._name) if exists else None

    async def _files(self, commit: str | None, wanted: set[str] | None = None) -> dict[str, bytes]:
        """The months that a commit holds, or only those that are wanted."""
        if commit is None:
            return {}
        paths = await self._clone.paths(commit)
        if README not in paths and not any(FILE.fullmatch(path) for path in paths):
            msg = (
                f"branch {self._name} holds {', '.join(sorted(paths)[:3]) or 'nothing'} and no month of a"
                " journal, so it is not changed; name another branch with --journal-branch"
            )
            raise RepositoryError(msg)
        return await self._clone.read(
            commit, lambda path: FILE.fullmatch(path) is not None and (wanted is None or path in wanted)
        )
