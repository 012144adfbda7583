"""A family of programs.

A folder with family.toml and perhaps Go files, and its folder in the cache.

Families share one Go module, `tests/hub/go.mod`: a library that several of them use has one version
there, and is compiled once. A family whose libraries do not fit has a go.mod of its own in its
folder. `family.toml` owns what go.mod cannot say: which package becomes which program, its linker
flags, and which folders of which module are needed beside the programs.
"""

import hashlib
import os
import platform
from pathlib import Path

import msgspec

HUB = Path(__file__).resolve().parent.parent
MODULES = ("go.mod", "go.sum")
RULES = "family.toml"


class FamilyError(Exception):
    """A family's folder is missing or wrong; the message names the file and what to write."""


class _Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of family.toml."""


class ProgramRule(_Rule, frozen=True, kw_only=True):
    """How one program is built."""

    package: str


class DataRule(_Rule, frozen=True, kw_only=True):
    """A folder of a module in the build list, which is copied beside the programs."""

    module: str
    folder: str


class PatchRule(_Rule, frozen=True, kw_only=True):
    """In `file` of `module`, `old` becomes `new`, for programs that offer no flag for something
    that the suite must have, such as an address to listen on, and for libraries whose interfaces
    changed.
    """

    module: str
    file: str
    old: str
    new: str


class Rules(_Rule, frozen=True, kw_only=True):
    ldflags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    programs: dict[str, ProgramRule] = {}
    data: dict[str, DataRule] = {}
    patches: tuple[PatchRule, ...] = ()


def family_names() -> tuple[str, ...]:
    """The families that this checkout holds, sorted."""
    return tuple(sorted(path.parent.name for path in HUB.glob(f"*/{RULES}")))


def load_rules(name: str) -> Rules:
    """Reads one family; FamilyError when there is none of that name or its file is wrong."""
    if name not in family_names():
        raise FamilyError(f"there is no family {name!r}; families are: {', '.join(family_names())}")
    try:
        return msgspec.toml.decode((HUB / name / RULES).read_bytes(), type=Rules)
    except msgspec.DecodeError as error:
        raise FamilyError(f"tests/hub/{name}/{RULES}: {error}") from error


def modules(name: str) -> Path:
    """The folder of the family's go.mod."""
    return HUB / name if (HUB / name / MODULES[0]).is_file() else HUB


def cache(name: str) -> Path:
    """Where programs and data of exactly this content of the folder lie: below `$GITOPS_DSF_CACHE`,
    else `gitops-dsf` in `$XDG_CACHE_HOME` or `~/.cache`.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(os.environ.get("GITOPS_DSF_CACHE") or user / "gitops-dsf")
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}{os.linesep}".encode())
    folder = HUB / name
    for path in [
        *(modules(name) / file for file in MODULES),
        folder / RULES,
        *sorted(folder.rglob("*.go")),
    ]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(HUB)} {len(content)}\n".encode())
        digest.update(content)
    return root / "hub" / f"{name}-{digest.hexdigest()[:16]}"
