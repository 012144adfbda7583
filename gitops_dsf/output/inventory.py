"""INVENTORY lists the paths in rendered/ that gitops-dsf owns. A path that is not listed is never deleted."""

from pathlib import Path

from gitops_dsf.errors import RepositoryError
from gitops_dsf.render.tree import HEADER, INVENTORY
from gitops_dsf.repository.safefolder import NotRegularError, SafeFolder, TooLargeError

_NO_NAMES = frozenset({"", ".", ".."})
_LARGEST = 64 * 1024 * 1024
"""Most bytes of an INVENTORY: 100 shards of 500 clusters have about 10 MB."""


def read_inventory(folder: SafeFolder | None, rendered: Path) -> frozenset[str]:
    """The owned paths; empty if there is no folder or no INVENTORY yet.

    Ignores lines that could lead out of rendered/, because an edited INVENTORY must not make us delete other
    files. Raises RepositoryError when the file exists but cannot be read.
    """
    try:
        text = "" if folder is None else folder.read(INVENTORY, limit=_LARGEST).decode()
    except FileNotFoundError:
        return frozenset()
    except (NotRegularError, TooLargeError, UnicodeDecodeError) as error:
        msg = f"{rendered / INVENTORY} was not written by gitops-dsf; restore it or move it away: {error}"
        raise RepositoryError(msg) from error
    except OSError as error:
        raise RepositoryError(f"cannot read {rendered / INVENTORY}: {error.strerror or error}") from error
    return frozenset(
        line for line in text.splitlines() if line and not line.startswith("#") and _is_inside(line)
    )


def inventory_bytes(paths: frozenset[str]) -> bytes:
    """The file for a set of paths."""
    return HEADER + "".join(f"{path}\n" for path in sorted(paths)).encode()


def _is_inside(path: str) -> bool:
    """Whether a path is relative and normalised. Written by hand, because a PurePosixPath for each of 6,000
    lines took 20 ms.
    """
    return "\\" not in path and _NO_NAMES.isdisjoint(path.split("/"))
