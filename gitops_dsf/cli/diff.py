"""gitops-dsf diff: shows what a change does before it is merged."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import add_fleet_directory, add_output, check_is_folder, json_text
from gitops_dsf.cli.hubdata import add_source_arguments, read_hub_data
from gitops_dsf.cli.render import RENDERED
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.wording import names_text, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitops_dsf.diagnostics import Diagnostic
    from gitops_dsf.pipeline import Checked
    from gitops_dsf.repository.load import Known
    from gitops_dsf.repository.revision import Base
    from gitops_dsf.views.preview.build import Preview
    from gitops_dsf.views.preview.fleet import FleetVersion

DESCRIPTION = """\
Compares a fleet repository in the working tree with the same repository at a revision, and shows what
differs: scorers and the clusters that gain or lose them, Placements, and the applications that would move,
where to and why. The base is the merge base of the revision and HEAD, as in a pull request. It is read from
git objects; the working tree, with its uncommitted changes, is not modified."""

EXAMPLES = """\
examples:
  gitops-dsf diff --base main --scores scores.yaml
  gitops-dsf diff --base origin/main --state-branch gitops-dsf-state -o markdown > comment.md
  gitops-dsf diff fleet --base main --head feature --context hub --exit-code
  gitops-dsf diff --base origin/main --state-branch gitops-dsf-state --fail-on eviction --fail-on rescore

