"""gitops-dsf migrate: rewrites older spellings in place."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_dsf.repository.migrate import Rewritten

DESCRIPTION = """\
Rewrites the spellings of blog posts and of the first enhancement text (source.endpoint.host,
source.query.query, mask, configSyncMode: full, type: prometheus ...) in place. Comments, order and every byte
outside of what is rewritten stay. `gitops-dsf validate` names each of them with its line."""

EXAMPLES = """\
examples:
  gitops-dsf migrate scorers/*.yaml config/*.yaml
  gitops-dsf migrate --check scorers/*.yaml     only say what would change; exit 1 if something would
  git diff                                      what it did"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of migrate."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="YAML file to rewrite")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")


def run(args: argparse.Namespace) -> int:
    """Rewrites the files. Returns 1 when something is left for people or cannot be read, and with --check
    when a file would change.
    """
    from gitops_dsf.repository.migrate import rewrite
    from gitops_dsf.repository.write import write_file

    failed, silent = False, True
    for path in args.files:
        text = _read(path)
        result = rewrite(text, file=path.as_posix())
        _report(result, check=args.check)
        if result.changes and not args.check:
            write_file(path, result.text)
        silent = silent and not (result.changes or result.left or result.unreadable)
        failed = failed or bool(result.left or result.unreadable or (args.check and result.changes))
    if silent:
        sys.stderr.write("nothing to rewrite\n")
    return int(failed)


def _report(result: "Rewritten", *, check: bool) -> None:
    verb = "would rewrite" if check else "rewritten"
    for change in result.changes:
        sys.stdout.write(f"{change.position}: {verb}: {change.message}; {change.hint}\n")
    for change in result.left:
        sys.stderr.write(f"{change.position}: left for you: {change.message}\n    {change.hint}\n")
    for item in result.unreadable:
        sys.stderr.write(f"{item.position}: {item.severity} {item.code}: {item.message}\n")


def _read(path: Path) -> str:
    from gitops_dsf.errors import RepositoryError, UsageError
    from gitops_dsf.repository.load import ReadLimits

    try:
        content = path.read_bytes()
    except IsADirectoryError as error:
        msg = f"{path} is a folder; name its files, such as {path / '*.yaml'}"
        raise UsageError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise RepositoryError(msg) from error
    if len(content) > ReadLimits().file_bytes:
        msg = f"{path} has {len(content)} bytes; a file may have at most {ReadLimits().file_bytes}"
        raise RepositoryError(msg)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise RepositoryError(msg) from error
