"""The source files of a fleet repository at a commit: from git's objects, or in a temporary folder that is
read like any other.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_dsf.repository.load.discover import FOLDERS, SETTINGS_FILE, SUFFIXES
from gitops_dsf.repository.revision.git import Repository, RevisionError
from gitops_dsf.repository.revision.tree import SUBMODULE, SYMLINK, Entry, contents, entries, submodule


def sources(repository: Repository, commit: str) -> Iterable[tuple[str, bytes]] | None:
    """The source files as they were, by path, straight from git's objects; None where links or submodules are
    among them.

    Those need a folder: see `checkout`. Raises RevisionError.
    """
    prefix = repository.prefix
    found = list(entries(repository, commit, [f"{prefix}{name}" for name in (SETTINGS_FILE, *FOLDERS)]))
    if any(entry.mode in {SYMLINK, SUBMODULE} for entry in found):
        return None
    wanted = [entry for entry in found if entry.path.endswith(SUFFIXES)]
    return ((entry.path.removeprefix(prefix), content) for entry, content in contents(repository, wanted))


@contextmanager
def checkout(repository: Repository, commit: str) -> Iterator[Path]:
    """A folder with gitops-dsf.yaml and the source folders as they were; gone afterwards. Raises
    RevisionError.

    A repository that lives in a folder of a larger one is read from the same folder; where the commit has
    none, the result is empty.
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
        # A link may lead to any file of the repository, not only to one of a source folder.
        found = [
            entry
            for entry in entries(repository, commit, [strip] if strip else [])
            if not entry.path.startswith(f"{strip}rendered/")
        ]
    wanted = [
        entry
        for entry in found
        if entry.mode != SUBMODULE and (entry.mode == SYMLINK or entry.path.endswith(SUFFIXES))
    ]
    for entry, content in contents(repository, wanted):
        _file(root / entry.path.removeprefix(strip), entry, content, root=root)
    for entry in found:
        if entry.mode == SUBMODULE and _is_source(entry.path.removeprefix(strip)):
            inner = submodule(repository, entry)
            _write(inner, entry.object_id, [], strip="", root=root / entry.path.removeprefix(strip))


def _is_source(path: str) -> bool:
    return path.partition("/")[0] in FOLDERS


def _file(target: Path, entry: Entry, content: bytes, *, root: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(root):
        # Git makes no tree with a file below a symbolic link, but a tree object can be made by hand.
        msg = f"the revision holds {entry.path}, which lies below a symbolic link"
        raise RevisionError(msg)
    if entry.mode == SYMLINK:
        target.symlink_to(content.decode(errors="surrogateescape"))
    else:
        target.write_bytes(content)
