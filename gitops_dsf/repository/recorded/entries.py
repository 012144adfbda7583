"""Entries of an index or of a commit, as git lists them."""

from dataclasses import dataclass
from typing import Final

SUBMODULE: Final = "160000"
"""The mode of an entry that is the commit of another repository."""
SYMLINK: Final = "120000"
REGULAR: Final = frozenset({"100644", "100755"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the index or of a commit."""

    path: str
    """Below the folder of the fleet."""
    mode: str
    object: str
    skipped: bool = False
    """Whether git leaves the file out of the working tree (`skip-worktree`), as in a sparse
    checkout.
    """


def index_entries(listing: bytes) -> list[Entry]:
    """The entries that `git ls-files -z --stage -t` lists. A path with a conflict has several."""
    # With a conflict, git lists the base and both sides. One of them is enough to know the path.
    by_path: dict[str, Entry] = {}
    for line in listing.split(b"\0")[:-1]:
        description, _, name = line.partition(b"\t")
        tag, mode, blob, _ = description.decode().split()
        path = decoded(name)
        by_path[path] = Entry(path=path, mode=mode, object=blob, skipped=tag == "S")
    return list(by_path.values())


def tree_entries(listing: bytes) -> list[Entry]:
    """The entries that `git ls-tree -r -z` lists."""
    entries = []
    for line in listing.split(b"\0")[:-1]:
        description, _, name = line.partition(b"\t")
        mode, _, blob = description.decode().split()
        entries.append(Entry(path=decoded(name), mode=mode, object=blob))
    return entries


def decoded(text: bytes) -> str:
    """A text of git. Names of files need not be UTF-8, and are still the names of files."""
    return text.decode(errors="surrogateescape")
