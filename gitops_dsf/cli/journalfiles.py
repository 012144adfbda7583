"""The files of a journal: in a folder, or on a branch of the fleet repository."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from gitops_dsf.errors import UsageError
from gitops_dsf.hub.names import JOURNAL_BRANCH


def add_journal_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that name a journal."""
    sources = parser.add_argument_group("where the journal is").add_mutually_exclusive_group()
    sources.add_argument(
        "--journal-branch",
        metavar="BRANCH",
        default=JOURNAL_BRANCH,
        help=f"branch of the git repository in DIR, fetched before ({JOURNAL_BRANCH})",
    )
    sources.add_argument(
        "--journal", metavar="PATH", type=Path, help="a file of the journal, or a folder with its files"
    )


def journal_files(args: argparse.Namespace) -> tuple[dict[str, bytes], str]:
    """The files by name, and where they are from. Raises UsageError."""
    if args.journal is not None:
        return _files(args.journal), str(args.journal)
    found = branch_files(args)
    if found is None:
        name = args.journal_branch
        raise UsageError(
            f"there is no branch {name} in this clone; fetch it with git fetch origin"
            f" +refs/heads/{name}:refs/remotes/origin/{name}, or name the journal with --journal. The"
            " reconciler writes it if spec.reconciler.journal.enabled is true"
        )
    return found


def since_month(files: Mapping[str, bytes], start: float) -> dict[str, bytes]:
    """The files without months before a time (Unix seconds). One that is named otherwise stays."""
    from gitops_dsf.journal.lines import FILE

    first = f"{datetime.fromtimestamp(start, UTC):%Y-%m}.jsonl"
    return {name: content for name, content in files.items() if not FILE.fullmatch(name) or name >= first}


def branch_files(args: argparse.Namespace) -> tuple[dict[str, bytes], str] | None:
    """The same of the branch; None if this clone does not have it."""
    from gitops_dsf.journal.lines import FILE
    from gitops_dsf.repository.revision import find_branch

    branch = find_branch(args.directory, args.journal_branch)
    if branch is None:
        return None
    contents = branch.contents(suffixes=(".jsonl",))
    files = {path: content for path, content in contents if FILE.fullmatch(path)}
    return files, f"branch {branch.name} at {branch.short}"


def _files(path: Path) -> dict[str, bytes]:
    """The files of a folder that belong to a journal, or the file itself. Raises UsageError."""
    from gitops_dsf.journal.lines import FILE

    try:
        if not path.is_dir():
            return {path.name: path.read_bytes()}
        files = sorted(each for each in path.iterdir() if FILE.fullmatch(each.name))
        if not files:
            raise UsageError(f"{path} has no file of a journal; write a folder with files like 2026-06.jsonl")
        return {each.name: each.read_bytes() for each in files}
    except OSError as error:
        raise UsageError(
            f"cannot read the journal {path}: {error.strerror}; write a folder with files like 2026-06.jsonl"
        ) from error
