"""Inputs that several verbs read: scores and decisions of the hub, and the repository."""

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.cli.report import show_findings
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.snapshots.snapshot import HubData, Snapshot
from gitops_dsf.hubreader.files import SUFFIXES, from_contents, from_path
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.revision.branch import find_branch
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import known_bindings

MAX_NAMED: Final = 10
"""Placements that a message names."""
NO_DATA: Final = "no scores given (--scores, --state-branch or --context)"


def read_hub_data(
    args: argparse.Namespace,
    *,
    resources: frozenset[str] | None = None,
    moves_in: str | None = None,
) -> HubData:
    """Reads the requested source.

    If `resources` is given, only scores with these names are read. `moves_in` is the hub namespace
    whose paced moves are read, if a hub is asked.

    A missing state branch is not an error, because pipelines name it before it exists.
    """
    if args.kubeconfig is not None and args.context is None:
        raise UsageError("--kubeconfig goes with --context")
    today = datetime.now(UTC)
    snapshot, missing = _snapshot(args, resources, moves_in)
    for problem in snapshot.problems if snapshot else ():
        # A part that cannot be read fails nothing, and is named. Standard output is the result,
        # which programs and pipelines read.
        print(printable(f"warning: {problem}"), file=sys.stderr)
    # Scores of a snapshot expired or not when it was taken. By the clock of now, all of an old one
    # would count as 0.
    now = args.now or (snapshot.observed_at if snapshot else None) or today
    return HubData(snapshot=snapshot, now=now, today=today, missing=missing)


def _snapshot(
    args: argparse.Namespace, resources: frozenset[str] | None, moves_in: str | None
) -> tuple[Snapshot | None, str]:
    """The snapshot of the hub, or the reason why there is none."""
    if args.scores is not None:
        return from_path(args.scores, resources=resources), ""
    if args.context is not None:
        # It needs the extra live, files and branches do not.
        from gitops_dsf.hubreader.snapshot import observe

        snapshot = observe(
            context=args.context, kubeconfig=args.kubeconfig, names=resources, moves_in=moves_in
        )
        return snapshot, ""
    if args.state_branch is not None:
        branch = find_branch(args.directory, args.state_branch)
        if branch is None:
            name = args.state_branch
            return None, (
                f"there is no branch {name} in this clone: fetch it (git fetch origin"
                f" +refs/heads/{name}:refs/remotes/origin/{name}), or let the reconciler write it"
                " (state: {enabled: true} and gitSecret: {name: SECRET} below spec.reconciler in"
                " gitops-dsf.yaml)"
            )
        # With the commit, because a clone may have an old state of the branch.
        origin = f"branch {branch.name} at {branch.short}"
        contents = branch.contents(suffixes=SUFFIXES)
        return from_contents(contents, origin=origin, resources=resources), ""
    return None, NO_DATA


def read_fleet(directory: Path) -> CheckedFleet | None:
    """Reads a repository without rendering it. None if there are errors, which are printed."""
    check_is_folder(directory)
    checked = check(directory)
    fleet = checked.fleet
    if fleet is None:
        show_findings(directory, checked.diagnostics, ending="nothing can be simulated")
    return fleet


def placement_key(fleet: CheckedFleet, written: str) -> str:
    """`namespace/name` of a Placement. Its name is enough if it is unique. Raises UsageError."""
    if written in applied(fleet).placements:
        return written
    keys = list(applied(fleet).placements)
    # Most fleets have their Placements in one namespace, which should not need to be typed.
    matching = [key for key in keys if key.partition("/")[2] == written]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(
            f"several Placements are called {written}: write one of {', '.join(matching)}"
        )
    rendered = ", ".join(keys[:MAX_NAMED]) or "none"
    raise UsageError(f"there is no Placement {written}; this repository renders {rendered}")


def assumed_bindings(fleet: CheckedFleet, keys: Iterable[str], data: HubData) -> tuple[str, ...]:
    """The ManagedClusterSetBindings that Placements need and that may not be on the hub.

    They are `namespace/name`, sorted; none if the bindings of the hub are known.
    """
    # A binding that is missing on the hub leaves its set out, so people should check this guess.
    if known_bindings(data.snapshot) is not None:
        return ()
    pairs: set[tuple[str, str]] = set()
    for key in keys:
        pairs.update(applied(fleet).assumed_bindings.get(key, ()))
    return tuple(sorted(map("/".join, pairs)))
