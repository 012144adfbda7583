"""A new fleet in a folder of a git repository: what is read only at the root of the repository.

Forges read pipelines and owners there, and pre-commit its hooks. So `init` writes them there, for
the folder alone, and changes no file that exists.
"""

import os
import re
import textwrap
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.repository.git import Repository, RevisionError, top_of
from gitops_dsf.repository.load.paths import SETTINGS_FILE

FLEET_FOLDER: Final = "FOLDER"
"""Stands in the template for the folder of the fleet. Lines with it are left out where there is
none.
"""
GITLAB: Final = ".gitlab-ci.yml"
HOOKS: Final = ".pre-commit-config.yaml"
OWNERS: Final = "CODEOWNERS"
_OWNERS_ANYWHERE: Final = tuple(
    f"{folder}{OWNERS}" for folder in ("", ".github/", ".gitlab/", ".gitea/", ".forgejo/", "docs/")
)
"""A forge reads the first one that is there."""
_NAMEABLE: Final = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
"""Folders that patterns of pipelines and owners can name without quotes."""
_HOOK: Final = re.compile(r"^( +entry: gitops-dsf (validate|test|render))", re.MULTILINE)
_OWNED: Final = re.compile(r"^(/|\*(?= ))", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a new fleet is in git."""

    top: Path
    """The root of the git repository, or the folder of the fleet where there is none."""
    folder: str
    """The folder of the fleet below `top`, with forward slashes; empty for `top` itself."""

    @property
    def is_below(self) -> bool:
        return bool(self.folder)

    def check_nameable(self) -> None:
        """Raises UsageError if a pipeline cannot name the folder."""
        if self.folder and not _NAMEABLE.fullmatch(self.folder):
            raise UsageError(
                f"pipelines, owners and hooks cannot name the folder {self.folder!r} of {self.top}:"
                " use letters, digits, -, _ and . in the names of folders"
            )


def place_of(target: Path) -> Place:
    """Where a new fleet is in git. Raises UsageError inside of another fleet repository."""
    real = target.resolve()
    top = top_of(real)
    around = (
        real.parents if top is None else [each for each in real.parents if each.is_relative_to(top)]
    )
    other = next((each for each in around if (each / SETTINGS_FILE).is_file()), None)
    if other is not None:
        raise UsageError(
            f"{target} would be inside of the fleet repository {other}, whose {SETTINGS_FILE} does"
            " not count for it: name a folder outside of that one"
        )
    if top is None or top == real or _is_ignored(real, top):
        return Place(top=real, folder="")
    return Place(top=top, folder=real.relative_to(top).as_posix())


def _is_ignored(folder: Path, top: Path) -> bool:
    """Whether git ignores a folder, which then belongs to no repository."""
    try:
        return (
            Repository(directory=top).attempt("check-ignore", "--quiet", f"{folder}/").returncode
            == 0
        )
    except RevisionError:  # there is no git
        return False


@dataclass(frozen=True, kw_only=True)
class RootFiles:
    """What belongs to the root of the repository."""

    files: Mapping[str, bytes]
    """Files that are not there yet, by path."""
    additions: Mapping[str, str]
    """What people must add to files that are there already, by path."""


def split(
    files: Mapping[str, bytes], place: Place, *, name: str
) -> tuple[dict[str, bytes], RootFiles]:
    """The files of the fleet's folder, and those of the root of the repository."""
    own: dict[str, bytes] = {}
    root: dict[str, str] = {}
    for path, content in files.items():
        text = content.decode() if path in {HOOKS, OWNERS} or "/workflows/" in path else ""
        if "/workflows/" in path:
            workflow = path.replace("gitops-dsf.yaml", f"gitops-dsf-{name}.yaml")
            text = text.replace("name: gitops-dsf\n", f"name: gitops-dsf {name}\n", 1)
            text = text.replace(".github/", f"{path.partition('/')[0]}/")
            root[workflow] = text.replace(
                "cache-dependency-path: ", f"cache-dependency-path: {place.folder}/"
            ).replace(FLEET_FOLDER, place.folder)
        elif path == HOOKS:
            root[path] = _HOOK.sub(rf"\1 {place.folder}", text)
        elif path == OWNERS:
            workflows = "/.github/", f"/.github/workflows/gitops-dsf-{name}.yaml"
            kept = text.partition(workflows[0])
            root[path] = _OWNED.sub(f"/{place.folder}/", kept[0]) + workflows[1] + kept[2]
        elif path == GITLAB:
            own[path] = content.replace(FLEET_FOLDER.encode(), place.folder.encode())
            root[path] = f"include:\n  - local: {place.folder}/{GITLAB}\n"
        else:
            own[path] = content
    return own, _placed(root, place)


def _placed(root: Mapping[str, str], place: Place) -> RootFiles:
    files: dict[str, bytes] = {}
    additions: dict[str, str] = {}
    for path, text in root.items():
        known = _OWNERS_ANYWHERE if path == OWNERS else (path,)
        there = next((each for each in known if os.path.lexists(place.top / each)), None)
        if there is None:
            files[path] = text.encode()
        else:
            additions[there] = text
    return RootFiles(files=files, additions=additions)


def additions_text(additions: Mapping[str, str]) -> list[str]:
    """Lines for people."""
    lines = []
    for path, text in additions.items():
        lines += [
            f"{path} of the git repository is there already and was left alone. Add to it:",
            "",
        ]
        lines += [*textwrap.indent(text.rstrip("\n"), "    ").split("\n"), ""]
    return lines


def ignored(place: Place, paths: list[Path]) -> list[str]:
    """Lines about files that git would leave out of a commit."""
    if not (place.top / ".git").exists():
        return []
    words = "\0".join(map(str, paths)).encode()
    try:
        done = Repository(directory=place.top).attempt(
            "check-ignore", "-v", "-z", "--stdin", stdin=words
        )
    except RevisionError:
        return []
    fields = done.stdout.decode(errors="replace").split("\0")[:-1]
    by_rule: dict[str, list[str]] = defaultdict(list)
    for source, line, pattern, file in zip(
        *(fields[number::4] for number in range(4)), strict=True
    ):
        by_rule[f"{pattern} in {source}:{line}"].append(
            Path(file).relative_to(place.top).as_posix()
        )
    return [
        f"git ignores {', '.join(files)} because of {rule}: remove the rule, or run `git add"
        " --force`"
        for rule, files in by_rule.items()
    ]


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Raises RepositoryError when a file cannot be written."""
    try:
        for path, content in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as error:
        raise RepositoryError(
            f"cannot write {error.filename or folder}: {error.strerror or error}"
        ) from error