exit codes: 0 fine; 1 with --exit-code when anything differs, with --fail-on when that happens or is unknown,
and whenever the head does not validate
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fleet_directory(parser)
    parser.add_argument("--base", metavar="REV", required=True, help="branch, tag or commit to compare with")
    parser.add_argument("--head", metavar="REV", help="compare this revision in place of the working tree")
    add_output(parser, "text", "markdown", "json")
    parser.add_argument("--exit-code", action="store_true", help="exit 1 when anything differs")
    parser.add_argument(
        "--fail-on",
        metavar="EFFECT",
        choices=("move", "eviction", "rescore"),
        action="append",
        default=[],
        help="exit 1 for a move, an eviction or a rescore; may be repeated",
    )
    parser.add_argument(
        "--warn-rescored",
        metavar="PERCENT",
        type=float,
        default=25.0,
        help="warn when more of the fleet is re-scored (25 by default)",
    )
    parser.add_argument(
        "--warn-close",
        metavar="POINTS",
        type=int,
        default=2,
        help="warn of applications this close to moving (2 by default; 0 for none)",
    )
    add_source_arguments(parser)


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One of the two repositories that are compared."""

    fleet: "FleetVersion | None"
    errors: "tuple[Diagnostic, ...]"
    files: tuple[tuple[str, bool], ...] = ()
    """Paths of files in rendered/, and whether each is a regular file."""
    absent: bool = False
    """Whether the revision has no fleet repository in this folder."""


def run(args: argparse.Namespace) -> int:
    """Returns 1 when the head has errors, with --fail-on and --exit-code also for what they name; else 0."""
    from gitops_dsf.pipeline import check
    from gitops_dsf.repository.revision import find_base
    from gitops_dsf.views.preview.markdown import markdown, text

    check_is_folder(args.directory)
    base = find_base(args.directory, args.base, head=args.head or "HEAD")
    known: Known = {}
    before = _at(base, base.commit, known)
    if args.head is None:
        after = _side(check(args.directory, known=known), files=tuple(_on_disk(args.directory / RENDERED)))
    elif (commit := base.repository.commit(args.head)) is not None:
        after = _at(base, commit, known)
    else:
        raise UsageError(f"there is no revision {args.head} in this clone")
    preview, evidence = _preview(args, base, before, after)
    if args.output == "json":
        sys.stdout.write(json_text(preview))
    else:
        sys.stdout.write((markdown if args.output == "markdown" else text)(preview, evidence=evidence))
    if preview.head_errors:
        return 1
    reasons = list(_refusals(preview, before.fleet, after.fleet, args.fail_on))
    for reason in reasons:
        print(f"--fail-on: {reason}", file=sys.stderr)
    return int(bool(reasons) or (args.exit_code and preview.differs))


def _refusals(
    preview: "Preview", base: "FleetVersion | None", head: "FleetVersion | None", effects: list[str]
) -> "Iterator[str]":
    """Why the change is refused, in words. What is not known counts as if it happened."""
    from msgspec import UNSET

    from gitops_dsf.views.preview.moves import UNKNOWN
    from gitops_dsf.views.preview.paced import paced_text
    from gitops_dsf.views.preview.scorers import rescored

    found = preview.comparison
    if found is None or head is None:
        return
    if found.moves is None and {"move", "eviction"} & {*effects}:
        yield f"which applications move is unknown: {preview.hub.missing}"
    leaving = [move for move in found.moves or () if move.target == UNKNOWN or move.origin]
    evicted = [move for move in leaving if move.target == UNKNOWN or len(move.target) < len(move.origin)]
    for effect, moves, what in (
        ("move", leaving, "move"),
        ("eviction", evicted, "lose a cluster without another"),
    ):
        if effect in effects and moves:
            names = names_text([move.application for move in moves])
            yield f"{plural(len(moves), 'decision')} would or may {what}: {names}"
    paced = found.paced
    if "move" in effects and paced is not UNSET and paced.count > paced.without_change:
        yield paced_text(paced)
    for window in found.maintenance or ():
        if "move" in effects and window.count:
            yield f"maintenance {window.name}: {plural(window.count, 'application')} would leave"
    touched = {name: clusters for name, clusters in rescored(found.scorers, base, head).items() if clusters}
    if "rescore" in effects and touched:
        clusters = frozenset[str]().union(*touched.values())
        yield f"scores of {plural(len(clusters), 'cluster')} would change: {names_text(touched)}"


def _preview(args: argparse.Namespace, base: "Base", before: _Side, after: _Side) -> "tuple[Preview, str]":
    """The preview, and which data its moves are computed from."""
    from gitops_dsf.views.preview.build import ErrorFinding, Preview, compare, differs
    from gitops_dsf.views.preview.concerns import Thresholds
    from gitops_dsf.views.preview.fleet import resources_ranked

    sides = [side.fleet for side in (before, after) if side.fleet is not None]
    spec = after.fleet.resolved.repository.spec if after.fleet is not None else None
    moves_in = spec.hub_namespace if spec is not None and spec.pace is not None else None
    data = read_hub_data(args, resources=resources_ranked(sides), moves_in=moves_in)
    if after.absent:
        raise UsageError(f"{args.head} has no fleet repository in this folder")
    notes = [base.note] if base.note else []
    if before.absent:
        notes.append("the base has no fleet repository in this folder: everything is new")
    comparison = None
    if after.fleet is not None and (before.fleet is not None or before.absent):
        thresholds = Thresholds(rescored_percent=args.warn_rescored, close_points=args.warn_close)
        comparison = compare(before.fleet, after.fleet, data, thresholds=thresholds)
    foreign = _foreign(before, after)
    preview = Preview(
        base=base.title,
        head=args.head or "the working tree",
        notes=tuple(notes),
        differs=bool(foreign) or differs(comparison),
        foreign_files=foreign,
        hub=data.shown(),
        base_errors=() if before.absent else tuple(map(ErrorFinding.of, before.errors)),
        head_errors=tuple(map(ErrorFinding.of, after.errors)),
        comparison=comparison,
    )
    return preview, data.describe()


def _foreign(before: _Side, after: _Side) -> tuple[str, ...]:
    """Files that Argo CD would apply and neither side renders. Those of the base are merely stale."""
    from gitops_dsf.output import unwanted
    from gitops_dsf.render.tree import paths

    if after.fleet is None or after.fleet.resolved.repository.spec.output.mode != "Directory":
        return ()
    known = paths(after.fleet.plan) | (paths(before.fleet.plan) if before.fleet is not None else frozenset())
    return unwanted(after.files, known)


def _on_disk(rendered: Path) -> "Iterator[tuple[str, bool]]":
    from gitops_dsf.repository.files import SafeFolder

    if rendered.is_symlink():
        yield ".", False
        return
    if not rendered.is_dir():
        return
    try:
        for path, size in SafeFolder(rendered).walk():
            yield path, size is not None
    except OSError as error:
        raise RepositoryError(f"cannot read {error.filename}: {error.strerror}") from error


def _at(base: "Base", commit: str, known: "Known") -> _Side:
    from gitops_dsf.pipeline import check
    from gitops_dsf.repository.load.discover import FOLDERS, SETTINGS_FILE
    from gitops_dsf.repository.revision import checkout, paths_at

    with checkout(base.repository, commit) as root:
        if not any((root / name).exists() for name in (SETTINGS_FILE, *FOLDERS)):
            return _Side(fleet=None, errors=(), absent=True)
        return _side(check(root, known=known), files=tuple(paths_at(base.repository, commit, RENDERED)))


def fleet_at(base: "Base") -> "FleetVersion | None":
    """The fleet repository at a commit; None if there is none or it has errors."""
    return _at(base, base.commit, {}).fleet


def _side(checked: "Checked", *, files: tuple[tuple[str, bool], ...]) -> _Side:
    from gitops_dsf.diagnostics import Severity
    from gitops_dsf.views.preview.fleet import version_of

    errors = tuple(item for item in checked.diagnostics if item.severity is Severity.ERROR)
    return _Side(fleet=version_of(checked), errors=errors, files=files)
