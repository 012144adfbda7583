"""Applying changes: each file by temporary file and rename, INVENTORY before and after, so that a kill at any moment loses nothing."""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.output.changes import TEMPORARY_PREFIX, Changes
from gitops_dsf.output.inventory import inventory_bytes, read_inventory
from gitops_dsf.render.tree import INVENTORY, RenderedTree


def _unwatched(_done: int) -> None:
    """Nobody watches."""


def write(tree: RenderedTree, rendered: Path, changes: Changes, *, wrote: Callable[[int], None] = _unwatched) -> None:
    """Brings rendered/ to the tree. Raises RepositoryError when a file cannot be written; what was written by then is whole.

    The union of old and new paths is recorded first: a render that is killed half-way leaves no file that the next one would not own.
    `wrote` is told after each file how many there are by then.
    """
    if changes.is_clean:
        return
    try:
        rendered.mkdir(parents=True, exist_ok=True)
        _sweep(rendered)
        union = read_inventory(rendered) | (tree.files.keys() - {INVENTORY})
        _replace(rendered / INVENTORY, (inventory_bytes(frozenset(union)),))
        made: set[Path] = set()
        for done, path in enumerate((*changes.added, *changes.changed), start=1):
            if path != INVENTORY:
                target = rendered / path
                if target.parent not in made:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    made.add(target.parent)
                _replace(target, tree.files[path])
            wrote(done)
        for path in changes.removed:
            (rendered / path).unlink(missing_ok=True)
        _drop_empty(rendered, changes.removed)
        _replace(rendered / INVENTORY, tree.files[INVENTORY])
    except OSError as error:
        # A rename names its target second: the temporary file would tell nobody anything.
        msg = f"cannot write {error.filename2 or error.filename or rendered}: {error.strerror or error}"
        raise RepositoryError(msg) from error


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _sweep(rendered: Path) -> None:
    """Removes temporary files that a killed render left."""
    for path in rendered.rglob(f"{TEMPORARY_PREFIX}*.tmp"):
        path.unlink(missing_ok=True)


def _drop_empty(rendered: Path, removed: Iterable[str]) -> None:
    for directory in sorted({(rendered / path).parent for path in removed}, reverse=True):
        if directory != rendered:
            with contextlib.suppress(OSError):
                directory.rmdir()
