"""gitops-dsf init: creates a fleet repository from the template, with what was asked for and a schema."""

import argparse
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dsf_wire.text import printable_lines
from gitops_dsf import __version__
from gitops_dsf.canonicalyaml import scalar
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.hub.urls import browsed_branch, misleads_git
from gitops_dsf.packagedata import packaged
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.model.base import DNS_LABEL
from gitops_dsf.repository.model.repository import CLONABLE, placeholder_url
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

_REGISTRY: Final = re.compile(r"[a-z0-9]+([.-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_IMAGE_COMMENT: Final = re.compile(r"^( +)# (.*image: )REGISTRY/", re.MULTILINE)

_NOT_COPIED = frozenset({"__pycache__", ".gitkeep", ".DS_Store", "rendered", _ON_REQUEST})


def default_name(target: Path) -> str:
    """A fleet name made of the folder's: lower case, `-` for invalid characters, or `fleet`."""
    name = re.sub(r"[^a-z0-9]+", "-", target.resolve().name.lower()).strip("-")[:63].strip("-")
    return name or "fleet"


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
) -> list[str]:
    """Creates a fleet repository, with or without the example scorer, clusters and application. `registry`
    is where the images are. `wheels` is a folder with our distributions, which are copied; with `hashes`
    requirements.txt names every package with its hashes. `forge` (github, gitlab or gitea) is whose pipeline
    is written, and `extras` (some of EXTRAS) what else is. Returns the paths of the written files, relative
    to target, sorted.

    Raises UsageError for an invalid name, URL or registry, for wheels that are missing, and for a folder that
    is not empty (`.git` is ignored), and RepositoryError when a file cannot be read or written.
    """
    extras = set(extras)
    if not re.fullmatch(DNS_LABEL, name) or len(name) > 63:
        raise UsageError(
            f"{name!r} cannot be the fleet's name: write at most 63 of a-z, 0-9 and -, beginning and ending"
            " with a letter or digit"
        )
    if git_url is not None:
        check_url(git_url)
    if registry is not None and not _REGISTRY.fullmatch(registry):
        raise UsageError(
            f"{registry!r} is not a registry: write its host and the folder of the images, without a scheme,"
            " such as registry.example.com/platform"
        )
    _check_target(target)
    if hashes and wheels is None:
        raise UsageError(
            "--hashes needs --wheels: no package index has gitops-dsf, so its own hashes come from the wheels"
        )
    if "examples" in extras and not examples:
        raise UsageError("--with examples adds to what --empty leaves out: write one of the two")
    # Gitea and Forgejo run the workflow of GitHub, in a folder of their own.
    pipeline = "github" if forge == "gitea" else forge
    wanted = extras | ({pipeline} if pipeline else set()) | ({"hashes"} if hashes else set())
    template = _template(name=name, git_url=git_url, wanted=wanted)
    if forge == "gitea":
        template = {path.replace(".github/", ".gitea/"): content for path, content in template.items()}
    if registry is not None:
        # Images are comments in the template.
        named = _IMAGE_COMMENT.sub(rf"\g<1>\g<2>{registry}/", template[SETTINGS_FILE].decode())
        template = {**template, SETTINGS_FILE: named.encode()}
    if wheels is not None:
        template = with_wheels(template, wheels)
    if not examples:
        template = {
            **{path: text for path, text in template.items() if path.partition("/")[0] not in FOLDERS},
            **{f"{folder}/.gitkeep": b"" for folder in FOLDERS},
        }
    files = {**template, SCHEMA: bundle().encode()}
    try:
        for path, content in files.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as error:
        raise RepositoryError(
            f"cannot write {error.filename or target}: {error.strerror or error}"
        ) from error
    return sorted(files)


def repo_template() -> Path:
    """Returns the folder that `init` copies. Raises RepositoryError when the installation lacks it."""
    return packaged("repo-template/gitops-dsf.yaml").parent


def forge_of(url: str) -> str | None:
    """The forge that serves a git URL, as far as its host says it."""
    host = re.sub(r"^[a-z+]+://|[^/@]*@", "", url).partition("/")[0]
    return next((forge for part, forge in FORGES.items() if part in host), None)


