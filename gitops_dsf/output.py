"""Compares the rendered tree with its directory, and writes it so that a kill loses nothing.

INVENTORY lists the paths in rendered/ that gitops-dsf owns.

Guaranteed: a path that INVENTORY does not list is never deleted, and a file is replaced as a whole.
Files are compared by bytes, never by a recorded digest. Not guaranteed: that a kill leaves the tree
of one render; the next render completes it.
"""

import os
import threading
from collections.abc import Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.scorerlist import PART_CONFIGMAPS
from gitops_dsf.render.tree import HEADER, INVENTORY, README, RenderedTree
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.safefolder import FileTooLargeError, NotRegularError, SafeFolder
from gitops_dsf.wording import plural

TEMPORARY_PREFIX = ".gitops-dsf-"
TEMPORARY_SUFFIX = ".tmp"
WORK_SUFFIX = ".manifestwork.yaml"
SCORER_PREFIX = "platform/dynamicscorer."
_LIST_PARTS = frozenset(f"platform/configmap.{name}.yaml" for name in PART_CONFIGMAPS)
HARMLESS_NAMES = frozenset({".gitkeep", "README.md"})
"""Names of files that people keep in folders, and that no tool of Argo CD reads."""

# They write mostly in different folders. One alone waits for the disk half of its time.
_WRITER_THREADS = 4

# Argo CD accepts no directory above 10 MB, and the INVENTORY of 100 shards of 500 clusters has
# about that.
_MAX_OWN_BYTES = 64 * 1024 * 1024
"""A file that is larger is not ours."""

_NO_NAMES = frozenset({"", ".", ".."})


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes that a render would make. Paths are relative to rendered/ and sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    """Owned files on disk that are no longer rendered."""
    foreign: tuple[str, ...]
    """Files on disk that are not ours. They are reported and never touched."""
    unwanted: tuple[str, ...]
    """Foreign files that must not be in a directory that Argo CD applies."""
    blocked: tuple[str, ...]
    """Paths that are rendered, but where a foreign file exists."""
    only_line_ends: frozenset[str]
    """Changed paths that have the rendered lines, with the line ends of Windows."""
    owned: frozenset[str]
    """The paths that INVENTORY lists."""
    leftovers: tuple[str, ...]
    """Temporary files of a render that was killed."""
    works_before: int
    works_dropped: int
    scorers_dropped: int
    """The number of scorers that would be gone if none would be left; else 0."""

    @property
    def is_clean(self) -> bool:
        """Whether the directory is equal to the rendered tree."""
        return not (self.added or self.changed or self.removed)

    @property
    def stale(self) -> list[str]:
        """Every path that a render would change."""
        return sorted((*self.added, *self.changed, *self.removed))

    @property
    def line_ends(self) -> str:
        """A sentence about files that differ in their line ends only; empty if there are none."""
        if not self.only_line_ends:
            return ""
        files = plural(len(self.only_line_ends), "file")
        return (
            f"{files} differ in line ends alone (CRLF), as git on Windows and editors write them:"
            " put the line `* text=auto eol=lf` into .gitattributes, and run `gitops-dsf render`"
        )


