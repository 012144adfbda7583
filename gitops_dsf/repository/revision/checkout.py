"""Writes the sources of a commit into a temporary folder."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.repository.git import Repository, RevisionError, git_message, top_of
from gitops_dsf.repository.load.paths import SUFFIXES, is_source, may_hold_sources
from gitops_dsf.repository.recorded.attributes import changed_by_git, may_change_content
from gitops_dsf.repository.recorded.entries import REGULAR, SUBMODULE, SYMLINK, Entry
from gitops_dsf.repository.recorded.submodules import submodule, unfilled
from gitops_dsf.repository.revision.tree import contents_of, entries_below

_RENDERED: Final = "rendered"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The sources of a fleet at a commit, in a temporary folder."""

    root: Path
    """Has the YAML files and symbolic links of the fleet, without rendered/."""
    rendered: tuple[tuple[str, bool], ...]
    """Paths of the commit's files in rendered/, and whether each is a regular file."""
    diagnostics: tuple[Diagnostic, ...]
    """Findings about sources that the commit has and the folder lacks, or that attributes of git
    change.
    """


@contextmanager
def checkout(repository: Repository, commit: str) -> Iterator[Checkout]:
    """Context manager for the sources of a fleet repository at a commit.

    If the repository is in a folder of a larger one, only that folder is read. If the commit does
    not have it, the result is empty. Files are read as git has them: no attribute leaves one out or
    changes one, as `git archive` and `git worktree` would.

    Raises RevisionError.
    """
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        root = Path(scratch).resolve()
        writer = _Writer(root=root)
        with repository.reading() as reading:
            diagnostics = tuple(writer.extract(reading, commit))
        yield Checkout(root=root, rendered=tuple(writer.rendered), diagnostics=diagnostics)


class _Writer:
    """Writes the sources of commits into a folder."""

    def __init__(self, *, root: Path) -> None:
        self._root = root
        self._folders: set[Path] = set()
        """Folders that exist, with no symbolic link on the way."""
        self.rendered: list[tuple[str, bool]] = []

    def extract(
        self, repository: Repository, commit: str, *, within: str = ""
    ) -> Iterator[Diagnostic]:
        """Writes the sources of a commit, and yields findings. Raises RevisionError.

        `within` is the folder of a submodule in the fleet; it is empty or ends with a slash.
        """
        entries = entries_below(repository, commit)
        for entry in entries:
            path = f"{within}{entry.path}"
            _check(path)
            if path.startswith(f"{_RENDERED}/"):
                self.rendered.append((path.removeprefix(f"{_RENDERED}/"), entry.mode in REGULAR))
        texts: dict[str, str] = {}
        files = [entry for entry in entries if _is_needed(entry, f"{within}{entry.path}")]
        for entry, content in contents_of(repository, files):
            path = f"{within}{entry.path}"
            self._write(path, content, is_link=entry.mode == SYMLINK)
            if entry.mode != SYMLINK and is_source(path):
                # Only the attribute `ident` needs the text, and only where it has `$Id$`.
                texts[entry.path] = content.decode(errors="replace") if b"$Id" in content else ""
        if _may_change(repository, entries):
            with _attributes_of(repository, commit) as index:
                for finding in changed_by_git(repository, texts, index=index):
                    file = f"{within}{finding.position.file}"
                    yield replace(finding, position=Position(file=file))
        for entry in entries:
            if entry.mode != SUBMODULE or not may_hold_sources(f"{within}{entry.path}"):
                continue
            inner = submodule(repository.directory / entry.path, entry.object)
            if inner is None:
                yield unfilled(repository, entry, prefix=within, commit=commit)
            else:
                with inner.reading() as reading:
                    yield from self.extract(reading, entry.object, within=f"{within}{entry.path}/")

    def _write(self, name: str, content: bytes, *, is_link: bool) -> None:
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
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise RevisionError(
                f"the revision holds {name!r}, which cannot be written: {reason}"
            ) from error


@contextmanager
def _attributes_of(repository: Repository, commit: str) -> Iterator[Path]:
    """Context manager for an index with the attributes of a commit.

    Git can read attributes from an index, and only since 2.40 from a commit. Raises RevisionError.
    """
    with TemporaryDirectory(prefix="gitops-dsf-") as scratch:
        index = Path(scratch, "index")
        completed = repository.attempt("read-tree", commit, index=index)
        if completed.returncode != 0:
            raise RevisionError(git_message(completed))
        yield index


def _may_change(repository: Repository, entries: Sequence[Entry]) -> bool:
    """Whether attributes of a commit may change the content of its files."""
    # The entries are not those of the folders above.
    if top_of(repository.directory) != repository.directory.resolve():
        return True
    files = [entry for entry in entries if _has_attributes(entry)]
    return any(may_change_content(content) for _, content in contents_of(repository, files))


def _has_attributes(entry: Entry) -> bool:
    return entry.path.rpartition("/")[2] == ".gitattributes" and entry.mode != SUBMODULE


def _check(name: str) -> None:
    """Raises RevisionError for a name that git itself would write into no tree."""
    # Such tree objects can be made by hand.
    if any(part in {"", ".", ".."} or part.lower() == ".git" for part in name.split("/")):
        raise RevisionError(f"the revision holds {name!r}, which is an invalid path")


def _is_needed(entry: Entry, path: str) -> bool:
    """Whether the reader may look at a file: at YAML, and at every symbolic link.

    The rendered tree is not needed, because it is rendered again from the sources.
    """
    if path.partition("/")[0] == _RENDERED:
        return False
    return entry.mode == SYMLINK or (entry.mode in REGULAR and path.endswith(SUFFIXES))
