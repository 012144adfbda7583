"""Files that belong to the product and are not code: inside the wheel under _data/, in a checkout at its
root.
"""

from pathlib import Path

from gitops_dsf.errors import RepositoryError

_PACKAGE = Path(__file__).resolve().parent


def repo_template() -> Path:
    """The folder that `init` copies. Raises RepositoryError when the installation lacks it."""
    for candidate in (_PACKAGE / "_data" / "repo-template", _PACKAGE.parent / "repo-template"):
        if (candidate / "gitops-dsf.yaml").is_file():
            return candidate
    msg = (
        f"the repository template is missing from this installation (looked in {_PACKAGE / '_data'}):"
        " reinstall gitops-dsf"
    )
    raise RepositoryError(msg)
