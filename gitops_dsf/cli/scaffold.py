"""gitops-dsf init: creates a fleet repository from the template, with what was asked for and a schema."""

import argparse
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dsf_wire.text import printable_lines
from gitops_dsf import __version__
from gitops_dsf.canonicalyaml import scalar
from gitops_dsf.cli.monorepo import (
    FLEET_FOLDER,
    Place,
    RootFiles,
    additions_text,
    ignored,
    place_of,
    split,
    write_all,
)
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.hub.urls import browsed_branch, git_fault, holds_credentials
from gitops_dsf.packagedata import packaged
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.model.base import DNS_LABEL
from gitops_dsf.repository.model.repository import placeholder_url
from gitops_dsf.schema.editor import FILE as SCHEMA
from gitops_dsf.schema.editor import bundle

TEMPLATE_NAME: Final = "example-fleet"
TEMPLATE_URL: Final = placeholder_url(TEMPLATE_NAME)
"""Name and URL in the template. `init` replaces both everywhere."""

FORGES: Final = {
    "github": "github",
    "gitlab": "gitlab",
    "gitea": "gitea",
    "forgejo": "gitea",
    "codeberg.org": "gitea",
}
"""What is in the name of a host, and the forge that it tells."""
EXTRAS: Final = ("codeowners", "pre-commit", "examples")
_ON_REQUEST: Final = "on-request"
"""The folder of the template that has a folder for each forge and extra."""

_EXAMPLE_SETTINGS: Final = re.compile(r"^  # (allowedTokenHosts: \[.*\])", re.MULTILINE)
"""The setting that the richer examples need, which is a comment in the template."""

_REGISTRY: Final = re.compile(
    r"[a-z0-9]+([.-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
)
_IMAGE_COMMENT: Final = re.compile(r"^( +)# (.*image: )REGISTRY/", re.MULTILINE)

_OF_A_NEW_REPOSITORY: Final = re.compile(
    r"(readme|licen[cs]e|copying)(\.\w+)?|\.gitignore", re.IGNORECASE
)
"""What forges write into the first commit of a repository, when they are asked to."""

_NOT_COPIED = frozenset({"__pycache__", ".gitkeep", ".DS_Store", "rendered", _ON_REQUEST})


def default_name(target: Path) -> str:
    """A fleet name made of the folder's: lower case, `-` for invalid characters, or `fleet`."""
    name = re.sub(r"[^a-z0-9]+", "-", target.resolve().name.lower()).strip("-")[:63].strip("-")
    return name or "fleet"


@dataclass(frozen=True, kw_only=True)
class Made:
    """A new fleet."""

    place: Place
    files: tuple[str, ...]
    """The written files of its folder, sorted."""
    root: RootFiles
    """What belongs to the root of the git repository around it."""
    kept: frozenset[str]
    """Files of its folder that were there already."""


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
) -> Made:
    """Creates a fleet repository, with or without the example scorer, clusters and application.

    `registry` is where the images are. `wheels` is a folder with our distributions, which are
    copied; with `hashes` requirements.txt names every package with its hashes. `forge` (github,
    gitlab or gitea) is whose pipeline is written, and `extras` (some of EXTRAS) what else is. In a
    folder of a git repository, what only counts at its root is written there.

    Raises UsageError for an invalid name, URL or registry, for wheels that are missing, inside of
    another fleet repository, and for a folder that is not empty (except for what forges write into
    new repositories), and RepositoryError when a file cannot be read or written.
    """
    extras = set(extras)
    if not re.fullmatch(DNS_LABEL, name) or len(name) > 63:
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
    kept = _check_target(target)
    place = place_of(target)
    if forge or {"codeowners", "pre-commit"} & extras:
        place.check_nameable()
    if hashes and wheels is None:
        raise UsageError(
            "--hashes needs --wheels: no package index has gitops-dsf, so its own hashes come from"
            " the wheels"
        )
    if "examples" in extras and not examples:
        raise UsageError("--with examples adds to what --empty leaves out: write one of the two")
    # Gitea and Forgejo run the workflow of GitHub, in a folder of their own.
    pipeline = "github" if forge == "gitea" else forge
    if pipeline == "gitlab" and place.is_below:
        pipeline = "gitlab-folder"
    wanted = extras | ({pipeline} if pipeline else set()) | ({"hashes"} if hashes else set())
    template = _template(name=name, git_url=git_url, wanted=wanted, is_below=place.is_below)
    if forge == "gitea":
        template = {
            path.replace(".github/", ".gitea/"): content for path, content in template.items()
        }
    if registry is not None:
        # Images are comments in the template.
        named = _IMAGE_COMMENT.sub(rf"\g<1>\g<2>{registry}/", template[SETTINGS_FILE].decode())
        template = {**template, SETTINGS_FILE: named.encode()}
    if wheels is not None:
        template = with_wheels(template, wheels)
    if not examples:
        template = {
            **{
                path: text
                for path, text in template.items()
                if path.partition("/")[0] not in FOLDERS
            },
            **{f"{folder}/.gitkeep": b"" for folder in FOLDERS},
        }
    files = {path: content for path, content in template.items() if path not in kept}
    root = RootFiles(files={}, additions={})
    if place.is_below:
        files[SETTINGS_FILE] = _in_folder(
            files[SETTINGS_FILE].decode(), name, place.folder
        ).encode()
        files, root = split(files, place, name=name)
    files[SCHEMA] = bundle().encode()
    write_all(target, files)
    write_all(place.top, root.files)
    return Made(place=place, files=tuple(sorted(files)), root=root, kept=kept)


