"""Reads the files of a journal: from its branch, or from the folder of --journal."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gitops_dsf.errors import UsageError
from gitops_dsf.journal.lines import FILE
from gitops_dsf.repository.revision.branch import find_branch


class JournalFiles(NamedTuple):
    """The files of a journal, which are not decoded yet."""

    contents: dict[str, bytes]
    """Contents by name of the file."""
    origin: str
    """The place that they were read from, for people."""


def journal_files(args: argparse.Namespace) -> JournalFiles | None:
    """Reads the files; None if there is no branch. Raises UsageError."""
    if args.journal is not None:
        return JournalFiles(_files(args.journal), str(args.journal))
    branch = find_branch(args.directory, args.journal_branch)
    if branch is None:
        return None
    files = branch.contents(suffixes=(".jsonl",))
    # People may keep files of their own on the branch. With --journal any file can be named.
    contents = {path: content for path, content in files if FILE.fullmatch(path)}
    return JournalFiles(contents, f"branch {branch.name} at {branch.short}")


def since_month(files: Mapping[str, bytes], start: float) -> dict[str, bytes]:
    """Returns the files without months before a time (Unix seconds).

    A file with another name stays, because it may hold any month.
    """
    first = f"{datetime.fromtimestamp(start, UTC):%Y-%m}.jsonl"
    since: dict[str, bytes] = {}
    for name, content in files.items():
        # Names of months are in the order of time.
        if not FILE.fullmatch(name) or name >= first:
            since[name] = content
    return since


def _files(path: Path) -> dict[str, bytes]:
    """The files of a folder that belong to a journal, or the file itself. Raises UsageError."""
    try:
        if not path.is_dir():
            return {path.name: path.read_bytes()}
        files = sorted(file for file in path.iterdir() if FILE.fullmatch(file.name))
        if not files:
            raise UsageError(
                f"{path} has no file of a journal; write a folder with files like 2026-06.jsonl"
            )
        return {file.name: file.read_bytes() for file in files}
    except OSError as error:
        raise UsageError(
            f"cannot read the journal {path}: {error.strerror}; write a folder with files like"
            " 2026-06.jsonl"
        ) from error
