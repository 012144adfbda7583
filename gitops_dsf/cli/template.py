"""The template of a fleet repository: its files, with the name and the URL of the new fleet.

The template is a valid fleet repository of its own. The folder `on-request` in it has a folder for
each forge and extra, whose files are added when they are asked for.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.cli.monorepo import FLEET_FOLDER
from gitops_dsf.errors import RepositoryError
from gitops_dsf.packagedata import packaged
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.model.repository import placeholder_url

TEMPLATE_NAME: Final = "example-fleet"
TEMPLATE_URL: Final = placeholder_url(TEMPLATE_NAME)
"""Name and URL in the template. Both are replaced everywhere."""
EXTRAS: Final = ("codeowners", "pre-commit", "examples")
_ON_REQUEST: Final = "on-request"
_EXAMPLE_SETTINGS: Final = re.compile(r"^  # (allowedTokenHosts: \[.*\])", re.MULTILINE)
"""The setting that the richer examples need, which is a comment in the template."""
_IMAGE_COMMENT: Final = re.compile(r"^( +)# (.*image: )REGISTRY/", re.MULTILINE)
_IN_FOLDER: Final = re.compile(rf"^.*{FLEET_FOLDER}.*\n", re.MULTILINE)
"""A line that is of use only in a folder of a git repository."""
_NOT_COPIED: Final = frozenset({"__pycache__", ".gitkeep", ".DS_Store", "rendered", _ON_REQUEST})


def repo_template() -> Path:
    """Returns the folder of the template. Raises RepositoryError if the installation lacks it."""
    return packaged("repo-template/gitops-dsf.yaml").parent


def template_files(
    *, name: str, git_url: str | None, wanted: Collection[str], is_below: bool
) -> Mapping[str, bytes]:
    """Returns the files of a new fleet by path. Raises RepositoryError.

    `wanted` names folders of on-request. `is_below`: the fleet is in a folder of a git repository.
    """
    source = repo_template()
    url = placeholder_url(name) if git_url is None else git_url
    files: dict[str, bytes] = {}
    # In this order a file of a requested folder replaces the one of the template: with hashes, for
    # example, requirements.txt.
    for folder in (source, *(source / _ON_REQUEST / folder for folder in sorted(wanted))):
        for path, text in _texts(folder).items():
            kept = text if is_below else _IN_FOLDER.sub("", text)
            files[path] = _renamed(kept, name=name, url=url).encode()
    if "examples" in wanted:
        settings = files[SETTINGS_FILE].decode()
        files[SETTINGS_FILE] = _EXAMPLE_SETTINGS.sub(r"  \1", settings).encode()
    return files


def with_registry(template: Mapping[str, bytes], registry: str) -> Mapping[str, bytes]:
    """Returns the template with the images of a registry, which are comments in it."""
    # They are comments because no public registry has the images (docs/start/install.md).
    settings = template[SETTINGS_FILE].decode()
    named = _IMAGE_COMMENT.sub(rf"\g<1>\g<2>{registry}/", settings)
    return {**template, SETTINGS_FILE: named.encode()}


def without_examples(template: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Returns the template with empty folders in place of the example objects."""
    files: dict[str, bytes] = {}
    for path, content in template.items():
        if path.partition("/")[0] not in FOLDERS:
            files[path] = content
    for folder in FOLDERS:
        # git keeps no empty folders.
        files[f"{folder}/.gitkeep"] = b""
    return files


def _texts(folder: Path) -> Mapping[str, str]:
    """The texts of a folder's files, by path. Raises RepositoryError."""
    texts = {}
    try:
        for file in sorted(folder.rglob("*")):
            path = file.relative_to(folder)
            if file.is_file() and not _NOT_COPIED.intersection(path.parts):
                texts[path.as_posix()] = file.read_text("utf-8")
    except OSError as error:
        raise RepositoryError(
            f"cannot read {error.filename or folder}: {error.strerror or error}"
        ) from error
    return texts


def _renamed(text: str, *, name: str, url: str) -> str:
    """The text with the name and the URL of the new fleet.

    The name is replaced only between URLs, because the new URL can contain the template's name.
    """
    between = (part.replace(TEMPLATE_NAME, name) for part in text.split(TEMPLATE_URL))
    return url.join(between)
