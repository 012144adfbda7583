"""The files of a commit, and their contents."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.recorded.entries import Entry, tree_entries


def entries_of(repository: Repository, commit: str, prefix: str = "") -> list[Entry]:
    """Every file of a commit below a folder, which is empty or ends with a slash.

    Raises RevisionError.
    """
    # --full-tree: else git lists below the current folder, which may be deep in the clone.
    below = ("--", prefix) if prefix else ()
    listing = repository.run("ls-tree", "-r", "-z", "--full-tree", commit, *below)
    entries = tree_entries(listing)
    return [replace(entry, path=entry.path.removeprefix(prefix)) for entry in entries]


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
