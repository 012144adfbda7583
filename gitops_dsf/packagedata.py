"""Finds files that the wheel carries and that have a folder of their own in the repository."""

from pathlib import Path
from typing import Final

from gitops_dsf.errors import RepositoryError

_PACKAGE: Final = Path(__file__).resolve().parent


def packaged(path: str) -> Path:
    """Returns a file: in the wheel it is below _data/, in a checkout at the root.

    Raises RepositoryError when the installation lacks it.
    """
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / path).is_file():
            return root / path
    raise RepositoryError(
        f"{path} is missing from this installation (looked in {_PACKAGE / '_data'}): reinstall"
        " gitops-dsf"
    )