def compare(tree: RenderedTree, rendered: Path) -> Changes:
    """Compares a tree with the directory. Raises RepositoryError when it cannot be read."""
    added: list[str] = []
    changed: list[str] = []
    blocked: list[str] = []
    only_line_ends: list[str] = []
    try:
        folder: SafeFolder | None = None
        present: dict[str, int | None] = {}
        if os.path.lexists(rendered):
            folder = SafeFolder(rendered)
            present = dict(folder.walk())
        owned = read_inventory(folder, rendered)
        leftovers = sorted(path for path in present if _is_temporary(path))
        for path in leftovers:
            del present[path]
        for path, parts in tree.files.items():
            if folder is None or path not in present:
                added.append(path)
                continue
            if _same(folder, path, present[path], parts):
                continue
            if path in owned or path == INVENTORY or _is_ours(folder, path, present[path]):
                changed.append(path)
                if _differs_in_line_ends(folder, path, present[path], parts):
                    only_line_ends.append(path)
            else:
                blocked.append(path)
    except NotADirectoryError as error:
        raise RepositoryError(
            f"{rendered} is a file; name the folder that the tree goes into"
        ) from error
    except OSError as error:
        raise RepositoryError(
            f"cannot read {rendered}: {error.strerror or error} ({error.filename})"
        ) from error
    removed = sorted(path for path in owned - tree.files.keys() if path in present)
    foreign = sorted(path for path in present if path not in tree.files and path not in owned)
    works = _works(owned)
    return Changes(
        added=tuple(added),
        changed=tuple(changed),
        removed=tuple(removed),
        foreign=tuple(foreign),
        unwanted=unwanted(((path, present[path] is not None) for path in foreign), ()),
        blocked=tuple(blocked),
        only_line_ends=frozenset(only_line_ends),
        owned=owned,
        leftovers=tuple(leftovers),
        works_before=len(works),
        # Compared by file name: a ManifestWork that moves to another shard is not dropped.
        works_dropped=len(works - _works(tree.files)),
        scorers_dropped=_scorers_dropped(tree, folder, removed),
    )


def _is_temporary(path: str) -> bool:
    """Whether a render that was killed left the file."""
    return path.endswith(TEMPORARY_SUFFIX) and _file_name(path).startswith(TEMPORARY_PREFIX)


def _scorers_dropped(tree: RenderedTree, folder: SafeFolder | None, removed: Iterable[str]) -> int:
    """The number of scorers that would be gone if none would be left; else 0.

    A scorer is in the list, and it has an object of its own where the CRD of the hub takes it.
    """
    if folder is None or any(_has_scorers(path) for path in tree.files):
        return 0
    names: set[str] = set()
    unreadable = 0
    for path in filter(_has_scorers, removed):
        if path.startswith(SCORER_PREFIX):
            names.add(path.removeprefix(SCORER_PREFIX).removesuffix(".yaml"))
            continue
        listed = _listed_scorers(folder, path)
        names |= listed
        unreadable += not listed
    # A part holds one scorer at least, also one that a merge left with markers of a conflict.
    return max(len(names), unreadable)


def _has_scorers(path: str) -> bool:
    # A part of the list is rendered only if it holds scorers; the index is rendered always.
    return path.startswith(SCORER_PREFIX) or path in _LIST_PARTS


