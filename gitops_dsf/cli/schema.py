"""gitops-dsf schema: writes the schema for editors, or everything that is generated from the models."""

import argparse
import sys
from pathlib import Path

DESCRIPTION = (
    "Writes the schema of everything that people write, for editors; with --out those for the hub and"
    " scripts, too."
)

EXAMPLES = """\
writes with --out:
  json/         one JSON Schema per kind, for kubeconform -schema-location 'DIR/json/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json', and document.json for all
  crds/         CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig, as `render` puts them into rendered/platform/
  output/       the JSON that each verb prints with -o json; keys are only ever added
  wire/         the summaries that agents read from the scoring ConfigMap

examples:
  gitops-dsf schema                  refresh .schemas/gitops-dsf.json, which the editor settings of a fleet repository name
  gitops-dsf schema --out /tmp/dsf   write all of them elsewhere
"""  # noqa: E501


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to write all schemas to, made when missing"
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes files that differ, and prints how many. Raises RepositoryError."""
    from gitops_dsf.cli.schematree import schema_tree, write_tree
    from gitops_dsf.schema.editor import FILE, bundle

    if arguments.out is None:
        changed = write_tree({FILE: bundle()}, Path())
        sys.stdout.write(f"{FILE}: {'written' if changed else 'up to date'}\n")
        return 0
    tree = schema_tree()
    written = write_tree(tree, arguments.out)
    sys.stdout.write(f"{arguments.out}: {len(tree)} schemas, {len(written)} written\n")
    return 0
