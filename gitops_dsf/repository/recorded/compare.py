"""Finds the sources that git has and the reader does not see, or sees with another content."""

import os
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.git import Repository, RevisionError, git_command, git_message
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE, is_source, may_hold_sources
from gitops_dsf.repository.recorded.attributes import changed_by_git
from gitops_dsf.repository.recorded.bounded import bounded
from gitops_dsf.repository.recorded.entries import SUBMODULE, Entry, index_entries
from gitops_dsf.repository.recorded.submodules import NOT_HERE, absent_in_submodule


def compared(root: Path, names: Collection[str], texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Findings about what git has and the reader does not see, or sees with another content.

    `names` are the files that the reader found, and `texts` those that it could decode. The folder
    is in a working tree of git.
    """
    try:
        repository = Repository(directory=root)
        entries = _index(repository)
        seen = _FileNames(names)
        absent = []
        submodules = []
        for entry in entries:
            if entry.mode == SUBMODULE:
                if may_hold_sources(entry.path):
                    submodules.append(entry)
            elif is_source(entry.path) and entry.path not in seen:
                absent.append(_absent(root, entry))
        yield from bounded(absent)
        for entry in submodules:
            yield from bounded(absent_in_submodule(repository, entry, seen))
        # The attributes of files in a submodule are those of its own repository.
        folders = tuple(f"{entry.path}/" for entry in submodules)
        own_names = [name for name in names if not name.startswith(folders)]
        yield from changed_by_git(repository, {name: texts.get(name, "") for name in own_names})
    except RevisionError as error:
        yield _unasked(error)


def lost(root: Path, entries: Iterable[Entry]) -> list[str]:
    """The sources among the entries that a folder lacks, and all submodules that may hold some."""
    paths = []
    for entry in entries:
        may_lack_sources = entry.mode == SUBMODULE and may_hold_sources(entry.path)
        is_absent = is_source(entry.path) and not os.path.lexists(root / entry.path)
        if may_lack_sources or is_absent:
            paths.append(entry.path)
    return paths


class _FileNames:
    """Names of files. macOS may give them to programs in another Unicode form than git has them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._normalized = frozenset(
            unicodedata.normalize("NFC", name) for name in names if not name.isascii()
        )

    def __contains__(self, name: object) -> bool:
        if name in self._names:
            return True
        if not isinstance(name, str) or name.isascii():
            return False
        return unicodedata.normalize("NFC", name) in self._normalized


def _index(repository: Repository) -> list[Entry]:
    """The entries of the index in the source folders of a fleet. Raises RevisionError."""
    options = ("-z", "--stage", "-t", "--", SETTINGS_FILE, *FOLDERS)
    completed = repository.attempt("ls-files", *options, index=repository.index_of_hook())
    if completed.returncode != 0:
        raise RevisionError(git_message(completed))
    return index_entries(completed.stdout)


def _absent(root: Path, entry: Entry) -> Diagnostic:
    name = shlex.quote(entry.path)
    git = git_command(root)
    if entry.skipped:
        hint = (
            f"if it is meant to go, run `{git} rm --sparse {name}`;"
            f" otherwise check it out with `{git} sparse-checkout disable`"
        )
    else:
        hint = (
            f"if it is meant to go, run `{git} rm {name}`; otherwise bring it back with `{git}"
            f" restore {name}`"
        )
    return codes.ABSENT.at(Position(file=entry.path), NOT_HERE, hint)


def _unasked(error: RevisionError) -> Diagnostic:
    """The finding for a repository of which git says nothing.

    Git refuses folders of other users, for example, and its message has the command that helps.
    """
    lines = list(map(str.strip, str(error).strip().splitlines()))
    reason = lines[0] if lines else "git failed without a message"
    hint = "mend that until `git status` works in this folder"
    for line in lines:
        # For a folder of another user: git config --global --add safe.directory ...
        if line.startswith("git config"):
            hint = f"run `{line}`"
            break
    return codes.GIT_UNASKED.at(
        Position(file=SETTINGS_FILE),
        f"git cannot list its files, so it is not known whether all of them are here: {reason}",
        hint,
    )
