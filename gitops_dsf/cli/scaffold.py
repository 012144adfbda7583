"""Creates a fleet repository from the template, with the requested options."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_dsf.canonicalyaml import scalar
from gitops_dsf.cli.giturl import check_url
from gitops_dsf.cli.monorepo import FleetPlace, RootFiles, place_of, split, write_all
from gitops_dsf.cli.template import template_files, with_registry, without_examples
from gitops_dsf.cli.wheels import with_wheels
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.repository.load.paths import SETTINGS_FILE
from gitops_dsf.repository.model.base import DNS_LABEL
from gitops_dsf.schema.editor import FILE as SCHEMA
from gitops_dsf.schema.editor import bundle

# The longest DNS label (RFC 1123), and the longest value of a Kubernetes label.
_MAX_NAME: Final = 63
# Names of images have lower case alone, and a scheme would become part of them.
_REGISTRY: Final = re.compile(
    r"[a-z0-9]+([.-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
)
_OF_A_NEW_REPOSITORY: Final = re.compile(
    r"(readme|licen[cs]e|copying)(\.\w+)?|\.gitignore", re.IGNORECASE
)
"""Files that forges write into the first commit of a repository, when they are asked to."""
_MAX_NAMED: Final = 3
"""Files of a folder that is not empty that a message names."""


@dataclass(frozen=True, kw_only=True)
class NewFleet:
    """A fleet that was created."""

    place: FleetPlace
    files: tuple[str, ...]
    """The written files of its folder, sorted."""
    root: RootFiles
    """The files at the root of the git repository around it."""
    kept: frozenset[str]
    """Files of its folder that were there already."""


def default_name(target: Path) -> str:
    """Returns a fleet name made of the folder's.

    It is in lower case, with `-` for invalid characters; `fleet` if nothing is left.
    """
    name = re.sub(r"[^a-z0-9]+", "-", target.resolve().name.lower()).strip("-")
    # A name that was cut may end with a hyphen.
    return name[:_MAX_NAME].strip("-") or "fleet"


def scaffold(
    *,
    target: Path,
    name: str,
    git_url: str | None = None,
    registry: str | None = None,
    wheels: Path | None = None,
    hashes: bool = False,
    forge: str | None = None,
    extras: Iterable[str] = (),
    examples: bool = True,
) -> NewFleet:
    """Creates a fleet repository, with or without the example scorer, clusters and application.

    `registry` is where the images are. `wheels` is a folder with our distributions, which are
    copied; with `hashes` requirements.txt names every package with its hashes. `forge` (github,
    gitlab or gitea) is whose pipeline is written, and `extras` (some of EXTRAS) what else is. In a
    folder of a git repository, what only counts at its root is written there.

    Raises UsageError for an invalid name, URL or registry, for wheels that are missing, inside of
    another fleet repository, and for a folder that is not empty (except for what forges write into
    new repositories), and RepositoryError if a file cannot be read or written.
    """
    extras = set(extras)
    # Everything is checked before anything is written, so that a mistake leaves no half of a fleet.
    _check_words(name=name, git_url=git_url, registry=registry)
    kept = _check_target(target)
    place = place_of(target)
    # The files of these name the folder of the fleet.
    if forge or {"codeowners", "pre-commit"} & extras:
        place.check_nameable()
    if hashes and wheels is None:
        raise UsageError(
            "--hashes needs --wheels: no package index has gitops-dsf, so its own hashes come from"
            " the wheels"
        )
    if "examples" in extras and not examples:
        raise UsageError("--with examples adds to what --empty leaves out: write one of the two")
    wanted = extras | _pipelines(forge, place) | ({"hashes"} if hashes else set())
    template = template_files(name=name, git_url=git_url, wanted=wanted, is_below=place.is_below)
    if forge == "gitea":
        moved = {}
        for path, content in template.items():
            moved[path.replace(".github/", ".gitea/")] = content
        template = moved
    if registry is not None:
        template = with_registry(template, registry)
    if wheels is not None:
        template = with_wheels(template, wheels)
    if not examples:
        template = without_examples(template)
    # A README or a licence that the forge has written stays.
    files = {path: content for path, content in template.items() if path not in kept}
    root = RootFiles(files={}, additions={})
    if place.is_below:
        files[SETTINGS_FILE] = _settings_in_folder(files[SETTINGS_FILE], name, place.folder)
        split_files = split(files, place, name=name)
        files = split_files.fleet
        root = split_files.root
    # Generated, so that the template need not be renewed with each change of a model.
    files[SCHEMA] = bundle().encode()
    write_all(target, files)
    write_all(place.top, root.files)
    return NewFleet(place=place, files=tuple(sorted(files)), root=root, kept=kept)


def _check_words(*, name: str, git_url: str | None, registry: str | None) -> None:
    if not re.fullmatch(DNS_LABEL, name) or len(name) > _MAX_NAME:
        raise UsageError(
            f"{name!r} cannot be the fleet's name: write at most 63 of a-z, 0-9 and -, beginning"
            " and ending with a letter or digit"
        )
    if git_url is not None:
        check_url(git_url)
    if registry is not None and not _REGISTRY.fullmatch(registry):
        raise UsageError(
            f"{registry!r} is not a registry: write its host and the folder of the images, without"
            " a scheme, such as registry.example.com/platform"
        )


def _pipelines(forge: str | None, place: FleetPlace) -> set[str]:
    """The folders of the template with the pipeline of a forge."""
    match forge:
        case None:
            return set()
        case "gitea":
            # Gitea and Forgejo run the workflow of GitHub, in a folder of their own.
            return {"github"}
        case "gitlab" if place.is_below:
            return {"gitlab-folder"}
        case _:
            return {forge}


def _settings_in_folder(settings: bytes, name: str, folder: str) -> bytes:
    """The settings of a fleet in a folder.

    Another fleet of the repository has a snapshot of its own.
    """
    text = settings.decode()
    text = text.replace(
        "    targetRevision: main\n", f"    targetRevision: main\n    path: {scalar(folder)}\n", 1
    )
    text = text.replace(
        "state: {enabled: true}  ", f"state: {{enabled: true, branch: gitops-dsf-state-{name}}}"
    )
    return text.encode()


def _check_target(target: Path) -> frozenset[str]:
    """The files of the folder that stay as they are. Raises UsageError and RepositoryError."""
    if target.is_symlink() and not target.exists():
        raise UsageError(f"{target} is a link to nothing: remove it or name another folder")
    if not target.exists():
        return frozenset()
    if not target.is_dir():
        raise UsageError(f"{target} is a file: name a new or empty folder")
    try:
        # A fresh clone has nothing else.
        names = {file.name for file in target.iterdir() if file.name != ".git"}
    except OSError as error:
        raise RepositoryError(f"cannot read {target}: {error.strerror or error}") from error
    unexpected = sorted(name for name in names if not _OF_A_NEW_REPOSITORY.fullmatch(name))
    if unexpected:
        first = ", ".join(unexpected[:_MAX_NAMED])
        hidden = len(unexpected) - _MAX_NAMED
        more = f" and {hidden} more" if hidden > 0 else ""
        raise UsageError(
            f"{target} is not empty (it holds {first}{more}): name a new or empty folder; nothing"
            " was written"
        )
    return frozenset(names)
