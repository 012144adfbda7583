"""Rendered tree against directory: what would change. Compares bytes, never a recorded digest."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.output.inventory import read_inventory
from gitops_dsf.render.tree import HEADER, INVENTORY, README, RenderedTree

TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".gitops-dsf-", ".tmp"
WORK_SUFFIX = ".manifestwork.yaml"
SCORER_PREFIX = "platform/dynamicscorer."


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Paths relative to rendered/, sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    """Owned, on disk, and no longer wanted."""
    foreign: tuple[str, ...]
    """On disk and not ours: reported, never touched."""
    blocked: tuple[str, ...]
    """Wanted by us, but a file that is not ours stands there."""
    owned: frozenset[str]
    """What INVENTORY names."""
    leftovers: tuple[str, ...]
    """Temporary files that a killed render left."""
    works_before: int
    works_dropped: int
    scorers_dropped: int
    """DynamicScorers that would go, where none would be left; else 0."""

    @property
    def is_clean(self) -> bool:
        """Whether the directory holds exactly the rendered tree."""
        return not (self.added or self.changed or self.removed)

    @property
    def stale(self) -> list[str]:
        """Everything that a render would touch."""
        return sorted((*self.added, *self.changed, *self.removed))


def compare(tree: RenderedTree, rendered: Path) -> Changes:
    """Reads the directory. Raises RepositoryError when it cannot be read."""
    owned = read_inventory(rendered)
    try:
        present = dict(_walk(rendered, ""))
        leftovers = tuple(sorted(path for path in present if _is_temporary(path)))
        for path in leftovers:
            del present[path]
        added: list[str] = []
        changed: list[str] = []
        blocked: list[str] = []
        for path, parts in tree.files.items():
            if path not in present:
                added.append(path)
            elif not _same(f"{rendered}/{path}", present[path], parts):
                (changed if path in owned or path == INVENTORY or _is_ours(rendered / path) else blocked).append(path)
    except OSError as error:
        msg = f"cannot read {rendered}: {error.strerror or error} ({error.filename})"
        raise RepositoryError(msg) from error
    removed = sorted(path for path in owned - tree.files.keys() if path in present)
    foreign = sorted(path for path in present if path not in tree.files and path not in owned)
    scorers_left = any(path.startswith(SCORER_PREFIX) for path in tree.files)
    works = {_file_name(path) for path in owned if path.endswith(WORK_SUFFIX)}
    return Changes(
        added=tuple(added),
        changed=tuple(changed),
        removed=tuple(removed),
        foreign=tuple(foreign),
        blocked=tuple(blocked),
        owned=owned,
        leftovers=leftovers,
        works_before=len(works),
        # By file name: a work that only changes its shard is not dropped.
        works_dropped=len(works - {_file_name(path) for path in tree.files}),
        scorers_dropped=0 if scorers_left else sum(path.startswith(SCORER_PREFIX) for path in removed),
    )


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_temporary(path: str) -> bool:
    return path.endswith(TEMPORARY_SUFFIX) and _file_name(path).startswith(TEMPORARY_PREFIX)


def _walk(root: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root / entry.name, f"{path}/")
        else:
            yield path, entry.stat(follow_symlinks=False)


def _same(path: str, status: os.stat_result, parts: tuple[bytes, ...]) -> bool:
    size = sum(map(len, parts))
    if status.st_size != size or not stat.S_ISREG(status.st_mode):
        return False
    # Thousands of files: a Path for each, and asking again for the size of what is opened, cost as much as reading them.
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        return file.read(size + 1) == b"".join(parts)


def _is_ours(path: Path) -> bool:
    """A file of ours that an interrupted render left out of INVENTORY still says so in its first line."""
    if path.is_symlink():
        return False
    with path.open("rb") as file:
        head = file.read(max(len(HEADER), len(README)))
    return head.startswith(HEADER) or head == README
