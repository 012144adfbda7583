"""Reads a repository at a revision from git objects.

Working tree, index and refs are not touched.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.repository.git import SHORT, Repository, RevisionError, git_command
from gitops_dsf.repository.load.paths import SUFFIXES, is_source, may_hold_sources
from gitops_dsf.repository.recorded import (
    REGULAR,
    SUBMODULE,
    SYMLINK,
    Entry,
    changed_by_git,
    submodule,
    tree_entries,
    unfilled,
)

_OBJECT_ID: Final = re.compile(r"[0-9a-f]{7,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
_RENDERED: Final = "rendered"
_WHOLE_IDS: Final = (40, 64)
"""Digits of a commit in SHA-1 and SHA-256. Servers take no fewer."""
_WHOLE: Final = "clone with the whole history (GitHub: fetch-depth: 0, GitLab: GIT_DEPTH: 0)"


@dataclass(frozen=True, kw_only=True)
class Base:
    """A commit, and how it was chosen."""

    repository: Repository
    commit: str
    revision: str
    """The revision as the user wrote it."""
    note: str = ""
    """A note about the choice for people; empty if the commit is the revision itself."""

    @property
    def title(self) -> str:
        """For people: `main (3f2a1c9d0e)`."""
        short = self.commit[:SHORT]
        return short if self.commit.startswith(self.revision) else f"{self.revision} ({short})"


def find_base(directory: Path, revision: str, *, head: str = "HEAD") -> Base:
    """The merge base of a revision and the head, as pull requests use.

    So later commits of the other branch do not count as part of the change.

    If they have no common history, returns the revision itself. Raises RevisionError when the
    revision is not in this clone, or a shallow clone lacks the history in which the merge base may
    be.
    """
    if not revision:
        raise RevisionError(
            "the revision to compare with is empty; name a commit, branch or tag, and look whether"
            " its variable is set"
        )
    repository = Repository(directory=directory)
    commit = repository.commit(revision)
    if commit is None:
        raise RevisionError(_not_here(repository, revision))
    own = repository.commit(head)
    if own is None:
        return Base(repository=repository, commit=commit, revision=revision)
    found_bases = repository.attempt("merge-base", "--all", "--end-of-options", commit, own)
    # Git exits with 1 if there is no merge base.
    if found_bases.returncode not in {0, 1}:
        reason = found_bases.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise RevisionError(reason)
    bases = found_bases.stdout.decode().split()
    if repository.is_shallow and _may_be_newer(repository, commit, own, bases):
        raise RevisionError(
            f"this clone is shallow, and may lack the commit where {revision} and {head} part;"
            f" run `{_fetch(repository)} --unshallow {_remote(repository)}`, or {_WHOLE}"
        )
    if not bases:
        note = (
            f"no merge base of {revision} and {head} (they have no common history): compared with"
            f" {revision} itself, with everything that it has and this does not"
        )
        return Base(repository=repository, commit=commit, revision=revision, note=note)
    note = ""
    if bases[0] != commit:
        note = f"compared with the merge base {bases[0][:SHORT]} of {revision} and {head}"
    return Base(repository=repository, commit=bases[0], revision=revision, note=note)


def _may_be_newer(repository: Repository, commit: str, head: str, bases: Sequence[str]) -> bool:
    """Whether a merge base newer than these may be in the history that a shallow clone lacks.

    `git merge-base` takes the commits where the history was cut for the first ones. It is right if
    none of these can be reached from a side, except through what it found.
    """
    if commit in bases or head in bases:
        return False
    cut = repository.directory / repository.text("rev-parse", "--git-path", "shallow")
    try:
        ends = cut.read_text("ascii").split()
    except OSError as error:
        raise RevisionError(f"{cut} cannot be read: {error.strerror}") from error
    reached = repository.text("rev-list", commit, head, "--not", *bases).split()
    return not set(ends).isdisjoint(reached)


def _not_here(repository: Repository, revision: str) -> str:
    """The message for a revision that is not in this clone, with what to do about it."""
    clone = "this clone, which is shallow" if repository.is_shallow else "this clone"
    if not _NAME.fullmatch(revision):
        return f"the revision {revision} is not in {clone}; name a commit, branch or tag"
    remote, name = _remote_and_name(repository, revision)
    remote_branch = f"{remote}/{name}"
    is_id = _OBJECT_ID.fullmatch(revision) is not None
    if not is_id and remote_branch != revision and repository.commit(remote_branch) is not None:
        return f"the revision {revision} is not in {clone}; did you mean {remote_branch}?"
    fetch = f"{_fetch(repository)}{' --unshallow' if repository.is_shallow else ''} {remote}"
    if is_id and len(revision) in _WHOLE_IDS:
        hint = f"run `{fetch} {revision}`"
    elif is_id:
        hint = f"run `{fetch}`, or write all {_WHOLE_IDS[0]} digits of a commit"
    elif remote_branch == revision:
        hint = f"run `{fetch} {name}:refs/remotes/{remote_branch}`"
    else:
        hint = f"run `{fetch} {name}:refs/remotes/{remote_branch}`, and name {remote_branch}"
    otherwise = _WHOLE if repository.is_shallow else "name a commit, branch or tag"
    return f"the revision {revision} is not in {clone}; {hint}, or {otherwise}"


def _remote_and_name(repository: Repository, revision: str) -> tuple[str, str]:
    """The remote and the branch that a revision may mean: `main` may be a clone's origin/main."""
    remote, _, name = revision.partition("/")
    if name and remote in repository.text("remote").split("\n"):
        return remote, name
    return _remote(repository), revision