def _in_folder(settings: str, name: str, folder: str) -> str:
    """The settings of a fleet in a folder.

    Another fleet of the repository has a snapshot of its own.
    """
    settings = settings.replace(
        "    targetRevision: main\n", f"    targetRevision: main\n    path: {scalar(folder)}\n", 1
    )
    return settings.replace(
        "state: {enabled: true}  ", f"state: {{enabled: true, branch: gitops-dsf-state-{name}}}"
    )


def repo_template() -> Path:
    """Returns the folder that `init` copies.

    Raises RepositoryError when the installation lacks it.
    """
    return packaged("repo-template/gitops-dsf.yaml").parent


def forge_of(url: str) -> str | None:
    """The forge that serves a git URL, as far as its host says it."""
    host = re.sub(r"^[a-z+]+://|[^/@]*@", "", url).partition("/")[0]
    return next((forge for part, forge in FORGES.items() if part in host), None)


_IN_FOLDER: Final = re.compile(rf"^.*{FLEET_FOLDER}.*\n", re.MULTILINE)


def _template(
    *, name: str, git_url: str | None, wanted: Collection[str], is_below: bool
) -> Mapping[str, bytes]:
    source = repo_template()
    folders = [source, *(source / _ON_REQUEST / folder for folder in sorted(wanted))]
    url = git_url if git_url is not None else placeholder_url(name)
    result: dict[str, bytes] = {}
    try:
        for folder in folders:
            for file in sorted(folder.rglob("*")):
                path = file.relative_to(folder)
                if file.is_file() and not _NOT_COPIED.intersection(path.parts):
                    text = file.read_text("utf-8")
                    parts = (text if is_below else _IN_FOLDER.sub("", text)).split(TEMPLATE_URL)
                    # Replace the name only between URLs, because the new URL can contain the
                    # template's name.
                    result[path.as_posix()] = url.join(
                        part.replace(TEMPLATE_NAME, name) for part in parts
                    ).encode()
    except OSError as error:
        raise RepositoryError(
            f"cannot read {error.filename or source}: {error.strerror or error}"
        ) from error
    if "examples" in wanted:
        settings = result[SETTINGS_FILE].decode()
        result[SETTINGS_FILE] = _EXAMPLE_SETTINGS.sub(r"  \1", settings).encode()
    return result


def check_url(url: str) -> None:
    """Raises UsageError for a URL that Argo CD cannot clone, or that holds credentials."""
    if git_fault(url) or browsed_branch(url)[0] or url != scalar(url):
        raise UsageError(
            f"{url!r} is not a git URL: write it as Argo CD clones it, such as {TEMPLATE_URL} or"
            " git@git.example.com:team/fleet.git"
        )
    try:
        urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url!r} is not a git URL: {error}") from error
    if holds_credentials(url):
        raise UsageError(
            "the git URL holds credentials, and it would be committed: leave them out and give them"
            " to Argo CD as a repository Secret"
        )


def _check_target(target: Path) -> frozenset[str]:
    """The files of the folder that stay as they are. Raises UsageError and RepositoryError."""
    if target.is_symlink() and not target.exists():
        raise UsageError(f"{target} is a link to nothing: remove it or name another folder")
    if not target.exists():
        return frozenset()
    if not target.is_dir():
        raise UsageError(f"{target} is a file: name a new or empty folder")
    try:
        names = {item.name for item in target.iterdir() if item.name != ".git"}
    except OSError as error:
        raise RepositoryError(f"cannot read {target}: {error.strerror or error}") from error
    found = sorted(name for name in names if not _OF_A_NEW_REPOSITORY.fullmatch(name))
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise UsageError(
            f"{target} is not empty (it holds {', '.join(found[:3])}{more}): name a new or empty"
            " folder; nothing was written"
        )
    return frozenset(names)


