"""The verb `gitops-dsf diff`: shows the effects of a change before it is merged."""

import argparse
import sys

from msgspec import UNSET

from dsf_wire.text import printable
from gitops_dsf.cli.currentscores import CurrentScores, current_scores
from gitops_dsf.cli.failon import refusals
from gitops_dsf.cli.hubdata import read_hub_data
from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.cli.sides import Side, side_at, side_on_disk
from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.snapshots.snapshot import HubData
from gitops_dsf.output import unwanted
from gitops_dsf.repository.git import Repository
from gitops_dsf.repository.load import ParsedFiles
from gitops_dsf.repository.revision.base import Base, find_base
from gitops_dsf.show.preview.document import preview_json
from gitops_dsf.show.preview.page import preview_comment, preview_text
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.build import Comparison, Preview, compare, differs
from gitops_dsf.views.preview.placements import resources_ranked


def run(args: argparse.Namespace) -> int:
    """Returns 1 when the head has errors, and for what --fail-on and --exit-code name; else 0."""
    check_is_folder(args.directory)
    # Filled by the first side and read by the second: most of their files are the same.
    parsed_files: ParsedFiles = {}
    with Repository(directory=args.directory).reading() as repository:
        base = find_base(repository, args.base, head=args.head or "HEAD")
        before = side_at(base, base.commit, parsed_files)
        after = _head(args, base, parsed_files)
    if after.absent:
        raise UsageError(f"{args.head} has no fleet repository in this folder")
    # After the revisions: a hub may answer slowly, or want a login.
    data = _hub_data(args, before, after)
    current = current_scores(args, before.fleet, after.fleet, data)
    preview = _preview(args, base, before, after, data=data, current=current)
    # A preview of a head with errors lists them, so it is written in any case.
    _write(args, preview, evidence=data.describe())
    if preview.head_errors:
        return 1
    reasons = list(refusals(preview, before.fleet, after.fleet, args.fail_on))
    for reason in reasons:
        # Not to standard output, which is the preview itself.
        print(printable(f"--fail-on: {reason}"), file=sys.stderr)
    return int(bool(reasons) or (args.exit_code and preview.differs))


def _head(args: argparse.Namespace, base: Base, known: ParsedFiles) -> Side:
    """The working tree, or the revision of --head. Raises UsageError."""
    if args.head is None:
        return side_on_disk(args.directory, known)
    commit = base.repository.commit(args.head)
    if commit is None:
        raise UsageError(f"there is no revision {args.head} in this clone")
    return side_at(base, commit, known)


def _hub_data(args: argparse.Namespace, before: Side, after: Side) -> HubData:
    """The scores that either side ranks by, and with a pace the paced moves of the hub."""
    fleets = [side.fleet for side in (before, after) if side.fleet is not None]
    # Without a pace there are no paced moves, and no rights to read them are needed.
    moves_in = None
    if after.fleet is not None and after.fleet.repository.spec.pace is not None:
        moves_in = after.fleet.repository.spec.hub_namespace
    return read_hub_data(args, resources=resources_ranked(fleets), moves_in=moves_in)


def _preview(
    args: argparse.Namespace,
    base: Base,
    before: Side,
    after: Side,
    *,
    data: HubData,
    current: CurrentScores,
) -> Preview:
    notes = [base.note] if base.note else []
    if before.absent:
        notes.append("the base has no fleet repository in this folder: everything is new")
    foreign = _foreign_files(before, after)
    comparison = _compared(args, before, after, data, current)
    return Preview(
        base=base.title,
        head=args.head or "the working tree",
        notes=tuple(notes),
        differs=bool(foreign) or differs(comparison),
        foreign_files=foreign,
        hub=data.shown(),
        # An absent base has findings such as the missing gitops-dsf.yaml, which need no fix.
        base_errors=() if before.absent else tuple(map(FindingOutput.of_error, before.errors)),
        head_errors=tuple(map(FindingOutput.of_error, after.errors)),
        comparison=comparison,
        raw_scores=UNSET if current.source is None else current.source,
    )


def _compared(
    args: argparse.Namespace, before: Side, after: Side, data: HubData, current: CurrentScores
) -> Comparison | None:
    """None if a side has errors. A base that is absent has none."""
    if after.fleet is None or (before.fleet is None and not before.absent):
        return None
    return compare(
        before.fleet,
        after.fleet,
        data,
        rescored_percent=args.warn_rescored,
        close_points=args.warn_close,
        raw=current.raw,
    )


def _foreign_files(before: Side, after: Side) -> tuple[str, ...]:
    """Files that Argo CD would apply and neither side renders.

    Those that the base renders are merely stale: the next rendering removes them.
    """
    # With mode Branch, Argo CD reads another branch, which `ci publish` checks for such files.
    if after.fleet is None or after.fleet.repository.spec.output.mode != "Directory":
        return ()
    rendered = applied(after.fleet).paths
    if before.fleet is not None:
        rendered = rendered | applied(before.fleet).paths
    return unwanted(after.files, rendered)


def _write(args: argparse.Namespace, preview: Preview, *, evidence: str) -> None:
    if args.output == "html" or args.page is not None:
        # Other formats need no templates.
        from gitops_dsf.show.pages.preview import preview_page

        page = preview_page(preview, evidence=evidence)
        if args.page is not None:
            args.page.write_text(page, encoding="utf-8")
        if args.output == "html":
            sys.stdout.write(page)
            return
    if args.output == "json":
        sys.stdout.write(preview_json(preview))
    elif args.output == "markdown":
        sys.stdout.write(preview_comment(preview, evidence=evidence))
    else:
        sys.stdout.write(preview_text(preview, evidence=evidence, everything=args.all))
