"""gitops-dsf diff: shows what a change does before it is merged."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from dsf_wire.text import printable
from gitops_dsf.cli.hubdata import read_hub_data
from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.output import unwanted
from gitops_dsf.pipeline import CheckResult, check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.render.tree import paths
from gitops_dsf.repository.load import Known
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.revision.base import Base, find_base
from gitops_dsf.repository.revision.checkout import checkout
from gitops_dsf.repository.revision.tree import paths_at
from gitops_dsf.repository.safefolder import SafeFolder
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.preview.pace import paced_change_text
from gitops_dsf.show.preview.page import preview_comment, preview_text
from gitops_dsf.views.preview.build import Preview, compare, differs
from gitops_dsf.views.preview.moves import UNKNOWN
from gitops_dsf.views.preview.placements import resources_ranked
from gitops_dsf.views.preview.scorers import rescored
from gitops_dsf.wording import names_text, plural


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One of the two repositories that are compared."""

    fleet: CheckedFleet | None
    errors: tuple[Diagnostic, ...]
    files: tuple[tuple[str, bool], ...] = ()
    """Paths of files in rendered/, and whether each is a regular file."""
    absent: bool = False
    """Whether the revision has no fleet repository in this folder."""


def run(args: argparse.Namespace) -> int:
    """Returns 1 when the head has errors, with --fail-on and --exit-code also for what they name; else 0."""
    check_is_folder(args.directory)
    base = find_base(args.directory, args.base, head=args.head or "HEAD")
    known: Known = {}
    before = _at(base, base.commit, known)
    if args.head is None:
        after = _side(
            check(args.directory, known=known), files=tuple(_on_disk(args.directory / RENDERED))
        )
    elif (commit := base.repository.commit(args.head)) is not None:
        after = _at(base, commit, known)
    else:
        raise UsageError(f"there is no revision {args.head} in this clone")
    preview, evidence = _preview(args, base, before, after)
    if args.output == "json":
        sys.stdout.write(json_text(preview))
    elif args.output == "markdown":
        sys.stdout.write(preview_comment(preview, evidence=evidence))
    else:
        sys.stdout.write(preview_text(preview, evidence=evidence, everything=args.all))
    if preview.head_errors:
        return 1
    reasons = list(_refusals(preview, before.fleet, after.fleet, args.fail_on))
    for reason in reasons:
        print(printable(f"--fail-on: {reason}"), file=sys.stderr)
    return int(bool(reasons) or (args.exit_code and preview.differs))


def _refusals(
    preview: Preview, base: CheckedFleet | None, head: CheckedFleet | None, effects: list[str]
) -> Iterator[str]:
    """Why the change is refused, in words. What is not known counts as if it happened."""
    found = preview.comparison
    if found is None or head is None:
        return
    if found.moves is None and {"move", "eviction"} & {*effects}:
        yield f"which applications move is unknown: {preview.hub.missing}"
    leaving = [move for move in found.moves or () if move.target == UNKNOWN or move.origin]
    evicted = [
        move for move in leaving if move.target == UNKNOWN or len(move.target) < len(move.origin)
    ]
    for effect, moves, what in (
        ("move", leaving, "move"),
        ("eviction", evicted, "lose a cluster without another"),
    ):
        if effect in effects and moves:
            names = names_text([move.application for move in moves])
            yield f"{plural(len(moves), 'decision')} would or may {what}: {names}"
    paced = found.paced
    if "move" in effects and paced is not UNSET and paced.count > paced.without_change:
        yield f"paced: {paced_change_text(paced)}"
    for window in found.maintenance or ():
        if "move" in effects and window.count:
            yield f"maintenance {window.name}: {plural(window.count, 'application')} would leave"
    touched = {
        name: clusters for name, clusters in rescored(found.scorers, base, head).items() if clusters
    }
    if "rescore" in effects and touched:
        clusters = frozenset[str]().union(*touched.values())
        yield f"scores of {plural(len(clusters), 'cluster')} would change: {names_text(touched)}"


def _preview(
    args: argparse.Namespace, base: Base, before: _Side, after: _Side
) -> tuple[Preview, str]:
    """The preview, and which data its moves are computed from."""
    sides = [side.fleet for side in (before, after) if side.fleet is not None]
    spec = after.fleet.repository.spec if after.fleet is not None else None
    moves_in = spec.hub_namespace if spec is not None and spec.pace is not None else None
    data = read_hub_data(args, resources=resources_ranked(sides), moves_in=moves_in)
    if after.absent:
        raise UsageError(f"{args.head} has no fleet repository in this folder")
    notes = [base.note] if base.note else []
    if before.absent:
        notes.append("the base has no fleet repository in this folder: everything is new")
    comparison = None
    if after.fleet is not None and (before.fleet is not None or before.absent):
        comparison = compare(
            before.fleet,
            after.fleet,
            data,
            rescored_percent=args.warn_rescored,
            close_points=args.warn_close,
        )
    foreign = _foreign(before, after)
    preview = Preview(
        base=base.title,
        head=args.head or "the working tree",
        notes=tuple(notes),
        differs=bool(foreign) or differs(comparison),
        foreign_files=foreign,
        hub=data.shown(),
        base_errors=() if before.absent else tuple(map(FindingOutput.of_error, before.errors)),
        head_errors=tuple(map(FindingOutput.of_error, after.errors)),
        comparison=comparison,
    )
    return preview, data.describe()


def _foreign(before: _Side, after: _Side) -> tuple[str, ...]:
    """Files that Argo CD would apply and neither side renders.

    Those of the base are merely stale.
    """
    if after.fleet is None or after.fleet.repository.spec.output.mode != "Directory":
        return ()
    known = paths(after.fleet) | (paths(before.fleet) if before.fleet is not None else frozenset())
    return unwanted(after.files, known)


def _on_disk(rendered: Path) -> Iterator[tuple[str, bool]]:
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


def _at(base: Base, commit: str, known: Known) -> _Side:
    with checkout(base.repository, commit) as found:
        has_sources = any((found.root / name).exists() for name in (SETTINGS_FILE, *FOLDERS))
        if not has_sources and not found.diagnostics:
            return _Side(fleet=None, errors=(), absent=True)
        checked = check(found.root, known=known, also=found.diagnostics)
        return _side(checked, files=tuple(paths_at(base.repository, commit, RENDERED)))


def fleet_at(base: Base) -> CheckedFleet | None:
    """The fleet repository at a commit; None if there is none or it has errors."""
    return _at(base, base.commit, {}).fleet


def _side(checked: CheckResult, *, files: tuple[tuple[str, bool], ...]) -> _Side:
    errors = tuple(item for item in checked.diagnostics if item.severity is Severity.ERROR)
    return _Side(fleet=checked.fleet, errors=errors, files=files)
