"""A branch as a set of texts, such as the branch that holds snapshots of a hub."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.repository.revision.git import Repository, RevisionError
from gitops_dsf.repository.revision.tree import SUBMODULE, SYMLINK, contents, entries

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
SUFFIXES = (".yaml", ".yml", ".json")
"""Of the files that hold objects of a hub."""


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch at a commit."""

    repository: Repository
    name: str
    commit: str

    @property
    def short(self) -> str:
        """The short commit ID, for people."""
        return self.commit[:10]

    def contents(self, *, suffixes: tuple[str, ...] = SUFFIXES) -> Iterator[tuple[str, bytes]]:
        """Yields every file with one of these suffixes, with its path. Raises RevisionError."""
        found = entries(self.repository, self.commit)
        requested = (
            entry
            for entry in found
            if entry.mode not in {SYMLINK, SUBMODULE} and entry.path.endswith(suffixes)
        )
        return (
            (entry.path, content)
            for entry, content in contents(self.repository, sorted(requested, key=lambda entry: entry.path))
        )


def find_branch(directory: Path, name: str) -> Branch | None:
    """Finds a branch of the clone or of its remotes, and takes the newest. Returns None if there is none.
    Raises RevisionError.
    """
    if not _NAME.fullmatch(name):
        msg = f"{name!r} is no name of a branch"
        raise RevisionError(msg)
    repository = Repository(directory=directory)
    patterns = [f"refs/remotes/*/{name}", f"refs/remotes/{name}", f"refs/heads/{name}"]
    listed = repository.text(
        "for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(objectname)", *patterns
    )
    return Branch(repository=repository, name=name, commit=listed) if listed else None
