"""The wheels of gitops-dsf in a new fleet repository, and their hashes in its requirements.

Pipelines install them from there as long as no package index has them.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from gitops_dsf import __version__
from gitops_dsf.errors import RepositoryError, UsageError

FOLDER: Final = "wheels"
"""The folder of the wheels in the repository."""
_HASHED: Final = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
"""Distributions that requirements.txt names."""
_NEEDED: Final = (*_HASHED, "gitops-dsf-runtime")
"""Distributions that pipelines install; the runtime library comes with the extra live."""
_REQUIREMENTS: Final = "requirements.txt"


def with_wheels(template: Mapping[str, bytes], folder: Path) -> Mapping[str, bytes]:
    """Returns the template with our wheels, and their hashes if the requirements have hashes.

    Raises UsageError if a wheel is not in the folder, and RepositoryError if one cannot be read.
    """
    file_names = {}
    for name in _NEEDED:
        # The names of wheels have underscores (binary distribution format), and ours are pure.
        file_name = f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl"
        file_names[name] = file_name
        # A wheel of another version would not fit the template, which is of this one.
        if not (folder / file_name).is_file():
            raise UsageError(
                f"{folder} has no {file_name}: run `make wheel` in a checkout of gitops-dsf, and"
                " name its dist/"
            )
    try:
        wheels = {name: (folder / file).read_bytes() for name, file in file_names.items()}
    except OSError as error:
        raise RepositoryError(
            f"cannot read {error.filename or folder}: {error.strerror or error}"
        ) from error
    # With hashes for some packages, pip wants them for all.
    requirements = template[_REQUIREMENTS].decode()
    if "--hash" in requirements:
        for name in _HASHED:
            file = f"./{FOLDER}/{file_names[name]}"
            digest = sha256(wheels[name]).hexdigest()
            requirements = requirements.replace(
                f"{file}\n", f"{file} \\\n    --hash=sha256:{digest}\n", 1
            )
    files = {f"{FOLDER}/{file_names[name]}": content for name, content in wheels.items()}
    return {**template, **files, _REQUIREMENTS: requirements.encode()}
