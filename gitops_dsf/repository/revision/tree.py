"""The files of a commit, and their contents."""

from collections.abc import Iterator, Sequence

from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.recorded.entries import Entry, tree_entries


def entries_of(repository: Repository, commit: str) -> list[Entry]:
    """Every file of a commit. Raises RevisionError."""
    # --full-tree: else git lists below the folder of the repository, which may be deep in the
    # clone.
    return tree_entries(repository.run("ls-tree", "-r", "-z", "--full-tree", commit))


def entries_below(repository: Repository, commit: str) -> list[Entry]:
    """Every file of a commit below the folder of the repository. Raises RevisionError."""
    return tree_entries(repository.run("ls-tree", "-r", "-z", commit))


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