def _fetch(repository: Repository) -> str:
    """The command for the folder, as people can paste it where they run gitops-dsf."""
    return f"{git_command(repository.directory)} fetch"


def _remote(repository: Repository) -> str:
    remotes = repository.text("remote").split("\n")
    return "origin" if "origin" in remotes else remotes[0] or "origin"


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch at a commit, such as the branch that holds snapshots of a hub."""

    repository: Repository
    name: str
    commit: str

    @property
    def short(self) -> str:
        """The short commit ID, for people."""
        return self.commit[:SHORT]

    @property
    def committed(self) -> float:
        """When the commit was made, in seconds since 1970. Raises RevisionError."""
        return float(self.repository.text("show", "--no-patch", "--format=%ct", self.commit))

    def contents(self, *, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        """Yields every file with one of these suffixes, with its path. Raises RevisionError."""
        entries = _entries(self.repository, self.commit)
        files = [
            entry for entry in entries if entry.mode in REGULAR and entry.path.endswith(suffixes)
        ]
        for entry, content in _contents(self.repository, files):
            yield entry.path, content


def find_branch(directory: Path, name: str) -> Branch | None:
    """The newest branch of this name in the clone or its remotes; None without one.

    Raises RevisionError.
    """
    if not _NAME.fullmatch(name):
        raise RevisionError(f"{name!r} is not the name of a branch")
    repository = Repository(directory=directory)
    patterns = [f"refs/remotes/*/{name}", f"refs/remotes/{name}", f"refs/heads/{name}"]
    newest = ("--sort=-committerdate", "--count=1", "--format=%(objectname)")
    listed = repository.text("for-each-ref", *newest, *patterns)
    return Branch(repository=repository, name=name, commit=listed) if listed else None


def fetch_branch(directory: Path, name: str, *, seconds: float | None = None) -> str:
    """Brings the remote's branch into the clone, as a branch of the remote, within so many seconds.

    Returns why that was not possible, in one line; empty if it was. Raises RevisionError.
    """
    if not _NAME.fullmatch(name):
        raise RevisionError(f"{name!r} is not the name of a branch")
    repository = Repository(directory=directory)
    if not repository.text("remote"):
        return "this clone has no remote"
    remote = _remote(repository)
    refs = f"+refs/heads/{name}:refs/remotes/{remote}/{name}"
    options = ("--quiet", "--no-tags", *repository.as_shallow)
    try:
        done = repository.attempt("fetch", *options, remote, refs, seconds=seconds)
    except RevisionError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else "git fetch failed"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The sources of a fleet at a commit, in a temporary folder."""

    root: Path
    """Has the YAML files and symbolic links of the fleet, without rendered/."""
    diagnostics: tuple[Diagnostic, ...]
    """Findings about sources that the commit has and the folder lacks, or that attributes of git
    change.
    """


