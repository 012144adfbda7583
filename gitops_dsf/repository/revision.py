"""Reads a repository at a revision from git objects. Working tree, index and refs are not touched."""

import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_dsf.repository.git import SHORT, Repository, RevisionError
from gitops_dsf.repository.load.paths import FOLDERS, SUFFIXES

_OBJECT_ID = re.compile(r"[0-9a-f]{7,64}")


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
    """Returns the merge base of a revision and the head, as pull requests use, so that later commits of the
    other branch do not count as part of the change.

    If the history is too short, returns the revision itself. Raises RevisionError when the revision is not in
    this clone.
    """
    if not revision:
        look = "name a commit, branch or tag, and look whether its variable is set"
        raise RevisionError(f"the revision to compare with is empty; {look}")
    repository = Repository(directory=directory)
    commit = repository.commit(revision)
    if commit is None:
        raise RevisionError(_not_here(repository, revision))
    if repository.commit(head) is None:
        return Base(repository=repository, commit=commit, revision=revision)
    done = repository.attempt("merge-base", "--end-of-options", commit, head)
    found = done.stdout.decode().split()
    if done.returncode == 0 and found:
        note = f"compared with the merge base {found[0][:SHORT]} of {revision} and {head}"
        note = "" if found[0] == commit else note
        return Base(repository=repository, commit=found[0], revision=revision, note=note)
    why = "this clone is shallow" if repository.is_shallow else "they have no common history"
    note = f"no merge base of {revision} and {head} ({why})"
    note = f"{note}: compared with {revision} itself, with everything that it has and this does not"
    return Base(repository=repository, commit=commit, revision=revision, note=note)


def _not_here(repository: Repository, revision: str) -> str:
    if repository.is_shallow:
        whole = "clone with the whole history (GitHub: fetch-depth: 0, GitLab: GIT_DEPTH: 0)"
        fetch = f"fetch it with `git fetch --depth=1 origin {revision}`"
        return f"the revision {revision} is not in this clone, which is shallow; {fetch}, or {whole}"
    remote, hint = f"origin/{revision}", f"fetch it with `git fetch origin {revision}`, or name"
    if not _OBJECT_ID.fullmatch(revision) and repository.commit(remote) is not None:
        return f"there is no revision {revision} in this clone; did you mean {remote}?"
    return f"there is no revision {revision} in this clone; {hint} a commit, branch or tag"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")


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

    def contents(self, *, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        """Yields every file with one of these suffixes, with its path. Raises RevisionError."""
        for member, content in _members(self.repository, self.commit):
            if member.isreg() and member.name.endswith(suffixes):
                yield member.name, content


def find_branch(directory: Path, name: str) -> Branch | None:
    """The newest branch of this name in the clone or its remotes; None without one. Raises RevisionError."""
    if not _NAME.fullmatch(name):
        raise RevisionError(f"{name!r} is no name of a branch")
    repository = Repository(directory=directory)
    patterns = [f"refs/remotes/*/{name}", f"refs/remotes/{name}", f"refs/heads/{name}"]
    newest = ("--sort=-committerdate", "--count=1", "--format=%(objectname)")
    listed = repository.text("for-each-ref", *newest, *patterns)
    return Branch(repository=repository, name=name, commit=listed) if listed else None


@contextmanager
def checkout(repository: Repository, commit: str) -> Iterator[Path]:
    """Context manager for a temporary folder with the YAML files and symbolic links of a fleet repository,
    without rendered/. Raises RevisionError.

    If the repository is in a folder of a larger one, only that folder is read. If the commit does not have
    it, the result is empty.
    """
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        root = Path(scratch).resolve()
        _extract(repository, f"{commit}:{repository.prefix}", root, root=root)
        for path, inner, its_commit in _submodules(repository, commit):
            _extract(inner, its_commit, root / path, root=root)
        yield root


def _extract(repository: Repository, tree: str, target: Path, *, root: Path) -> None:
    if repository.attempt("cat-file", "-e", tree).returncode != 0:
        return
    folders: set[Path] = set()
    for member, content in _members(repository, tree, ".", ":(exclude)rendered"):
        if not (member.issym() or (member.isreg() and member.name.endswith(SUFFIXES))):
            continue
        path = target / member.name
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(root):
                # Git does not write a tree with a file below a symbolic link, but such a tree object can be
                # made by hand.
                raise RevisionError(f"the revision holds {member.name}, which lies below a symbolic link")
            folders.add(path.parent)
        if member.issym():
            path.symlink_to(member.linkname)
        else:
            path.write_bytes(content)


def _members(repository: Repository, tree: str, *paths: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    # On disk, because in memory a branch of scores is a third of what `explain` needs. In a folder of the
    # working tree git would archive that folder only.
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        packed = Path(scratch, "tar")
        archive = ("archive", "--format=tar", f"--output={packed}")
        repository.run("-C", str(repository.top), *archive, tree, "--", *paths)
        with tarfile.open(packed, mode="r:") as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isreg() else None
                yield member, b"" if file is None else file.read()


def _submodules(repository: Repository, commit: str) -> Iterator[tuple[str, Repository, str]]:
    """The checked-out submodules of the source folders: path below the fleet, repository and commit.

    A nested clone that was added by accident is no submodule: every other clone has an empty folder. Raises
    RevisionError when one or its commit is missing.
    """
    listed = repository.attempt(
        "config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$"
    )
    for line in listed.stdout.split(b"\0"):
        path = os.fsdecode(line.partition(b"\n")[2])
        below = path.removeprefix(repository.prefix)
        if not path.startswith(repository.prefix) or below.partition("/")[0] not in FOLDERS:
            continue
        found = repository.attempt("rev-parse", "--verify", "--quiet", f"{commit}:{path}")
        if found.returncode != 0:
            continue
        wanted, where = found.stdout.decode().strip(), repository.top / path
        inner = Repository(directory=where)
        if not (where / ".git").exists() or inner.top.resolve() != where.resolve():
            run = "run `git submodule update --init`"
            raise RevisionError(
                f"the submodule {path} is not checked out, so the revision cannot be read; {run}"
            )
        if inner.commit(wanted) is None:
            lacks = f"does not have the commit {wanted[:SHORT]} that the revision points to"
            raise RevisionError(f"the submodule {path} {lacks}; run `git -C {path} fetch`")
        yield below, inner, wanted


def paths_at(repository: Repository, commit: str, folder: str) -> Iterator[tuple[str, bool]]:
    """The paths in a folder of the fleet, and whether each is a regular file. Raises RevisionError."""
    prefix = f"{repository.prefix}{folder}/"
    listed = repository.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", prefix)
    for line in listed.split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        yield os.fsdecode(name).removeprefix(prefix), about.startswith((b"100644", b"100755"))
