"""gitops-dsf sync: updates locks/ from the /config pages of scoring APIs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.arguments import add_fleet_directory, add_output, check_has_settings, check_is_folder

if TYPE_CHECKING:
    from gitops_dsf.sync.locks import LockResult, SyncPlan

DESCRIPTION = """\
Asks the /config page of every DynamicScorer with configSyncMode Full, judges the answers by the rules of
`gitops-dsf validate` and writes locks/<scorer>.yaml where the meaning changed. What is not accepted is
reported with its reason; its lock stays."""

EXAMPLES = """\
examples:
  gitops-dsf sync                               the repository in this folder
  gitops-dsf sync fleet --scorer cpu-forecast   one scorer only
  gitops-dsf sync --check                       write nothing; exit 1 when a lock differs from what its page says
  gitops-dsf sync --check -o json               field by field, for programs

Exit codes: 0 fine; 1 a page was not accepted, or with --check a lock differs; 2 wrong usage."""  # noqa: E501


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fleet_directory(parser)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a lock differs")
    parser.add_argument(
        "--scorer", metavar="NAME", action="append", default=[], help="only this scorer; may be repeated"
    )
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="SECONDS", help="total time for each page (10)"
    )
    parser.add_argument(
        "--credentials",
        metavar="DIR",
        type=Path,
        help="folder with the Secrets that scoring.auth names, each value in the file <secret>/<key>",
    )
    add_output(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Returns 1 when a page is not accepted, or with --check when a lock differs."""
    import asyncio
    import json

    import msgspec

    from gitops_dsf.errors import UsageError

    hint = f"; write --scorer {args.directory} for one scorer" if len(args.directory.parts) == 1 else ""
    check_is_folder(args.directory, hint)
    check_has_settings(args.directory)
    if not 0 < args.timeout <= 600:
        raise UsageError(f"--timeout {args.timeout:g}: write seconds above 0, at most 600")
    if args.credentials is not None and not args.credentials.is_dir():
        raise UsageError(f"--credentials {args.credentials}: there is no such folder")
    plan = asyncio.run(_plan(args))
    if not args.check:
        from gitops_dsf.repository.files import write_files

        write_files(args.directory, plan.files)
    if args.output == "json":
        sys.stdout.write(json.dumps(msgspec.to_builtins(plan.outcomes), indent=2, ensure_ascii=True) + "\n")
    else:
        width = max((len(item.scorer) for item in plan.outcomes), default=0)
        lines = (line for item in plan.outcomes for line in _lines(item, width, check=args.check))
        sys.stdout.write(printable_lines(lines))
    sys.stderr.write(f"{_summary(plan, check=args.check)}\n")
    return int(plan.refused or (args.check and bool(plan.files)))


async def _plan(args: argparse.Namespace) -> "SyncPlan":
    from gitops_dsf.errors import GitopsDsfError

    try:
        from gitops_dsf.sync.fetch import Fetcher, FetchLimits
    except ModuleNotFoundError as error:
        raise GitopsDsfError(
            f"{error.name} is not installed; asking scoring APIs needs: pip install 'gitops-dsf[live]'"
        ) from error
    from gitops_dsf.sync.plan import plan_sync

    limits = FetchLimits(seconds=args.timeout)
    async with Fetcher(limits=limits, secrets=args.credentials) as fetcher:
        return await plan_sync(args.directory, fetcher=fetcher, only=args.scorer)


def _lines(item: "LockResult", width: int, *, check: bool) -> list[str]:
    from gitops_dsf.sync.locks import LockState

    would = "would be " if check else ""
    head = {
        LockState.UNCHANGED: f"unchanged  {item.file}",
        LockState.NEW: f"new        {item.file} {would}written",
        LockState.CHANGED: f"changed    {item.file} {would}written",
        LockState.REFUSED: f"refused    {item.file} stays as it is",
        LockState.UNUSED: f"unused     {item.file}",
    }[item.verdict]
    lines = [f"{item.scorer:<{width}}  {head}"]
    lines += [f"    {reason}" for reason in item.reasons]
    for change in item.changes:
        if item.verdict is LockState.NEW:
            lines.append(f"    {change.field}: {_value(change.after)}")
            continue
        lines += [
            f"    {change.field}",
            f"      - {_value(change.before)}",
            f"      + {_value(change.after)}",
        ]
    return lines + [f"    warning: {note}" for note in item.notes]


def _value(value: object) -> str:
    return "(absent)" if value is None else printable(value, most=400)


def _summary(plan: "SyncPlan", *, check: bool) -> str:
    from collections import Counter

    from gitops_dsf.sync.locks import LockState

    if not plan.outcomes:
        return "no scorer has configSyncMode Full: nothing to ask"
    counts = Counter(item.verdict for item in plan.outcomes)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in LockState if counts[verdict])
    return f"{words}; run gitops-dsf sync to write them" if check and plan.files else words
