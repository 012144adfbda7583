"""Reads and fetches a branch that holds data, such as the snapshots of a hub."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.repository.git import SHORT, Repository, RevisionError
from gitops_dsf.repository.recorded.entries import REGULAR, Entry
from gitops_dsf.repository.revision.base import REF_NAME
from gitops_dsf.repository.revision.remotes import preferred, remotes_of
from gitops_dsf.repository.revision.tree import contents_of, entries_of


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch at a commit."""

    repository: Repository
    name: str
    commit: str

    @property
    def short(self) -> str:
        """The short commit ID, for people."""
        return self.commit[:SHORT]

    @property
    def committed(self) -> float:
        """The time when the commit was made, in seconds since 1970. Raises RevisionError."""
        return float(self.repository.text("show", "--no-patch", "--format=%ct", self.commit))

    def contents(self, *, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        """Yields every file with one of these suffixes, with its path. Raises RevisionError."""
        # Only what is asked for is read, because git unpacks each object.
        files: list[Entry] = []
        for entry in entries_of(self.repository, self.commit):
            if entry.mode in REGULAR and entry.path.endswith(suffixes):
                files.append(entry)
        for entry, content in contents_of(self.repository, files):
            yield entry.path, content


def find_branch(directory: Path, name: str) -> Branch | None:
    """The newest branch of this name in the clone or its remotes; None without one.

    Raises RevisionError.
    """
    if not REF_NAME.fullmatch(name):
        raise RevisionError(f"{name!r} is not the name of a branch")
    repository = Repository(directory=directory)
    # A pipeline's clone has a branch of the remote only, and a laptop perhaps an old local one.
    patterns = [f"refs/remotes/*/{name}", f"refs/remotes/{name}", f"refs/heads/{name}"]
    newest = ("--sort=-committerdate", "--count=1", "--format=%(objectname)")
    commit = repository.text("for-each-ref", *newest, *patterns)
    return Branch(repository=repository, name=name, commit=commit) if commit else None


def fetch_branch(directory: Path, name: str, *, seconds: float | None = None) -> str:
    """Brings the remote's branch into the clone, as a branch of the remote, within a time limit.

    Returns the reason why that was not possible, in one line; empty if it was. Raises
    RevisionError.
    """
    if not REF_NAME.fullmatch(name):
        raise RevisionError(f"{name!r} is not the name of a branch")
    repository = Repository(directory=directory)
    remotes = remotes_of(repository)
    if not remotes:
        return "this clone has no remote"
    remote = preferred(remotes)
    # The plus sign takes a branch that was replaced: that of snapshots has a short history.
    refs = f"+refs/heads/{name}:refs/remotes/{remote}/{name}"
    options = ("--quiet", "--no-tags", *repository.as_shallow)
    try:
        completed = repository.attempt("fetch", *options, remote, refs, seconds=seconds)
    except RevisionError as error:
        return str(error)
    if completed.returncode == 0:
        return ""
    lines = completed.stderr.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else "git fetch failed"
