"""The verb `gitops-dsf sync`: updates locks/ from the /config pages of scoring APIs."""

import argparse
import asyncio
import json
import re
import sys
from typing import Final

import msgspec

from dsf_wire.text import printable_json, printable_lines
from gitops_dsf.cli.inputs import check_has_settings, check_is_folder
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.repository.files import write_files
from gitops_dsf.show.sync import lock_lines, sync_summary, ways_to_services
from gitops_dsf.sync.locks import SyncPlan

try:
    from gitops_dsf.sync.fetch import Fetcher, FetchLimits
    from gitops_dsf.sync.plan import plan_sync
except ModuleNotFoundError as error:
    raise GitopsDsfError(
        f"{error.name} is not installed; asking scoring APIs needs the extra live"
        " (docs/start/install.md)"
    ) from error

# A host name, an IPv4 address, or an IPv6 address in brackets, each with a port.
_ADDRESS: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}")


def run(args: argparse.Namespace) -> int:
    """Returns 1 when a page is not accepted, or with --check when a lock differs."""
    _check_arguments(args)
    plan = asyncio.run(_plan(args))
    # Refused locks stop no others: each file is written or stays as it is.
    if not args.check:
        write_files(args.directory, plan.files)
    if args.output == "json":
        text = json.dumps(msgspec.to_builtins(plan.outcomes), indent=2, ensure_ascii=True)
        sys.stdout.write(printable_json(text) + "\n")
    else:
        sys.stdout.write(printable_lines(lock_lines(plan, check=args.check)))
    closing = [sync_summary(plan, check=args.check), *ways_to_services(plan, args.directory)]
    sys.stderr.write(printable_lines(closing))
    return int(plan.refused or (args.check and bool(plan.files)))


def _check_arguments(args: argparse.Namespace) -> None:
    """Raises UsageError for arguments that cannot be followed."""
    # `sync cpu` is the common slip: the folder comes first, and scorers have a flag.
    hint = ""
    if len(args.directory.parts) == 1:
        hint = f"; write --scorer {args.directory} for one scorer"
    check_is_folder(args.directory, hint)
    check_has_settings(args.directory)
    # Compared like this, NaN is refused, too, which float() accepts.
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


async def _plan(args: argparse.Namespace) -> SyncPlan:
    limits = FetchLimits(seconds=args.timeout)
    fetcher = Fetcher(limits=limits, secrets=args.credentials, connect_to=args.connect_to)
    async with fetcher:
        return await plan_sync(args.directory, fetcher=fetcher, only=args.scorer)
