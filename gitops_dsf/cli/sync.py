"""gitops-dsf sync: updates locks/ from the /config pages of scoring APIs."""

import argparse
import asyncio
import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from dsf_wire.text import printable, printable_json, printable_lines
from gitops_dsf.cli.inputs import check_has_settings, check_is_folder
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.repository.files import write_files
from gitops_dsf.sync.locks import LockResult, LockState, SyncPlan

_ADDRESS: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}")

try:
    from gitops_dsf.sync.fetch import Fetcher, FetchLimits
    from gitops_dsf.sync.plan import plan_sync
except ModuleNotFoundError as error:
    raise GitopsDsfError(
        f"{error.name} is not installed; asking scoring APIs needs the extra live"
        " (docs/start/install.md)"
    ) from error


def run(args: argparse.Namespace) -> int:
    """Returns 1 when a page is not accepted, or with --check when a lock differs."""
    hint = (
        f"; write --scorer {args.directory} for one scorer"
        if len(args.directory.parts) == 1
        else ""
    )
    check_is_folder(args.directory, hint)
    check_has_settings(args.directory)
    if not 0 < args.timeout <= 600:
        raise UsageError(f"--timeout {args.timeout:g}: write seconds above 0, at most 600")
    if args.connect_to:
        if not _ADDRESS.fullmatch(args.connect_to):
            raise UsageError(
                f"--connect-to {args.connect_to}: write host and port, such as 127.0.0.1:18080"
            )
        if len(set(args.scorer)) != 1:
            raise UsageError(
                "--connect-to goes with one --scorer: each Service has a port of its own"
            )
    if args.credentials is not None and not args.credentials.is_dir():
        raise UsageError(f"--credentials {args.credentials}: there is no such folder")
    plan = asyncio.run(_plan(args))
    if not args.check:
        write_files(args.directory, plan.files)
    if args.output == "json":
        text = json.dumps(msgspec.to_builtins(plan.outcomes), indent=2, ensure_ascii=True)
        sys.stdout.write(printable_json(text) + "\n")
    else:
        width = max((len(item.scorer) for item in plan.outcomes), default=0)
        lines = (line for item in plan.outcomes for line in _lines(item, width, check=args.check))
        sys.stdout.write(printable_lines(lines))
    sys.stderr.write(
        printable_lines([_summary(plan, check=args.check), *_other_ways(plan, args.directory)])
    )
    return int(plan.refused or (args.check and bool(plan.files)))


async def _plan(args: argparse.Namespace) -> SyncPlan:
    limits = FetchLimits(seconds=args.timeout)
    fetcher = Fetcher(limits=limits, secrets=args.credentials, connect_to=args.connect_to)
    async with fetcher:
        return await plan_sync(args.directory, fetcher=fetcher, only=args.scorer)


def _lines(item: LockResult, width: int, *, check: bool) -> list[str]:
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


def _summary(plan: SyncPlan, *, check: bool) -> str:
    if not plan.outcomes:
        return "no scorer has configSyncMode Full: nothing to ask"
    counts = Counter(item.verdict for item in plan.outcomes)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in LockState if counts[verdict])
    if not plan.files:
        return words
    if check:
        return f"{words}; run gitops-dsf sync to write them"
    return f"{words}; review locks/, run gitops-dsf render, and commit both"


def _other_ways(plan: SyncPlan, directory: Path) -> list[str]:
    """What to do where pages of Services cannot be reached, as on a laptop."""
    if not plan.unreached:
        return []
    first = plan.unreached[0]
    parts, fleet = (
        urlsplit(first.url),
        "" if directory == Path() else f" {shlex.quote(str(directory))}",
    )
    service, namespace = (parts.hostname or "").split(".")[:2]
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return [
        (
            f"{parts.hostname} is the name of a Service, which is known in its cluster only. Forward"
            " its port:"
        ),
        f"  kubectl --context CLUSTER -n {namespace} port-forward service/{service} 18080:{port} &",
        f"  gitops-dsf sync{fleet} --scorer {first.scorer} --connect-to 127.0.0.1:18080",
        (
            "or let the reconciler propose the locks, if the hub reaches it"
            " (docs/operate/proposals.md)"
        ),
    ]