@contextmanager
def checkout(repository: Repository, commit: str) -> Iterator[Checkout]:
    """Context manager for the sources of a fleet repository at a commit.

    Raises RevisionError.

    If the repository is in a folder of a larger one, only that folder is read. If the commit does
    not have it, the result is empty. Files are read as git has them: no attribute leaves one out or
    changes one.
    """
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        root = Path(scratch).resolve()
        writer = _Writer(root=root)
        diagnostics = tuple(writer.extract(repository, commit, prefix=repository.prefix))
        yield Checkout(root=root, diagnostics=diagnostics)


def _entries(repository: Repository, commit: str, prefix: str = "") -> list[Entry]:
    """Every file of a commit below a folder, which is empty or ends with a slash.

    Raises RevisionError.
    """
    below = ("--", prefix) if prefix else ()
    listing = repository.run("ls-tree", "-r", "-z", "--full-tree", commit, *below)
    return [replace(item, path=item.path.removeprefix(prefix)) for item in tree_entries(listing)]


def _contents(repository: Repository, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """The files of a commit with their contents. Raises RevisionError if the clone lacks one."""
    contents = repository.contents([entry.object for entry in entries])
    for entry, content in zip(entries, contents, strict=True):
        if content is None:
            raise RevisionError(
                f"{entry.path}: this clone lacks the content of the file (object {entry.object});"
                " clone again"
            )
        yield entry, content


class _Writer:
    """Writes the sources of commits into a folder."""

    def __init__(self, *, root: Path) -> None:
        self._root = root
        self._folders: set[Path] = set()

    def extract(
        self, repository: Repository, commit: str, *, prefix: str = "", within: str = ""
    ) -> Iterator[Diagnostic]:
        """Writes the sources of a commit, and yields findings.

        `prefix` is the folder of the fleet in the repository, and `within` the folder of a
        submodule in the fleet; both are empty or end with a slash.
        """
        files, submodules = [], []
        for item in _entries(repository, commit, prefix):
            path = f"{within}{item.path}"
            if item.mode == SUBMODULE:
                if may_hold_sources(path):
                    submodules.append(item)
            elif path.partition("/")[0] != _RENDERED and (
                item.mode == SYMLINK or (item.mode in REGULAR and path.endswith(SUFFIXES))
            ):
                files.append(item)
        texts: dict[str, str] = {}
        for item, content in _contents(repository, files):
            path = f"{within}{item.path}"
            self._write(path, content, is_link=item.mode == SYMLINK)
            if item.mode != SYMLINK and is_source(path):
                texts[item.path] = content.decode(errors="replace") if b"$Id" in content else ""
        with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
            # Git can read attributes from an index, and since 2.40 only from a commit.
            index = Path(scratch, "index")
            done = repository.attempt("read-tree", commit, index=index)
            if done.returncode != 0:
                raise RevisionError(
                    done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
                )
            for finding in changed_by_git(repository, texts, index=index):
                yield replace(finding, position=Position(file=f"{within}{finding.position.file}"))
        for item in submodules:
            inner = submodule(repository.directory / item.path, item.object)
            if inner is None:
                yield unfilled(repository, item, prefix=within, commit=commit)
            else:
                yield from self.extract(inner, item.object, within=f"{within}{item.path}/")

    def _write(self, name: str, content: bytes, *, is_link: bool) -> None:
        # Git writes neither of these, but such tree objects can be made by hand.
        if any(part in {"", ".", ".."} or part.lower() == ".git" for part in name.split("/")):
            raise RevisionError(f"the revision holds {name!r}, which is an invalid path")
        path = self._root / name
        try:
            if path.parent not in self._folders:
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.parent.resolve() != path.parent:
                    raise RevisionError(
                        f"the revision holds {name}, which lies below a symbolic link"
                    )
                self._folders.add(path.parent)
            if is_link:
                path.symlink_to(os.fsdecode(content))
            else:
                # A new file: nothing is written through a symbolic link of the same name.
                with path.open("xb") as file:
                    file.write(content)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise RevisionError(
                f"the revision holds {name!r}, which cannot be written: {why}"
            ) from error


def paths_at(repository: Repository, commit: str, folder: str) -> Iterator[tuple[str, bool]]:
    """The paths in a folder of the fleet, and whether each is a regular file.

    Raises RevisionError.
    """
    for item in _entries(repository, commit, f"{repository.prefix}{folder}/"):
        yield item.path, item.mode in REGULAR
