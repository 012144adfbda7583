"""The options that name a journal, for all verbs that read one."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import add_fleet_directory
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.names import JOURNAL_BRANCH

if TYPE_CHECKING:
    from gitops_dsf.journal.lines import Read


def add_journal_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds DIR, --journal-branch and --journal."""
    add_fleet_directory(parser)
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


def read_journal(
    args: argparse.Namespace,
    *,
    about: str | None = None,
    since: float | None = None,
    explained: bool = True,
) -> "Read":
    """Reads the journal, and says on standard error which lines it skipped. Raises UsageError.

    Months before `since` (Unix seconds) are not read. `about` and `explained` are those of `lines.read`.
    """
    from datetime import UTC, datetime

    from dsf_wire.text import printable
    from gitops_dsf.journal.lines import FILE, read

    files, origin = (
        (journal_files(args.journal), str(args.journal)) if args.journal is not None else _branch_files(args)
    )
    if since is not None:
        first = f"{datetime.fromtimestamp(since, UTC):%Y-%m}.jsonl"
        files = {
            name: content for name, content in files.items() if not FILE.fullmatch(name) or name >= first
        }
    found = read(files, about=about, explained=explained)
    for bad in found.bad:
        place = bad if args.journal is not None and not args.journal.is_dir() else f"{origin}: {bad}"
        print(printable(f"{place}; it is skipped"), file=sys.stderr)
    return found


def journal_files(path: Path) -> dict[str, bytes]:
    """The files of a folder that belong to a journal, or the file itself. Raises UsageError."""
    from gitops_dsf.journal.lines import FILE

    try:
        if not path.is_dir():
            return {path.name: path.read_bytes()}
        files = sorted(each for each in path.iterdir() if FILE.fullmatch(each.name))
        if not files:
            msg = f"{path} has no file of a journal; write a folder with files like 2026-06.jsonl"
            raise UsageError(msg)
        return {each.name: each.read_bytes() for each in files}
    except OSError as error:
        msg = (
            f"cannot read the journal {path}: {error.strerror}; write a folder with files like 2026-06.jsonl"
        )
        raise UsageError(msg) from error


def _branch_files(args: argparse.Namespace) -> tuple[dict[str, bytes], str]:
    from gitops_dsf.journal.lines import FILE
    from gitops_dsf.repository.revision import find_branch

    name = args.journal_branch
    branch = find_branch(args.directory, name)
    if branch is None:
        msg = (
            f"there is no branch {name} in this clone; fetch it with git fetch origin"
            f" +refs/heads/{name}:refs/remotes/origin/{name}, or name the journal with --journal. The"
            " reconciler writes it if spec.reconciler.journal.enabled is true"
        )
        raise UsageError(msg)
    contents = branch.contents(suffixes=(".jsonl",))
    files = {path: content for path, content in contents if FILE.fullmatch(path)}
    return files, f"branch {branch.name} at {branch.short}"
