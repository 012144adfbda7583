"""Finds the sources of a fleet in submodules, and those that are not in their folders.

Git has only a commit in place of the folder of a submodule. Its sources are those of that commit,
whatever is checked out in the folder.
"""

import shlex
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.git import SHORT, Repository, RevisionError, git_command
from gitops_dsf.repository.load.paths import is_source, may_hold_sources
from gitops_dsf.repository.recorded.attributes import changed_by_git
from gitops_dsf.repository.recorded.entries import SUBMODULE, Entry, decoded, tree_entries

NOT_HERE: Final = "git has this file, and it is not in the folder"

_FILE: Final = "\0"
"""Stands for the name of a file in a hint that many findings share."""


def submodule(folder: Path, commit: str) -> Repository | None:
    """The repository of a submodule in a folder; None if it is not there, or lacks this commit."""
    if not (folder / ".git").exists():
        return None
    inner = Repository(directory=folder)
    try:
        # With an empty .git, git would take the repository around it.
        is_its_own = inner.top.resolve() == folder.resolve()
        return inner if is_its_own and inner.commit(commit) is not None else None
    except RevisionError:
        return None


def unfilled(
    repository: Repository, entry: Entry, *, prefix: str = "", commit: str | None = None
) -> Diagnostic:
    """The finding about a submodule whose commit is not here.

    The path of the entry is below the folder of the repository, and `prefix` is the path of that
    folder below the fleet. `commit` is what is read in place of the index. Raises RevisionError.
    """
    name = shlex.quote(entry.path)
    git = git_command(repository.directory)
    position = Position(file=f"{prefix}{entry.path}")
    if f"{repository.prefix}{entry.path}" not in _registered(repository, commit):
        return codes.ABSENT.at(
            position,
            "git has a commit in place of this folder, and .gitmodules does not say of which"
            " repository",
            f"somebody added a clone inside of this one: run `{git} rm --cached {name}`, remove"
            " the .git in that folder where it is filled, and add its files",
        )
    short = entry.object[:SHORT]
    message = f"git has a submodule here, and its commit {short} is not in the folder"
    folder = repository.directory / entry.path
    if commit is not None and (folder / ".git").exists():
        # The submodule is filled with another commit, which stays: only objects are needed.
        hint = f"run `{git_command(folder)} fetch origin {entry.object}`"
        return codes.ABSENT.at(position, message, hint)
    hint = (
        f"run `{git} submodule update --init {name}`; in pipelines actions/checkout does it with"
        " `submodules: recursive`, and GitLab with `GIT_SUBMODULE_STRATEGY: recursive`"
    )
    return codes.ABSENT.at(position, message, hint)


def absent_in_submodule(
    repository: Repository, entry: Entry, seen: Container[str], prefix: str = ""
) -> Iterator[Diagnostic]:
    """Findings about what the recorded commit of a submodule has and the reader does not see.

    The path of the entry is below the folder of the repository, whose path below the fleet is
    `prefix`. `seen` are the paths below the fleet that the reader sees. Raises RevisionError.
    """
    inner = submodule(repository.directory / entry.path, entry.object)
    if inner is None:
        yield unfilled(repository, entry, prefix=prefix)
        return
    below = f"{prefix}{entry.path}/"
    hint = ""
    seen_names: list[str] = []
    listing = inner.run("ls-tree", "-r", "-z", "--full-tree", entry.object)
    for inner_entry in tree_entries(listing):
        path = f"{below}{inner_entry.path}"
        if inner_entry.mode == SUBMODULE:
            if may_hold_sources(path):
                yield from absent_in_submodule(inner, inner_entry, seen, below)
        elif is_source(path) and path not in seen:
            # To make the hint runs git, and it is the same for all files of the submodule.
            hint = hint or _hint(repository, inner, entry)
            command = hint.replace(_FILE, shlex.quote(inner_entry.path))
            yield codes.ABSENT.at(Position(file=path), NOT_HERE, command)
        elif is_source(path):
            seen_names.append(inner_entry.path)
    # Without texts: the attribute `ident`, which alone needs them, is looked for in own files only.
    for finding in changed_by_git(inner, dict.fromkeys(seen_names, "")):
        yield replace(finding, position=Position(file=f"{below}{finding.position.file}"))


def _registered(repository: Repository, commit: str | None) -> set[str]:
    """The paths of submodules that .gitmodules has, below the working tree."""
    options = ("--file", str(repository.top / ".gitmodules"))
    if commit is not None:
        options = ("--blob", f"{commit}:.gitmodules")
    completed = repository.attempt(
        "config", *options, "-z", "--get-regexp", r"^submodule\..*\.path$"
    )
    return {decoded(line.partition(b"\n")[2]) for line in completed.stdout.split(b"\0")[:-1]}


def _hint(repository: Repository, inner: Repository, entry: Entry) -> str:
    """The hint about files that a filled submodule lacks. `_FILE` stands for the name of one."""
    name = shlex.quote(entry.path)
    git = git_command(repository.directory)
    git_inside = git_command(inner.directory)
    if inner.commit("HEAD") != entry.object:
        return (
            f"check out the recorded commit with `{git} submodule update --init {name}`; if the"
            f" one in the folder is meant, run `{git} add {name}`"
        )
    if inner.attempt("config", "--type=bool", "core.sparseCheckout").stdout.strip() == b"true":
        return f"check it out with `{git_inside} sparse-checkout disable`"
    return (
        f"bring it back with `{git_inside} restore {_FILE}`; if it is meant to go, commit that in"
        f" the submodule, and run `{git} add {name}`"
    )