def _listed_scorers(folder: SafeFolder, path: str) -> set[str]:
    """The names of the scorers in a part of the list; empty if it cannot be read."""
    try:
        text = folder.read(path, limit=_MAX_OWN_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return set()
    names: set[str] = set()
    for document in load_text(text, file=path).documents:
        data = document.data.get("data")
        if isinstance(data, dict):
            names.update(map(str, data))
    return names


def unwanted(files: Iterable[tuple[str, bool]], known: Container[str]) -> tuple[str, ...]:
    """Sorted paths that are unknown and that Argo CD may read.

    Each comes with "is a regular file".
    """
    paths: list[str] = []
    for path, is_file in files:
        if path in known or (is_file and _file_name(path) in HARMLESS_NAMES):
            continue
        paths.append(path)
    return tuple(sorted(paths))


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _works(paths: Iterable[str]) -> set[str]:
    return {_file_name(path) for path in paths if path.endswith(WORK_SUFFIX)}


def _same(folder: SafeFolder, path: str, present: int | None, parts: tuple[bytes, ...]) -> bool:
    size = sum(map(len, parts))
    if present != size:
        return False
    return folder.read(path, limit=size) == b"".join(parts)


def _differs_in_line_ends(
    folder: SafeFolder, path: str, present: int | None, parts: tuple[bytes, ...]
) -> bool:
    if present is None or present <= sum(map(len, parts)):
        # With CRLF a file would be larger. Most changed files need no look at their lines.
        return False
    rendered = b"".join(parts)
    size = len(rendered) + rendered.count(b"\n")
    # A rendered value may end in CRLF already, so the whole text is compared.
    return present == size and folder.read(path, limit=size) == rendered.replace(b"\n", b"\r\n")


def _is_ours(folder: SafeFolder, path: str, size: int | None) -> bool:
    """Whether the first line says that we wrote it, also if a killed render left it unlisted."""
    if size is None or size > _MAX_OWN_BYTES:
        return False
    content = folder.read(path, limit=_MAX_OWN_BYTES)
    return content.startswith(HEADER) or content == README


def write(tree: RenderedTree, rendered: Path, changes: Changes) -> None:
    """Makes rendered/ equal to the tree.

    Raises RepositoryError when a file cannot be written; files that were written before stay.
    """
    if changes.is_clean:
        return
    try:
        rendered.mkdir(parents=True, exist_ok=True)
        folder = SafeFolder(rendered)
        for path in changes.leftovers:
            folder.remove(path)
        # INVENTORY first, with old and new paths: a render that is killed leaves no file that the
        # next one would not own. And last, because only then the old files are gone.
        union = changes.owned | (tree.files.keys() - {INVENTORY})
        folder.replace(INVENTORY, (inventory_bytes(union),), temporary=_temporary())
        paths = [path for path in (*changes.added, *changes.changed) if path != INVENTORY]
        share = len(paths) // _WRITER_THREADS + 1
        with ThreadPoolExecutor(_WRITER_THREADS) as threads:
            writing = [
                threads.submit(_write_part, folder, tree, paths[start : start + share])
                for start in range(0, len(paths), share)
            ]
        for future in writing:
            future.result()
        for path in changes.removed:
            folder.remove(path)
        directories = {path.rpartition("/")[0] for path in changes.removed}
        directories.discard("")
        # In reverse order, a folder comes after those inside of it.
        for directory in sorted(directories, reverse=True):
            folder.remove_empty(directory)
        folder.replace(INVENTORY, tree.files[INVENTORY], temporary=_temporary())
    except OSError as error:
        raise RepositoryError(
            f"cannot write {error.filename or rendered}: {error.strerror or error}"
        ) from error


def _write_part(folder: SafeFolder, tree: RenderedTree, paths: Iterable[str]) -> None:
    temporary = _temporary()
    for path in paths:
        folder.replace(path, tree.files[path], temporary=temporary)


def _temporary() -> str:
    """The name of a new file. No two threads of any process have the same one."""
    return f"{TEMPORARY_PREFIX}{os.getpid()}-{threading.get_ident()}{TEMPORARY_SUFFIX}"


def read_inventory(folder: SafeFolder | None, rendered: Path) -> frozenset[str]:
    """The owned paths; empty if there is no folder or no INVENTORY yet.

    Lines that could lead out of rendered/ are ignored. Raises RepositoryError when the file exists
    but cannot be read.
    """
    if folder is None:
        return frozenset()
    try:
        text = folder.read(INVENTORY, limit=_MAX_OWN_BYTES).decode()
    except FileNotFoundError:
        return frozenset()
    except (NotRegularError, FileTooLargeError, UnicodeDecodeError) as error:
        raise RepositoryError(
            f"{rendered / INVENTORY} was not written by gitops-dsf; restore it or move it away:"
            f" {error}"
        ) from error
    except OSError as error:
        raise RepositoryError(
            f"cannot read {rendered / INVENTORY}: {error.strerror or error}"
        ) from error
    # An edited INVENTORY must not make us delete files outside of rendered/.
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return frozenset(line for line in lines if _is_inside(line))


def inventory_bytes(paths: frozenset[str]) -> bytes:
    """The file for a set of paths."""
    return HEADER + "".join(f"{path}\n" for path in sorted(paths)).encode()


def _is_inside(path: str) -> bool:
    """Whether a path is relative and normalised."""
    # 6,000 PurePosixPaths would take 20 ms.
    return "\\" not in path and _NO_NAMES.isdisjoint(path.split("/"))
