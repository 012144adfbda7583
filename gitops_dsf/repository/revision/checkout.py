"""The source files of a fleet repository at a commit: from git objects, or in a temporary folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_dsf.repository.load.names import FOLDERS, SETTINGS_FILE, SUFFIXES
from gitops_dsf.repository.revision.git import Repository, RevisionError
from gitops_dsf.repository.revision.tree import (
    SUBMODULE,
    SYMLINK,
    Entry,
    contents,
    entries,
    submodule,
    submodule_paths,
)


def sources(repository: Repository, commit: str) -> Iterable[tuple[str, bytes]] | None:
    """Returns the source files by path, from git objects; None if there are symbolic links or submodules.

    Those need a folder: see `checkout`. Raises RevisionError.
    """
    prefix = repository.prefix
    found = list(entries(repository, commit, [f"{prefix}{name}" for name in (SETTINGS_FILE, *FOLDERS)]))
    if any(entry.mode in {SYMLINK, SUBMODULE} for entry in found):
        return None
    requested = [entry for entry in found if entry.path.endswith(SUFFIXES)]
    return ((entry.path.removeprefix(prefix), content) for entry, content in contents(repository, requested))


@contextmanager
def checkout(repository: Repository, commit: str) -> Iterator[Path]:
    """Context manager for a temporary folder with gitops-dsf.yaml and the source folders. Raises
    RevisionError.

    If the repository is in a folder of a larger one, only that folder is read. If the commit does not have
    it, the result is empty.
    """
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        root = Path(scratch).resolve()
        prefix = repository.prefix
        _write(
            repository,
            commit,
            [f"{prefix}{name}" for name in (SETTINGS_FILE, *FOLDERS)],
            strip=prefix,
            root=root,
        )
        yield root


def _write(repository: Repository, commit: str, paths: list[str], *, strip: str, root: Path) -> None:
    found = list(entries(repository, commit, paths))
    if any(entry.mode == SYMLINK for entry in found):
        # A link may lead to any file of the repository, not only into a source folder.
        found = [
            entry
            for entry in entries(repository, commit, [strip] if strip else [])
            if not entry.path.startswith(f"{strip}rendered/")
        ]
    requested = [
        entry
        for entry in found
        if entry.mode != SUBMODULE and (entry.mode == SYMLINK or entry.path.endswith(SUFFIXES))
    ]
    for entry, content in contents(repository, requested):
        _file(root / entry.path.removeprefix(strip), entry, content, root=root)
    links = [
        entry for entry in found if entry.mode == SUBMODULE and _is_source(entry.path.removeprefix(strip))
    ]
    known = submodule_paths(repository, commit) if links else frozenset[str]()
    for entry in links:
        # A nested clone that was added by accident is no submodule: every other clone has an empty folder.
        if entry.path in known:
            inner = submodule(repository, entry)
            _write(inner, entry.object_id, [], strip="", root=root / entry.path.removeprefix(strip))


def _is_source(path: str) -> bool:
    return path.partition("/")[0] in FOLDERS


def _file(target: Path, entry: Entry, content: bytes, *, root: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(root):
        # Git does not write a tree with a file below a symbolic link, but such a tree object can be made by
        # hand.
        msg = f"the revision holds {entry.path}, which lies below a symbolic link"
        raise RevisionError(msg)
    if entry.mode == SYMLINK:
        target.symlink_to(content.decode(errors="surrogateescape"))
    else:
        target.write_bytes(content)
