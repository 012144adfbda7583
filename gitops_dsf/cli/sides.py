"""The two fleet repositories that a verb compares, read from git or from the disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.errors import GitopsDsfError, RepositoryError
from gitops_dsf.pipeline import CheckResult, check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import Repository
from gitops_dsf.repository.load import ParsedFiles
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.revision.base import Base, find_base
from gitops_dsf.repository.revision.checkout import checkout
from gitops_dsf.repository.safefolder import SafeFolder


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two repositories that are compared."""

    fleet: CheckedFleet | None
    """None if it has errors or is absent."""
    errors: tuple[Diagnostic, ...]
    files: tuple[tuple[str, bool], ...] = ()
    """Paths of files in rendered/, and whether each is a regular file."""
    absent: bool = False
    """Whether the revision has no fleet repository in this folder."""


class BaseFleet(NamedTuple):
    """A revision without errors, with which another one is compared."""

    fleet: CheckedFleet
    title: str


def side_at(base: Base, commit: str, known: ParsedFiles) -> Side:
    """The repository at a commit. `known` has the files that were parsed already, and gets these.

    The two sides share most of their files, so each is parsed once.
    """
    # From git's objects and not with `git checkout`, which would change the files of the caller.
    with checkout(base.repository, commit) as sources:
        has_sources = any((sources.root / name).exists() for name in (SETTINGS_FILE, *FOLDERS))
        # A revision from before the fleet was made has nothing to check. That is not a mistake.
        if not has_sources and not sources.diagnostics:
            return Side(fleet=None, errors=(), absent=True)
        checked = check(sources.root, known=known, also=sources.diagnostics)
        return _side(checked, files=sources.rendered)


def side_on_disk(directory: Path, known: ParsedFiles) -> Side:
    """The repository in a folder. Raises RepositoryError."""
    checked = check(directory, known=known)
    return _side(checked, files=tuple(_files_on_disk(directory / RENDERED)))


def fleet_at(base: Base) -> CheckedFleet | None:
    """The fleet repository at the base; None if there is none or it has errors."""
    return side_at(base, base.commit, {}).fleet


def base_fleet(directory: Path, revision: str) -> BaseFleet:
    """The fleet repository of --base. Raises GitopsDsfError if it has errors or is absent."""
    with Repository(directory=directory).reading() as repository:
        base = find_base(repository, revision)
        fleet = fleet_at(base)
    if fleet is None:
        raise GitopsDsfError(
            f"{base.title} has no valid fleet repository in this folder, so there is nothing to"
            " compare with"
        )
    return BaseFleet(fleet, base.title)


def _side(checked: CheckResult, *, files: tuple[tuple[str, bool], ...]) -> Side:
    errors = [finding for finding in checked.diagnostics if finding.severity is Severity.ERROR]
    return Side(fleet=checked.fleet, errors=tuple(errors), files=files)


def _files_on_disk(rendered: Path) -> Iterator[tuple[str, bool]]:
    """Paths below rendered/, and whether each is a regular file, as git would have them."""
    if rendered.is_symlink():
        # Git has the link, and nothing behind it.
        yield ".", False
        return
    if not rendered.is_dir():
        return
    try:
        # A path without a size is a link, a pipe or another special file.
        for path, size in SafeFolder(rendered).walk():
            yield path, size is not None
    except OSError as error:
        raise RepositoryError(f"cannot read {error.filename}: {error.strerror}") from error
