"""The wheels of gitops-dsf in a new fleet repository, and their hashes in its requirements: what pipelines
install while no package index has them.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from gitops_dsf import __version__
from gitops_dsf.errors import RepositoryError, UsageError

FOLDER: Final = "wheels"
_NEEDED: Final = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
_FOR_EXTRAS: Final = ("gitops-dsf-runtime",)
_OFF: Final = f"# --find-links {FOLDER}\n"
_UNLOCKED: Final = re.compile(r"^# `sh ci/lock\.sh` writes it\..*\n", re.MULTILINE)


def with_wheels(template: Mapping[str, bytes], folder: Path) -> Mapping[str, bytes]:
    """The template with the wheels of this version that are in a folder. Raises UsageError if one that every
    command needs is not there, and RepositoryError if one cannot be read.
    """
    names = {
        name: f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in _NEEDED + _FOR_EXTRAS
    }
    missing = [names[name] for name in _NEEDED if not (folder / names[name]).is_file()]
    if missing:
        msg = (
            f"{folder} has no {missing[0]}: run `make wheel` in a checkout of gitops-dsf, and name its dist/"
        )
        raise UsageError(msg)
    try:
        found = {
            name: (folder / file).read_bytes() for name, file in names.items() if (folder / file).is_file()
        }
    except OSError as error:
        msg = f"cannot read {error.filename or folder}: {error.strerror or error}"
        raise RepositoryError(msg) from error
    locked = template["requirements.txt"].decode()
    for name in _NEEDED:
        pin = f"{name}=={__version__}\n"
        hashed = f"{pin[:-1]} \\\n    --hash=sha256:{sha256(found[name]).hexdigest()}\n"
        locked = locked.replace(f"\n{pin}", f"\n{hashed}", 1)
    locked = _UNLOCKED.sub(f"# `sh ci/lock.sh` writes it.\n--find-links {FOLDER}\n", locked, count=1)
    wanted = template["requirements.in"].decode().replace(_OFF, f"--find-links {FOLDER}\n")
    return {
        **template,
        **{f"{FOLDER}/{names[name]}": content for name, content in found.items()},
        "requirements.in": wanted.encode(),
        "requirements.txt": locked.encode(),
    }
