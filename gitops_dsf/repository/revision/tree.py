"""Files of a commit: listed with ls-tree, and read with one cat-file process."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gitops_dsf.repository.revision.git import Repository, RevisionError

SYMLINK = "120000"
SUBMODULE = "160000"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A file, a symbolic link (its content is the target) or a submodule (its object is a commit of another
    repository).
    """

    path: str
    """Relative to the root of the repository, with forward slashes."""
    mode: str
    object_id: str


def entries(repository: Repository, commit: str, paths: Sequence[str] = ()) -> Iterator[Entry]:
    """What a commit contains at or below the paths, which are relative to the repository's root. Raises
    RevisionError.
    """
    listed = repository.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)
    for line in listed.split(b"\0"):
        if line:
            head, _, name = line.partition(b"\t")
            mode, _, object_id = head.decode().split()
            yield Entry(path=_checked(os.fsdecode(name)), mode=mode, object_id=object_id)


def contents(repository: Repository, found: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Yields the entries (not submodules) with their bytes, from one git process. Raises RevisionError for a
    missing object.
    """
    requested = list(found)
    if not requested:
        return
    asked = "".join(f"{entry.object_id}\n" for entry in requested).encode()
    with repository.reading("cat-file", "--batch", stdin=asked) as answer:
        for entry in requested:
            words = answer.readline().decode().split()
            if len(words) != 3 or words[1] != "blob":
                msg = f"{entry.path}: its content is not in this clone; run `git fetch` and try again"
                raise RevisionError(msg)
            yield entry, answer.read(int(words[2]))
            answer.read(1)


def submodule_paths(repository: Repository, commit: str) -> frozenset[str]:
    """The paths that .gitmodules names, relative to the repository's root."""
    listed = repository.attempt(
        "config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$"
    )
    return frozenset(os.fsdecode(line.partition(b"\n")[2]) for line in listed.stdout.split(b"\0") if line)


def submodule(repository: Repository, entry: Entry) -> Repository:
    """The checked-out repository of a submodule. Raises RevisionError when it or the commit is missing."""
    where = repository.top / entry.path
    inner = Repository(directory=where)
    if (
        not (where / ".git").exists()
        or Path(inner.text("rev-parse", "--show-toplevel")).resolve() != where.resolve()
    ):
        msg = (
            f"the submodule {entry.path} is not checked out, so the revision cannot be read; run `git"
            " submodule update --init`"
        )
        raise RevisionError(msg)
    if inner.commit(entry.object_id) is None:
        msg = (
            f"the submodule {entry.path} does not have the commit {entry.object_id[:10]} that the revision"
            f" points to; run `git -C {entry.path} fetch`"
        )
        raise RevisionError(msg)
    return inner


def _checked(path: str) -> str:
    """Rejects names that git itself rejects. A hand-made tree object can contain them."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or ".git" in parts:
        msg = f"the revision holds a file called {path!r}, which no repository may have"
        raise RevisionError(msg)
    return path
