"""Applying changes: each file by temporary file and rename, INVENTORY before and after, so that a kill at any moment loses nothing."""

import contextlib
import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.output.changes import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Changes
from gitops_dsf.output.inventory import inventory_bytes
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
        for path in changes.leftovers:
            (rendered / path).unlink(missing_ok=True)
        union = changes.owned | (tree.files.keys() - {INVENTORY})
        _replace(rendered, INVENTORY, (inventory_bytes(union),))
        made: set[str] = set()
        for done, path in enumerate((*changes.added, *changes.changed), start=1):
            if path != INVENTORY:
                directory = path.rpartition("/")[0]
                if directory not in made:
                    (rendered / directory).mkdir(parents=True, exist_ok=True)
                    made.add(directory)
                _replace(rendered, path, tree.files[path])
            wrote(done)
        for path in changes.removed:
            (rendered / path).unlink(missing_ok=True)
        _drop_empty(rendered, changes.removed)
        _replace(rendered, INVENTORY, tree.files[INVENTORY])
    except OSError as error:
        # A rename names its target second: the temporary file would tell nobody anything.
        msg = f"cannot write {error.filename2 or error.filename or rendered}: {error.strerror or error}"
        raise RepositoryError(msg) from error


def _replace(rendered: Path, path: str, parts: Iterable[bytes]) -> None:
    """One write and one rename. By plain strings: a Path for each of thousands of files cost as much as making them."""
    target = f"{rendered}/{path}"
    temporary = f"{target.rpartition('/')[0]}/{TEMPORARY_PREFIX}{os.getpid()}{TEMPORARY_SUFFIX}"
    try:
        # A size for the buffer spares the question whether this is a terminal; what is larger goes past the buffer.
        with open(temporary, "wb", buffering=io.DEFAULT_BUFFER_SIZE) as file:  # noqa: PTH123 - as above
            file.write(b"".join(parts))
        os.replace(temporary, target)  # noqa: PTH105 - as above
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise


def _drop_empty(rendered: Path, removed: Iterable[str]) -> None:
    for directory in sorted({(rendered / path).parent for path in removed}, reverse=True):
        if directory != rendered:
            with contextlib.suppress(OSError):
                directory.rmdir()