def _template(*, name: str, git_url: str | None, wanted: Collection[str]) -> Mapping[str, bytes]:
    source = repo_template()
    folders = [source, *(source / _ON_REQUEST / folder for folder in sorted(wanted))]
    url = git_url if git_url is not None else placeholder_url(name)
    result: dict[str, bytes] = {}
    try:
        for folder in folders:
            for file in sorted(folder.rglob("*")):
                path = file.relative_to(folder)
                if file.is_file() and not _NOT_COPIED.intersection(path.parts):
                    parts = file.read_text("utf-8").split(TEMPLATE_URL)
                    # Replace the name only between URLs, because the new URL can contain the template's name.
                    result[path.as_posix()] = url.join(
                        part.replace(TEMPLATE_NAME, name) for part in parts
                    ).encode()
    except OSError as error:
        raise RepositoryError(f"cannot read {error.filename or source}: {error.strerror or error}") from error
    if "examples" in wanted:
        settings = result[SETTINGS_FILE].decode()
        result[SETTINGS_FILE] = _EXAMPLE_SETTINGS.sub(r"  \1", settings).encode()
    return result


def check_url(url: str) -> None:
    """Raises UsageError for a URL that Argo CD cannot clone, or that holds credentials."""
    if not CLONABLE.fullmatch(url) or misleads_git(url) or browsed_branch(url)[0] or url != scalar(url):
        raise UsageError(
            f"{url!r} is not a git URL: write it as Argo CD clones it, such as {TEMPLATE_URL} or"
            " git@git.example.com:team/fleet.git"
        )
    try:
        parts = urlsplit(url)
        secret = parts.password is not None or (
            parts.scheme in {"http", "https"} and parts.username is not None
        )
    except ValueError as error:
        raise UsageError(f"{url!r} is not a git URL: {error}") from error
    if secret:
        raise UsageError(
            "the git URL holds credentials, and it would be committed: leave them out and give them to Argo"
            " CD as a repository Secret"
        )


def _check_target(target: Path) -> None:
    if target.is_symlink() and not target.exists():
        raise UsageError(f"{target} is a link to nothing: remove it or name another folder")
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is a file: name a new or empty folder")
    try:
        found = sorted(item.name for item in target.iterdir() if item.name != ".git")
    except OSError as error:
        raise RepositoryError(f"cannot read {target}: {error.strerror or error}") from error
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise UsageError(
            f"{target} is not empty (it holds {', '.join(found[:3])}{more}): name a new or empty folder;"
            " nothing was written"
        )


FOLDER: Final = "wheels"
_HASHED: Final = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
_NEEDED: Final = (*_HASHED, "gitops-dsf-runtime")
_REQUIREMENTS: Final = "requirements.txt"


def with_wheels(template: Mapping[str, bytes], folder: Path) -> Mapping[str, bytes]:
    """The template with our wheels of a folder, and their hashes in requirements that have some. Raises
    UsageError if one is not there, and RepositoryError.
    """
    names = {name: f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in _NEEDED}
    missing = [names[name] for name in _NEEDED if not (folder / names[name]).is_file()]
    if missing:
        raise UsageError(
            f"{folder} has no {missing[0]}: run `make wheel` in a checkout of gitops-dsf, and name its dist/"
        )
    try:
        found = {name: (folder / file).read_bytes() for name, file in names.items()}
    except OSError as error:
        raise RepositoryError(f"cannot read {error.filename or folder}: {error.strerror or error}") from error
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
    written = scaffold(
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
    made = f"Fleet {name} in {target} ({len(written)} files). Next:"
    lines = [made, "", *(f"  {step}" for step in steps), ""]
    if arguments.git_url is None:
        lines.append(
            "Set spec.git.url in gitops-dsf.yaml to the repository that Argo CD will clone, and render again."
        )
    if arguments.registry is None:
        lines.append(
            "Push the images to a registry of yours and name them in gitops-dsf.yaml: no public registry has"
            " them."
        )
    if arguments.wheels is None:
        lines.append(
            "Pipelines cannot install gitops-dsf yet, because no package index has it: `make wheel` in its"
            " checkout\nmakes what `gitops-dsf init --wheels CHECKOUT/dist` puts into the repository."
        )
    if forge is None:
        lines.append("There is no pipeline: name the forge with --forge, or run `gitops-dsf ci` in your own.")
    sys.stdout.write(printable_lines([*lines, "README.md says what each folder is for."]))
    return 0