FOLDER: Final = "wheels"
_HASHED: Final = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
_NEEDED: Final = (*_HASHED, "gitops-dsf-runtime")
_REQUIREMENTS: Final = "requirements.txt"


def with_wheels(template: Mapping[str, bytes], folder: Path) -> Mapping[str, bytes]:
    """The template with our wheels of a folder, and their hashes in requirements that have some.

    Raises UsageError if one is not there, and RepositoryError.
    """
    names = {name: f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in _NEEDED}
    missing = [names[name] for name in _NEEDED if not (folder / names[name]).is_file()]
    if missing:
        raise UsageError(
            f"{folder} has no {missing[0]}: run `make wheel` in a checkout of gitops-dsf, and name"
            " its dist/"
        )
    try:
        found = {name: (folder / file).read_bytes() for name, file in names.items()}
    except OSError as error:
        raise RepositoryError(
            f"cannot read {error.filename or folder}: {error.strerror or error}"
        ) from error
    wanted = template[_REQUIREMENTS].decode()
    if "--hash" in wanted:
        for name in _HASHED:
            file = f"./{FOLDER}/{names[name]}"
            hashed = f"{file} \\\n    --hash=sha256:{sha256(found[name]).hexdigest()}\n"
            wanted = wanted.replace(f"{file}\n", hashed, 1)
    return {
        **template,
        **{f"{FOLDER}/{names[name]}": content for name, content in found.items()},
        _REQUIREMENTS: wanted.encode(),
    }


def run(arguments: argparse.Namespace) -> int:
    """Writes the repository and prints the next steps. Raises what `scaffold` does."""
    target: Path = arguments.dir
    name = arguments.name if arguments.name is not None else default_name(target)
    forge = arguments.forge or forge_of(arguments.git_url or "")
    new = scaffold(
        target=target,
        name=name,
        git_url=arguments.git_url,
        registry=arguments.registry,
        wheels=arguments.wheels,
        hashes=arguments.hashes,
        forge=forge,
        extras=arguments.extras,
        examples=not arguments.empty,
    )
    steps = ["gitops-dsf validate", "gitops-dsf test", "gitops-dsf render"]
    if arguments.empty:
        steps = ["gitops-dsf import --context HUB", "gitops-dsf validate", "gitops-dsf render"]
    if target.resolve() != Path.cwd():
        steps.insert(0, f"cd {shlex.quote(str(target))}")
    made = f"Fleet {name} in {target} ({len(new.files)} files). Next:"
    lines = [made, "", *(f"  {step}" for step in steps), "", *_places(new, target)]
    if arguments.git_url is None:
        lines.append(
            "Set spec.git.url in gitops-dsf.yaml to the repository that Argo CD will clone, and"
            " render again."
        )
    if arguments.registry is None:
        lines.append(
            "Push the images to a registry of yours and name them in gitops-dsf.yaml: no public"
            " registry has them."
        )
    if arguments.wheels is None:
        lines.append(
            "Pipelines cannot install gitops-dsf yet, because no package index has it: `make wheel`"
            " in its checkout makes what `gitops-dsf init --wheels CHECKOUT/dist` puts into the"
            " repository."
        )
    if forge is None:
        lines.append(
            "There is no pipeline: name the forge with --forge, or run `gitops-dsf ci` in your own."
        )
    if "README.md" in new.files:
        lines.append("README.md says what each folder is for.")
    sys.stdout.write(printable_lines(lines))
    return 0


def _places(new: Made, target: Path) -> list[str]:
    """Lines about the git repository around the fleet, and about files that were there before."""
    lines = []
    if new.place.is_below:
        lines.append(
            f"It is the folder {new.place.folder} of the git repository {new.place.top}, which"
            " spec.git.path says. For a repository of its own, run `git init` in an empty folder"
            " first."
        )
    if new.root.files:
        lines.append(f"At the root of that repository are: {', '.join(sorted(new.root.files))}.")
    lines += additions_text(new.root.additions)
    if new.kept:
        lines.append(f"Left as they were: {', '.join(sorted(new.kept))}.")
    written = [target.resolve() / path for path in new.files]
    lines += ignored(new.place, [*written, *(new.place.top / path for path in new.root.files)])
    return lines
