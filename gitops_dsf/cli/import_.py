"""gitops-dsf import: writes a hub's inventory into the repository, and scorers and masks that git lacks."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from dsf_wire.text import printable
from gitops_dsf.cli.inputs import check_has_settings, chosen_context, read_named
from gitops_dsf.errors import UsageError
from gitops_dsf.hubreader.files import documents
from gitops_dsf.importer.manifest import ImportSelection
from gitops_dsf.importer.take import Import, ImportLine
from gitops_dsf.importer.valid import take_valid
from gitops_dsf.repository.files import write_files

_POWERSHELL: Final = "; in PowerShell write kubectl's output with Out-File -Encoding utf8"


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the repository holds what the hub knows. Raises GitopsDsfError."""
    check_has_settings(args.directory)
    if args.kubeconfig and args.file:
        raise UsageError(
            "--kubeconfig is for reading a hub, and --from reads a file: leave one out"
        )
    selection = ImportSelection(
        labels=tuple(args.label), claims=tuple(args.claim), resources=args.resources
    )
    found = take_valid(
        args.directory, _objects(args), selection=selection, overwrite=args.overwrite
    )
    if not args.dry_run:
        write_files(found.root, found.files)
    _report(found, dry_run=args.dry_run)
    return 0


def _objects(args: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    if not args.file:
        from gitops_dsf.hubreader.hub import inventory

        return inventory(context=chosen_context(args), kubeconfig=args.kubeconfig)
    name = "standard input" if args.file == "-" else args.file
    return [
        document.plain() for document in documents(read_named(args.file, _POWERSHELL), file=name)
    ]


def _report(found: Import, *, dry_run: bool) -> None:
    def tell(line: ImportLine, text: str, *, out: TextIO = sys.stderr) -> None:
        # Labels and claims are texts of others: a spoke writes the claims itself.
        print(printable(f"{found.root / line.file}: {line.kind} {line.name}{text}"), file=out)

    for line in found.added:
        tell(line, " added", out=sys.stdout)
    for line in found.changed:
        tell(line, f": {'; '.join(line.changes)}", out=sys.stdout)
    for line in found.differing:
        changes = "; ".join(line.changes)
        tell(
            line, f" is another one on the hub ({changes}); left alone, --overwrite takes the hub's"
        )
    for line in (*found.refused, *found.not_joined):
        tell(line, f" is not written: {'; '.join(line.changes)}")
    for line in found.missing:
        tell(line, " is not on the hub; remove it here if it has left the fleet")
    if found.skipped:
        print(printable(f"passed over: {', '.join(found.skipped)}"), file=sys.stderr)
    would = "would be " if dry_run else ""
    counts = f"{len(found.added)} {would}added, {len(found.changed)} {would}changed"
    print(printable(f"{counts}, {found.unchanged} as they were"))
