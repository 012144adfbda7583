"""The options that name the source of scores, decisions and the journal, for all verbs that need them."""

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import check_is_folder, moment
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.names import JOURNAL_BRANCH

if TYPE_CHECKING:
    from gitops_dsf.hub.snapshot import HubData, Snapshot
    from gitops_dsf.views.preview.fleet import FleetVersion

NO_DATA = "no scores given (--scores, --state-branch or --context)"


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --scores, --state-branch, --context, --kubeconfig and --now."""
    sources = parser.add_argument_group("where scores and decisions come from").add_mutually_exclusive_group()
    sources.add_argument(
        "--scores",
        metavar="PATH",
        type=Path,
        help="file or folder: kubectl get -o yaml, an agent's output folder, or a snapshot",
    )
    sources.add_argument(
        "--state-branch",
        metavar="BRANCH",
        help="branch of this git repository that holds a snapshot: gitops-dsf-state",
    )
    sources.add_argument("--context", metavar="HUB", help="context of the kubeconfig: ask the hub itself")
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        type=Path,
        help="with --context: in place of $KUBECONFIG or ~/.kube/config",
    )
    parser.add_argument(
        "--now",
        metavar="TIME",
        type=moment,
        help="time for which expired scores are computed; by default when the data was observed",
    )


def read_hub_data(
    args: argparse.Namespace, *, resources: "frozenset[str] | None" = None, moves_in: str | None = None
) -> "HubData":
    """Reads the requested source. If `resources` is given, reads only scores with these names. `moves_in`:
    the hub namespace whose paced moves are read, if a hub is asked.

    A missing state branch is no error, because pipelines name it before it exists.
    """
    from gitops_dsf.hub.snapshot import HubData

    if args.kubeconfig is not None and args.context is None:
        raise UsageError("--kubeconfig goes with --context")
    today = datetime.now(UTC)
    snapshot, missing = _snapshot(args, resources, moves_in)
    for problem in snapshot.problems if snapshot else ():
        print(f"warning: {problem}", file=sys.stderr)
    now = args.now or (snapshot.observed_at if snapshot else None) or today
    return HubData(snapshot=snapshot, now=now, today=today, missing=missing)


def _snapshot(
    args: argparse.Namespace, resources: "frozenset[str] | None", moves_in: str | None
) -> "tuple[Snapshot | None, str]":
    """What is known of the hub, or why nothing is."""
    if args.scores is not None:
        from gitops_dsf.hubreader.files import from_path

        return from_path(args.scores, resources=resources), ""
    if args.context is not None:
        from gitops_dsf.hubreader.inputs import observe

        snapshot = observe(
            context=args.context, kubeconfig=args.kubeconfig, resources=resources, moves_in=moves_in
        )
        return snapshot, ""
    if args.state_branch is not None:
        from gitops_dsf.hubreader.files import from_contents
        from gitops_dsf.repository.revision import find_branch

        branch = find_branch(args.directory, args.state_branch)
        if branch is None:
            name = args.state_branch
            return None, (
                f"there is no branch {name} in this clone: fetch it (git fetch origin"
                f" +refs/heads/{name}:refs/remotes/origin/{name}), or let the reconciler write it (state:"
                " {enabled: true} and gitSecret: {name: SECRET} below spec.reconciler in gitops-dsf.yaml)"
            )
        return from_contents(
            branch.contents(), origin=f"branch {branch.name} at {branch.short}", resources=resources
        ), ""
    return None, NO_DATA


def read_fleet(directory: Path) -> "FleetVersion | None":
    """Reads a repository without rendering it. None if there are errors, which are printed."""
    from gitops_dsf.pipeline import check
    from gitops_dsf.views.preview.fleet import version_of

    check_is_folder(directory)
    checked = check(directory)
    fleet = version_of(checked)
    if fleet is None:
        from gitops_dsf.cli.report import show_findings

        show_findings(directory, checked.diagnostics, ending="nothing can be simulated")
    return fleet


def placement_key(fleet: "FleetVersion", written: str) -> str:
    """`namespace/name` of a Placement. Its name is enough if it is unique. Raises UsageError."""
    if written in fleet.placements:
        return written
    found = [key for key in fleet.placements if key.partition("/")[2] == written]
    if len(found) == 1:
        return found[0]
    known = ", ".join(list(fleet.placements)[:10]) or "none"
    msg = f"there is no Placement {written}; this repository renders {known}"
    if found:
        msg = f"several Placements are called {written}: write one of {', '.join(found)}"
    raise UsageError(msg)


def add_journal_arguments(parser: argparse.ArgumentParser) -> None:
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
    from gitops_dsf.journal.record import FILE

    first = f"{datetime.fromtimestamp(start, UTC):%Y-%m}.jsonl"
    return {name: content for name, content in files.items() if not FILE.fullmatch(name) or name >= first}


def branch_files(args: argparse.Namespace) -> tuple[dict[str, bytes], str] | None:
    """The same of the branch; None if this clone does not have it."""
    from gitops_dsf.journal.record import FILE
    from gitops_dsf.repository.revision import find_branch

    branch = find_branch(args.directory, args.journal_branch)
    if branch is None:
        return None
    contents = branch.contents(suffixes=(".jsonl",))
    files = {path: content for path, content in contents if FILE.fullmatch(path)}
    return files, f"branch {branch.name} at {branch.short}"


def _files(path: Path) -> dict[str, bytes]:
    """The files of a folder that belong to a journal, or the file itself. Raises UsageError."""
    from gitops_dsf.journal.record import FILE

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
