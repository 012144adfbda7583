"""The wheels of gitops-dsf in a new fleet repository, and their hashes in its requirements: what pipelines
install while no package index has them.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from gitops_dsf import __version__
from gitops_dsf.errors import RepositoryError, UsageError

FOLDER: Final = "wheels"
_NEEDED: Final = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
_FOR_EXTRAS: Final = ("gitops-dsf-runtime",)
_REQUIREMENTS: Final = "requirements.txt"


def with_wheels(template: Mapping[str, bytes], folder: Path) -> Mapping[str, bytes]:
    """The template with the wheels of this version that are in a folder. Requirements that have hashes get
    those of the wheels. Raises UsageError if one that every
    command needs is not there, and RepositoryError if one cannot be read.
    """
    names = {
        name: f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in _NEEDED + _FOR_EXTRAS
    }
    missing = [names[name] for name in _NEEDED if not (folder / names[name]).is_file()]
    if missing:
        raise UsageError(
            f"{folder} has no {missing[0]}: run `make wheel` in a checkout of gitops-dsf, and name its dist/"
        )
    try:
        found = {
            name: (folder / file).read_bytes() for name, file in names.items() if (folder / file).is_file()
        }
    except OSError as error:
        raise RepositoryError(f"cannot read {error.filename or folder}: {error.strerror or error}") from error
    wanted = template[_REQUIREMENTS].decode()
    if "--hash" in wanted:
        for name in _NEEDED:
            pin = f"{name}=={__version__}"
            hashed = f"{pin} \\\n    --hash=sha256:{sha256(found[name]).hexdigest()}\n"
            wanted = wanted.replace(f"{pin}\n", hashed, 1)
    return {
        **template,
        **{f"{FOLDER}/{names[name]}": content for name, content in found.items()},
        _REQUIREMENTS: f"--find-links {FOLDER}\n{wanted}".encode(),
    }
