"""Applies changes to rendered/: each file by temporary file and rename, and INVENTORY before and after, so
that a kill loses nothing.
"""

import os
from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.output.changes import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Changes
from gitops_dsf.output.inventory import inventory_bytes
from gitops_dsf.render.tree import INVENTORY, RenderedTree
from gitops_dsf.repository.safefolder import SafeFolder


def write(tree: RenderedTree, rendered: Path, changes: Changes) -> None:
    """Makes rendered/ equal to the tree. Raises RepositoryError when a file cannot be written; files that
    were written before stay.

    The union of old and new paths is recorded first, so a render that is killed leaves no file that the next
    one would not own.
    """
    if changes.is_clean:
        return
    temporary = f"{TEMPORARY_PREFIX}{os.getpid()}{TEMPORARY_SUFFIX}"
    try:
        rendered.mkdir(parents=True, exist_ok=True)
        folder = SafeFolder(rendered)
        for path in changes.leftovers:
            folder.remove(path)
        union = changes.owned | (tree.files.keys() - {INVENTORY})
        folder.replace(INVENTORY, (inventory_bytes(union),), temporary=temporary)
        for path in (*changes.added, *changes.changed):
            if path != INVENTORY:
                folder.replace(path, tree.files[path], temporary=temporary)
        for path in changes.removed:
            folder.remove(path)
        for directory in sorted({path.rpartition("/")[0] for path in changes.removed} - {""}, reverse=True):
            folder.remove_empty(directory)
        folder.replace(INVENTORY, tree.files[INVENTORY], temporary=temporary)
    except OSError as error:
        msg = f"cannot write {error.filename or rendered}: {error.strerror or error}"
        raise RepositoryError(msg) from error
