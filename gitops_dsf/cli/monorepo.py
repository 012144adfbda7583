"""A new fleet in a folder of a git repository: files that are read only at the repository's root.

Forges read pipelines and owners there, and pre-commit its hooks. So `init` writes them there, for
the folder alone, and changes no file that exists.
"""

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
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
# The verbs of the hooks run in the folder of the fleet. At the root they get it as an argument.
_HOOK: Final = re.compile(r"^( +entry: gitops-dsf (validate|test|render))", re.MULTILINE)
# Where a rule of CODEOWNERS begins: with a path from the root, or with `*` for every file.
_OWNED: Final = re.compile(r"^(/|\*(?= ))", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class FleetPlace:
    """The place of a new fleet in git."""

    top: Path
    """The root of the git repository, or the folder of the fleet where there is none."""
    folder: str
    """The folder of the fleet below `top`, with forward slashes; empty for `top` itself."""

    @property
    def is_below(self) -> bool:
        """Whether the fleet is in a folder of a larger repository."""
        return bool(self.folder)

    def check_nameable(self) -> None:
        """Raises UsageError if a pipeline cannot name the folder."""
        if self.folder and not _NAMEABLE.fullmatch(self.folder):
            raise UsageError(
                f"pipelines, owners and hooks cannot name the folder {self.folder!r} of {self.top}:"
                " use letters, digits, -, _ and . in the names of folders"
            )


@dataclass(frozen=True, kw_only=True)
class RootFiles:
    """The files at the root of the repository."""

    files: Mapping[str, bytes]
    """Files that are not there yet, by path."""
    additions: Mapping[str, str]
    """The text that people must add to files that are there already, by path."""


@dataclass(frozen=True, kw_only=True)
class SplitFiles:
    """The files of a new fleet by where they belong."""

    fleet: dict[str, bytes]
    """The files of the fleet's folder, by path in it."""
    root: RootFiles


def place_of(target: Path) -> FleetPlace:
    """Returns where a new fleet is in git. Raises UsageError inside of another fleet repository."""
    # A link may lead into another repository.
    real = target.resolve()
    top = top_of(real)
    for parent in real.parents:
        # Above the git repository there may be anything, such as a fleet in the home directory.
        is_around = top is None or parent.is_relative_to(top)
        if is_around and (parent / SETTINGS_FILE).is_file():
            raise UsageError(
                f"{target} would be inside the fleet repository {parent}, whose {SETTINGS_FILE}"
                " does not count for it: name a folder outside of that one"
            )
    if top is None or top == real or _is_ignored(real, top):
        return FleetPlace(top=real, folder="")
    return FleetPlace(top=top, folder=real.relative_to(top).as_posix())


def _is_ignored(folder: Path, top: Path) -> bool:
    """Whether git ignores a folder, which then belongs to no repository."""
    repository = Repository(directory=top)
    try:
        answer = repository.attempt("check-ignore", "--quiet", f"{folder}/")
    except RevisionError:  # there is no git
        return False
    return answer.returncode == 0


def split(files: Mapping[str, bytes], place: FleetPlace, *, name: str) -> SplitFiles:
    """Divides the files of a new fleet that is not at the root of its repository."""
    own: dict[str, bytes] = {}
    root: dict[str, str] = {}
    for path, content in files.items():
        if "/workflows/" in path:
            workflow = path.replace("gitops-dsf.yaml", f"gitops-dsf-{name}.yaml")
            root[workflow] = _workflow(content.decode(), path, place, name)
        elif path == HOOKS:
            root[path] = _HOOK.sub(rf"\1 {place.folder}", content.decode())
        elif path == OWNERS:
            root[path] = _owners(content.decode(), place, name)
        elif path == GITLAB:
            # GitLab reads one file at the root, which can include others. So the jobs stay with the
            # fleet, where a later version of them can be put without an edit at the root.
            own[path] = content.replace(FLEET_FOLDER.encode(), place.folder.encode())
            root[path] = f"include:\n  - local: {place.folder}/{GITLAB}\n"
        else:
            own[path] = content
    return SplitFiles(fleet=own, root=_placed(root, place))


def _workflow(text: str, path: str, place: FleetPlace, name: str) -> str:
    """A workflow of GitHub or Gitea, with a name of its own, for the folder of the fleet."""
    forge_folder = path.partition("/")[0]
    # Two fleets of a repository have a workflow each, and a forge lists them by name.
    text = text.replace("name: gitops-dsf\n", f"name: gitops-dsf {name}\n", 1)
    text = text.replace(".github/", f"{forge_folder}/")
    # The cache of dependencies is looked up from the root of the repository.
    text = text.replace("cache-dependency-path: ", f"cache-dependency-path: {place.folder}/")
    return text.replace(FLEET_FOLDER, place.folder)


def _owners(text: str, place: FleetPlace, name: str) -> str:
    """Owners of the folder's files, and of the workflow, which alone is outside the folder."""
    before, _, after = text.partition("/.github/")
    workflow = f"/.github/workflows/gitops-dsf-{name}.yaml"
    return _OWNED.sub(f"/{place.folder}/", before) + workflow + after


def _placed(root: Mapping[str, str], place: FleetPlace) -> RootFiles:
    """The files of the root that can be written, and what people must add to others."""
    files: dict[str, bytes] = {}
    additions: dict[str, str] = {}
    for path, text in root.items():
        present = _present(path, place)
        if present is None:
            files[path] = text.encode()
        else:
            additions[present] = text
    return RootFiles(files=files, additions=additions)


def _present(path: str, place: FleetPlace) -> str | None:
    """The path of a file that is there already, also a link to nothing; None if there is none."""
    for candidate in _OWNERS_ANYWHERE if path == OWNERS else (path,):
        # A write would follow a link to nothing, and make a file somewhere else.
        if os.path.lexists(place.top / candidate):
            return candidate
    return None


def ignored(place: FleetPlace, paths: Sequence[Path]) -> Mapping[str, Sequence[str]]:
    """Returns the files that git would leave out of a commit, by the rule that says so."""
    if not (place.top / ".git").exists():
        return {}
    # On standard input: hundreds of paths can be longer than a command line may be.
    words = "\0".join(map(str, paths)).encode()
    repository = Repository(directory=place.top)
    try:
        answer = repository.attempt("check-ignore", "-v", "-z", "--stdin", stdin=words)
    except RevisionError:
        return {}
    # With -v -z each file has four fields: source of the rule, line, pattern, path.
    fields = answer.stdout.decode(errors="replace").split("\0")[:-1]
    by_rule: dict[str, list[str]] = defaultdict(list)
    for start in range(0, len(fields), 4):
        source, line, pattern, file = fields[start : start + 4]
        name = Path(file).relative_to(place.top).as_posix()
        by_rule[f"{pattern} in {source}:{line}"].append(name)
    return by_rule


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
