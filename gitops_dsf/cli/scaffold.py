"""Creates a fleet repository: the template with its name and git URL replaced, and the schemas
for editors.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from gitops_dsf.canonicalyaml import scalar
from gitops_dsf.cli.schematree import schema_tree
from gitops_dsf.cli.wheels import with_wheels
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.hub.urls import browsed_branch, misleads_git
from gitops_dsf.packagedata import packaged
from gitops_dsf.repository.load.names import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.model.base import DNS_LABEL
from gitops_dsf.repository.model.repository import CLONABLE, placeholder_url

TEMPLATE_NAME: Final = "example-fleet"
TEMPLATE_URL: Final = placeholder_url(TEMPLATE_NAME)
"""Name and URL in the template. `init` replaces both everywhere."""

SCHEMAS: Final = ".schemas"
"""Folder of a fleet repository with the schemas for editors. `gitops-dsf schema` refreshes it."""

_EXAMPLE_SETTINGS: Final = re.compile(r"^  allowedTokenHosts:.*\n(    - .*\n)+", re.MULTILINE)
"""The settings in the template that only its example scorers need."""

_REGISTRY: Final = re.compile(r"[a-z0-9]+([.-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_NO_IMAGES: Final = re.compile(r"^  # The images are in no registry .*\n", re.MULTILINE)
_IMAGE_COMMENT: Final = re.compile(r"^( +)# (.*image: )REGISTRY/", re.MULTILINE)

_NOT_COPIED = frozenset({"__pycache__", ".gitkeep", ".DS_Store", "rendered"})
_IGNORED_IN_TARGET = frozenset({".git"})


def default_name(target: Path) -> str:
    """Makes a fleet name from the folder's: lower case, with `-` for invalid characters; `fleet` if nothing
    is left.
    """
    name = re.sub(r"[^a-z0-9]+", "-", target.resolve().name.lower()).strip("-")[:63].strip("-")
    return name or "fleet"


def scaffold(
    *,
    target: Path,
    name: str,
    git_url: str | None = None,
    registry: str | None = None,
    wheels: Path | None = None,
    examples: bool = True,
) -> list[str]:
    """Creates a fleet repository, with or without the example scorers, clusters and applications. `registry`
    is where the images are. `wheels` is a folder with our distributions, which are copied. Returns the paths
    of the written files, relative to target, sorted.

    Raises UsageError for an invalid name, URL or registry, for wheels that are missing, and for a folder that
    is not empty (`.git` is ignored), and RepositoryError when a file cannot be read or written.
    """
    _check_name(name)
    if git_url is not None:
        check_url(git_url)
    if registry is not None:
        _check_registry(registry)
    _check_target(target)
    template = _template(name=name, git_url=git_url)
    if registry is not None:
        template = _with_images(template, registry)
    if wheels is not None:
        template = with_wheels(template, wheels)
    files = {**(template if examples else _without_examples(template)), **_schemas()}
    try:
        for path, content in files.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as error:
        msg = f"cannot write {error.filename or target}: {error.strerror or error}"
        raise RepositoryError(msg) from error
    return sorted(files)


def repo_template() -> Path:
    """Returns the folder that `init` copies. Raises RepositoryError when the installation lacks it."""
    return packaged("repo-template/gitops-dsf.yaml").parent


def _template(*, name: str, git_url: str | None) -> Mapping[str, bytes]:
    source = repo_template()
    url = git_url if git_url is not None else placeholder_url(name)
    result: dict[str, bytes] = {}
    try:
        for file in sorted(source.rglob("*")):
            path = file.relative_to(source)
            if file.is_file() and not _NOT_COPIED.intersection(path.parts):
                parts = file.read_text("utf-8").split(TEMPLATE_URL)
                # Replace the name only between URLs, because the new URL can contain the template's name.
                result[path.as_posix()] = url.join(
                    part.replace(TEMPLATE_NAME, name) for part in parts
                ).encode()
    except OSError as error:
        msg = f"cannot read {error.filename or source}: {error.strerror or error}"
        raise RepositoryError(msg) from error
    return result


def _without_examples(template: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The template with empty source folders, and without the settings that belong to their files."""
    kept = {path: content for path, content in template.items() if path.partition("/")[0] not in FOLDERS}
    settings = kept[SETTINGS_FILE].decode()
    folders = {f"{folder}/.gitkeep": b"" for folder in FOLDERS}
    return {**kept, **folders, SETTINGS_FILE: _EXAMPLE_SETTINGS.sub("", settings).encode()}


def _with_images(template: Mapping[str, bytes], registry: str) -> Mapping[str, bytes]:
    """The template with the images, which are comments in it."""
    settings = template[SETTINGS_FILE].decode()
    named = _IMAGE_COMMENT.sub(lambda found: f"{found[1]}{found[2]}{registry}/", _NO_IMAGES.sub("", settings))
    return {**template, SETTINGS_FILE: named.encode()}


def _schemas() -> Mapping[str, bytes]:
    """The files that `gitops-dsf schema` would write, so that its first run after an upgrade shows what the
    upgrade changed.
    """
    return {f"{SCHEMAS}/{path}": text.encode() for path, text in schema_tree().items()}


def _check_name(name: str) -> None:
    if not re.fullmatch(DNS_LABEL, name) or len(name) > 63:
        msg = (
            f"{name!r} cannot be the fleet's name: write at most 63 of a-z, 0-9 and -, beginning and ending"
            " with a letter or digit"
        )
        raise UsageError(msg)


def check_url(url: str) -> None:
    """Raises UsageError for a URL that Argo CD cannot clone, or that holds credentials."""
    if not CLONABLE.fullmatch(url) or misleads_git(url) or browsed_branch(url)[0] or url != scalar(url):
        msg = (
            f"{url!r} is not a git URL: write it as Argo CD clones it, such as {TEMPLATE_URL} or"
            " git@git.example.com:team/fleet.git"
        )
        raise UsageError(msg)
    try:
        parts = urlsplit(url)
        secret = parts.password is not None or (
            parts.scheme in {"http", "https"} and parts.username is not None
        )
    except ValueError as error:
        msg = f"{url!r} is not a git URL: {error}"
        raise UsageError(msg) from error
    if secret:
        msg = (
            "the git URL holds credentials, and it would be committed: leave them out and give them to Argo"
            " CD as a repository Secret"
        )
        raise UsageError(msg)


def _check_registry(registry: str) -> None:
    if not _REGISTRY.fullmatch(registry):
        msg = (
            f"{registry!r} is not a registry: write its host and the folder of the images, without a scheme,"
            " such as registry.example.com/platform"
        )
        raise UsageError(msg)


def _check_target(target: Path) -> None:
    if target.is_symlink() and not target.exists():
        msg = f"{target} is a link to nothing: remove it or name another folder"
        raise UsageError(msg)
    if not target.exists():
        return
    if not target.is_dir():
        msg = f"{target} is a file: name a new or empty folder"
        raise UsageError(msg)
    try:
        found = sorted(item.name for item in target.iterdir() if item.name not in _IGNORED_IN_TARGET)
    except OSError as error:
        msg = f"cannot read {target}: {error.strerror or error}"
        raise RepositoryError(msg) from error
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        msg = (
            f"{target} is not empty (it holds {', '.join(found[:3])}{more}): name a new or empty folder;"
            " nothing was written"
        )
        raise UsageError(msg)
