"""A family of programs: a folder with family.toml and perhaps Go files, and its folder in the cache.

Families share one Go module, `tests/hub/go.mod`: a library that several of them use has one version there,
and is compiled once. A family whose libraries do not fit has a go.mod of its own in its folder. `family.toml`
owns what go.mod cannot say: which package becomes which program, its linker flags, which folders of which
module are needed beside the programs, and from which version on a program that the user already has will do.
"""

import hashlib
import os
import platform
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUB = Path(__file__).resolve().parent.parent
MODULES = ("go.mod", "go.sum")
RULES = "family.toml"

Version = tuple[int, int, int]


class FamilyError(Exception):
    """A family's folder is missing or wrong; the message names the file and what to write."""


@dataclass(frozen=True, kw_only=True)
class ProgramRule:
    """How one program is built, and when the user's own is taken instead.

    `minimum` None means: never taken from PATH. `variable` names an environment variable that holds a
    directory whose programs win over everything else.
    """

    name: str
    package: str
    version_arguments: tuple[str, ...]
    minimum: Version | None
    variable: str | None


@dataclass(frozen=True, kw_only=True)
class DataRule:
    """A folder of a module in the build list, copied as `name` beside the programs."""

    name: str
    module: str
    folder: str


@dataclass(frozen=True, kw_only=True)
class PatchRule:
    """In `file` of `module`, `old` becomes `new`, for programs that offer no flag for something that the
    suite must have, such as an address to listen on, and for libraries whose interfaces changed.
    """

    module: str
    file: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Family:
    name: str
    folder: Path
    modules: Path
    """Folder of its go.mod."""
    ldflags: tuple[str, ...]
    tags: tuple[str, ...]
    programs: tuple[ProgramRule, ...]
    data: tuple[DataRule, ...]
    patches: tuple[PatchRule, ...]
    fingerprint: str

    def cache(self, environment: Mapping[str, str]) -> Path:
        """Where programs and data of exactly this folder content lie."""
        return cache_root(environment) / "hub" / f"{self.name}-{self.fingerprint}"


def cache_root(environment: Mapping[str, str]) -> Path:
    """`$GITOPS_DSF_CACHE`, else `gitops-dsf` below `$XDG_CACHE_HOME` or `~/.cache`."""
    if own := environment.get("GITOPS_DSF_CACHE"):
        return Path(own)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gitops-dsf"


def family_names() -> tuple[str, ...]:
    """The families that this checkout holds, sorted."""
    return tuple(sorted(path.parent.name for path in HUB.glob(f"*/{RULES}")))


def load_family(name: str) -> Family:
    """Read one family; FamilyError when there is none of that name or its files are wrong."""
    folder = HUB / name
    source = folder / RULES
    if not source.is_file():
        known = ", ".join(family_names())
        raise FamilyError(f"family {name!r}: tests/hub/{name}/{RULES} does not exist; families are: {known}")
    try:
        return _parsed(name, folder, tomllib.loads(source.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        reason = f"missing key {error}" if isinstance(error, KeyError) else str(error)
        raise FamilyError(f"tests/hub/{name}/family.toml: {reason}") from error


def parse_version(text: str) -> Version:
    """`1.34.2` or `v1.34.2-rc.1` as numbers; a missing part counts as 0."""
    numbers = text.lstrip("v").split("-")[0].split("+")[0].split(".")
    parts = [int(number) for number in numbers[:3]]
    return (*parts, *[0] * (3 - len(parts)))  # type: ignore[return-value]


def format_version(version: Version) -> str:
    return ".".join(str(part) for part in version)


def _parsed(name: str, folder: Path, tree: dict[str, Any]) -> Family:
    programs = tuple(
        ProgramRule(
            name=program,
            package=rule["package"],
            version_arguments=tuple(rule.get("version-arguments", ())),
            minimum=parse_version(rule["minimum"]) if "minimum" in rule else None,
            variable=rule.get("variable"),
        )
        for program, rule in tree.get("programs", {}).items()
    )
    data = tuple(
        DataRule(name=label, module=rule["module"], folder=rule["folder"])
        for label, rule in tree.get("data", {}).items()
    )
    return Family(
        name=name,
        folder=folder,
        modules=_modules(folder),
        ldflags=tuple(tree.get("ldflags", ())),
        tags=tuple(tree.get("tags", ())),
        programs=programs,
        data=data,
        patches=tuple(PatchRule(**rule) for rule in tree.get("patches", ())),
        fingerprint=_fingerprint(folder),
    )


def _modules(folder: Path) -> Path:
    return folder if (folder / MODULES[0]).is_file() else HUB


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}{os.linesep}".encode())
    for path in [
        *(_modules(folder) / file for file in MODULES),
        folder / RULES,
        *sorted(folder.rglob("*.go")),
    ]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(HUB)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
