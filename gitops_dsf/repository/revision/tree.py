"""The files of a commit, and their contents."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.repository.git import Object, Repository, RevisionError, top_of
from gitops_dsf.repository.recorded.entries import (
    SUBMODULE,
    SYMLINK,
    Entry,
    decoded,
    tree_entries,
)

_TREE_ENTRIES: Final = {
    digits: re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % (digits // 2), re.DOTALL)
    for digits in (40, 64)
}
"""An entry of a tree object by the digits of its names, which are those of SHA-1 and SHA-256: the
mode, the name, and the object in binary.
"""


def entries_of(repository: Repository, commit: str) -> list[Entry]:
    """Every file of a commit. Raises RevisionError."""
    entries = _below(repository, commit, folder="")
    if entries is not None:
        return entries
    # --full-tree: else git lists below the folder of the repository, which may be deep in the
    # clone.
    return tree_entries(repository.run("ls-tree", "-r", "-z", "--full-tree", commit))


def entries_below(repository: Repository, commit: str) -> list[Entry]:
    """Every file of a commit below the folder of the repository. Raises RevisionError."""
    real = repository.directory.resolve()
    # A bare repository has no working tree, and no folders in it.
    folder = real.relative_to(top_of(real) or real).as_posix()
    entries = _below(repository, commit, folder="" if folder == "." else folder)
    if entries is not None:
        return entries
    return tree_entries(repository.run("ls-tree", "-r", "-z", commit))


def _below(repository: Repository, commit: str, *, folder: str) -> list[Entry] | None:
    """Every file of a commit below a folder, in the order of `git ls-tree`.

    None if something is not there or not as it should be; then git says what that means.
    """
    entries: list[Entry] = []
    with repository.reader() as objects:
        pending = [(stat.S_IFDIR, b"", os.fsencode(f"{commit}:{folder}"))]
        while pending:
            mode, path, name = pending.pop()
            if not stat.S_ISDIR(mode):
                entries.append(Entry(path=decoded(path), mode=_listed(mode), object=name.decode()))
                continue
            parsed = _parsed(objects.find(name))
            if parsed is None:
                return None
            within = path and path + b"/"
            for octal, file, binary in reversed(parsed):
                pending.append((int(octal, 8), within + file, binary.hex().encode()))
    return entries


def _parsed(tree: Object | None) -> list[tuple[bytes, bytes, bytes]] | None:
    """The mode, the name and the object of each entry; None if that is no whole tree."""
    if tree is None or tree.kind != "tree":
        return None
    parsed: list[tuple[bytes, bytes, bytes]] = _TREE_ENTRIES[len(tree.name)].findall(tree.content)
    # A space and a null byte are between them.
    is_whole = sum(sum(map(len, fields)) + 2 for fields in parsed) == len(tree.content)
    return parsed if is_whole else None


def _listed(mode: int) -> str:
    """A mode as git lists it. Old versions of git stored others, such as 100664."""
    if stat.S_ISREG(mode):
        return "100755" if mode & stat.S_IXUSR else "100644"
    return SYMLINK if stat.S_ISLNK(mode) else SUBMODULE


def contents_of(repository: Repository, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """The files of a commit with their contents. Raises RevisionError if the clone lacks one."""
    contents = repository.contents([entry.object for entry in entries])
    for entry, content in zip(entries, contents, strict=True):
        if content is None:
            # A partial clone has the trees of all commits, and few of the files.
            raise RevisionError(
                f"{entry.path}: this clone lacks the content of the file (object {entry.object});"
                " clone again"
            )
        yield entry, content
