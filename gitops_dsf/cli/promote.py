"""gitops-dsf promote: gives a live scorer the definition of its shadow."""

import argparse
import sys
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import add_fleet_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitops_dsf.promotion import Promotion

DESCRIPTION = """\
Makes a shadow live: edits the YAML so that the live scorer takes the definition of the shadow, its lock
included, and removes the shadow. The live scorer keeps its score name, its clusters, its interval and its
TTL; comments stay. The result is checked before anything is written. Commit it as one commit, and look at
`gitops-dsf diff` first: the new scores are those of the shadow, so the moves are known."""

EXAMPLES = """\
examples:
  gitops-dsf promote cpu-headroom-next --dry-run      show the edit as a diff, and write nothing
  gitops-dsf promote cpu-headroom-next fleet
  gitops-dsf promote cpu-headroom-next --take-interval
  gitops-dsf diff --base HEAD --context hub           what the promotion moves

Exit codes: 0 written, or shown; 1 the promotion is refused, with the reason. After a
promotion the shadow is gone, so that a second run is refused too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of promote."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("shadow", metavar="NAME", help="name of the shadow, a DynamicScorer with shadowOf")
    add_fleet_directory(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the edit as a diff, and write nothing")
    parser.add_argument(
        "--take-interval",
        action="store_true",
        help="also take the shadow's interval and scoreTTLSeconds, which the live scorer keeps otherwise",
    )


def run(args: argparse.Namespace) -> int:
    """Writes the promotion, or shows it. Returns 0. Raises PromotionError when it is refused."""
    from gitops_dsf.errors import UsageError
    from gitops_dsf.promotion import promote
    from gitops_dsf.repository.write import remove_files, write_files

    if not args.directory.is_dir():
        msg = f"{args.directory} is not a folder; write the folder that holds gitops-dsf.yaml"
        raise UsageError(msg)
    promotion = promote(args.directory, args.shadow, take_interval=args.take_interval)
    if args.dry_run:
        sys.stdout.writelines(_diff(args, promotion))
    else:
        # If this is interrupted between the two, the shadow is still there, and a second run does the rest.
        write_files(
            args.directory, {file: text for file, text in promotion.files.items() if text is not None}
        )
        remove_files(args.directory, [file for file, text in promotion.files.items() if text is None])
    sys.stderr.writelines(_summary(promotion, dry_run=args.dry_run))
    return 0


def _diff(args: argparse.Namespace, promotion: "Promotion") -> "Iterator[str]":
    import difflib

    for file, text in sorted(promotion.files.items()):
        path = args.directory / file
        old = path.read_bytes().decode() if path.exists() else ""
        for line in difflib.unified_diff(
            old.splitlines(keepends=True),
            (text or "").splitlines(keepends=True),
            f"a/{file}" if old else "/dev/null",
            "/dev/null" if text is None else f"b/{file}",
        ):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _summary(promotion: "Promotion", *, dry_run: bool) -> "Iterator[str]":
    from gitops_dsf.views.preview.wording import value_text

    would = "would take" if dry_run else "takes"
    yield f"{promotion.live} {would} the definition of {promotion.shadow}\n"
    for change in promotion.changes:
        yield f"  {change.path}: {value_text(change.before, 200)} -> {value_text(change.after, 200)}\n"
    for file, text in sorted(promotion.files.items()):
        yield f"{file}: {'would be ' if dry_run else ''}{'removed' if text is None else 'written'}\n"
    for item in promotion.warnings:
        yield f"{item.position}: {item.severity} {item.code}: {item.message}\n"
