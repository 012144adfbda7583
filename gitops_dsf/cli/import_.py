"""gitops-dsf import: writes a hub's inventory into the repository, and scorers and masks that git lacks."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gitops_dsf.cli.arguments import add_fleet_directory, check_has_settings, chosen_context, read_named
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from gitops_dsf.importer import Import, Line

DESCRIPTION = """\
Writes what a hub knows into a fleet repository: ManagedClusters and ManagedClusterSets to clusters/,
DynamicScorers to scorers/, the DynamicScoringConfig to config/. What the hub's controller read from a
scorer's /config (status.lastSyncedConfig) becomes its lock in locks/, judged by the rules of `gitops-dsf
sync`. It never deletes anything, keeps the comments and the order of existing files, and changes nothing when
it runs again with the same input.

Clusters follow the hub. Scorers, locks and masks follow git: existing scorers and masks are only compared,
and existing locks are kept; --overwrite replaces them with the hub's. It skips objects that gitops-dsf
rendered. Scorers and masks may come from any release of the upstream addon: from its own repository
(open-cluster-management-io/dynamic-scoring-framework) or, before that, from addon-contrib.

Takes the labels without a domain, the cluster set, topology.kubernetes.io/*, and every label that a selector
of the repository names. Takes the claims platform, product, region, and every claim that a selector names.
Updates what a file already holds."""

EXAMPLES = """\
examples:
  kubectl get managedclusters,managedclustersets -o yaml | gitops-dsf import --from -
  kubectl get managedclusters,dynamicscorers,dynamicscoringconfigs -A -o yaml > hub.yaml
  gitops-dsf import --from hub.yaml fleet --dry-run
  gitops-dsf import --context hub --label 'compliance.example.com/*' --claim 'kubeversion.*'
  gitops-dsf import                                the hub of the current context
  gitops-dsf import --context hub --resources      for applications that rank by allocatable resources"""

_POWERSHELL = "; in PowerShell write kubectl's output with Out-File -Encoding utf8"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fleet_directory(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--from",
        dest="file",
        metavar="FILE",
        help="what `kubectl get -o yaml` (or json) printed; - is standard input",
    )
    source.add_argument(
        "--context",
        metavar="NAME",
        help="read a hub through this context of the kubeconfig; the current one by default",
    )
    parser.add_argument(
        "--kubeconfig", metavar="FILE", type=Path, help="in place of $KUBECONFIG or ~/.kube/config"
    )
    parser.add_argument(
        "--label",
        metavar="GLOB",
        action="append",
        default=[],
        help="also take labels of this name; may be repeated",
    )
    parser.add_argument(
        "--claim",
        metavar="GLOB",
        action="append",
        default=[],
        help="also take claims of this name; may be repeated",
    )
    parser.add_argument(
        "--resources",
        action="store_true",
        help="also take allocatable and capacity, which change with every node",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the scorers, locks and masks of git with the hub's"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would change and write nothing")


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the repository holds what the hub knows. Raises GitopsDsfError."""
    from gitops_dsf.importer import Selection, take
    from gitops_dsf.repository.files import write_files

    check_has_settings(args.directory)
    if args.kubeconfig and args.file:
        raise UsageError("--kubeconfig is for reading a hub, and --from reads a file: leave one out")
    selection = Selection(labels=tuple(args.label), claims=tuple(args.claim), resources=args.resources)
    found = take(args.directory, _objects(args), selection=selection, overwrite=args.overwrite)
    if not args.dry_run:
        write_files(found.root, found.files)
    _report(found, dry_run=args.dry_run)
    return 0


def _objects(args: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    if not args.file:
        from gitops_dsf.hubreader.hub import inventory

        return inventory(context=chosen_context(args), kubeconfig=args.kubeconfig)
    from gitops_dsf.hubreader.files import documents

    name = "standard input" if args.file == "-" else args.file
    return [document.plain() for document in documents(read_named(args.file, _POWERSHELL), file=name)]


def _report(found: "Import", *, dry_run: bool) -> None:
    def tell(line: "Line", text: str, *, out: TextIO = sys.stderr) -> None:
        print(f"{found.root / line.file}: {line.kind} {line.name}{text}", file=out)

    for line in found.added:
        tell(line, " added", out=sys.stdout)
    for line in found.changed:
        tell(line, f": {'; '.join(line.changes)}", out=sys.stdout)
    for line in found.differing:
        changes = "; ".join(line.changes)
        tell(line, f" is another one on the hub ({changes}); left alone, --overwrite takes the hub's")
    for line in found.refused:
        tell(line, f" is not written: {'; '.join(line.changes)}")
    for line in found.missing:
        tell(line, " is not on the hub; remove it here if it has left the fleet")
    if found.skipped:
        print(f"passed over: {', '.join(found.skipped)}", file=sys.stderr)
    would = "would be " if dry_run else ""
    counts = f"{len(found.added)} {would}added, {len(found.changed)} {would}changed"
    print(f"{counts}, {found.unchanged} as they were")
