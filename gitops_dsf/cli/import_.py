"""The verb `gitops-dsf import`: takes a hub's inventory, and scorers and masks that git lacks.

On request also ApplicationSets and the Placements that they follow.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dsf_wire.text import printable
from gitops_dsf.cli.inputs import check_has_settings, chosen_context, read_named
from gitops_dsf.errors import UsageError
from gitops_dsf.hubreader.files import documents
from gitops_dsf.importer.adoption.otherscores import resources_to_read
from gitops_dsf.importer.plan import plan_import
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.repository.files import write_files
from gitops_dsf.show.imports import (
    adoption_summary,
    import_summary,
    left_lines,
    written_lines,
)

# Windows PowerShell redirects into UTF-16.
_POWERSHELL: Final = "; in PowerShell write kubectl's output with Out-File -Encoding utf8"


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the repository holds what the hub knows. Raises GitopsDsfError."""
    check_has_settings(args.directory)
    # argparse cannot say this: --kubeconfig goes with --context, which excludes --from already.
    if args.kubeconfig and args.file:
        raise UsageError(
            "--kubeconfig is for reading a hub, and --from reads a file: leave one out"
        )
    objects = _of_file(args) if args.file else _of_hub(args)
    selection = ImportSelection(
        labels=tuple(args.label), claims=tuple(args.claim), resources=args.resources
    )
    planned = plan_import(
        args.directory,
        objects,
        selection=selection,
        overwrite=args.overwrite,
        adopted=tuple(args.adopt),
    )
    # Only now: `plan_import` raises for input that cannot be used, and then nothing is half done.
    if not args.dry_run:
        write_files(planned.root, planned.files)
    for line in written_lines(planned):
        print(printable(line))
    for line in left_lines(planned):
        print(printable(line), file=sys.stderr)
    print(printable(import_summary(planned, dry_run=args.dry_run)))
    if planned.adopted:
        print(printable(adoption_summary(planned)))
    return 0


def _of_hub(args: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    """The objects of the hub. Its settings are written first: the platform depends on them."""
    context = chosen_context(args)
    # Without the extra live only --from works.
    from gitops_dsf.cli.settingsfromhub import adapt_settings
    from gitops_dsf.hubreader.hub import HubClient
    from gitops_dsf.hubreader.inventory import inventory, scores_named

    with HubClient(context=context, kubeconfig=args.kubeconfig) as hub:
        adapt_settings(args.directory, hub, is_dry_run=args.dry_run)
        objects = inventory(hub, with_applications=bool(args.adopt))
        return [*objects, *scores_named(hub, resources_to_read(objects))]


def _of_file(args: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    """The objects of the file that was named."""
    name = "standard input" if args.file == "-" else args.file
    text = read_named(args.file, _POWERSHELL)
    # Without positions: what is wrong with an object of the hub is not mended in this file.
    return [document.plain() for document in documents(text, file=name)]
