"""gitops-dsf schema: writes JSON Schemas and CRDs of every kind that people write."""

import argparse
import sys
from pathlib import Path

EPILOG = """\
writes:
  json/         one JSON Schema per kind, and document.json, which chooses by apiVersion and kind; for editors
  kubeconform/  the same kinds for kubeconform -schema-location 'DIR/kubeconform/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json'
  crds/         CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig, as `render` puts them into rendered/platform/
  output/       the JSON that each verb prints with -o json; keys are only ever added
  wire/         the summaries that agents read from the scoring ConfigMap

examples:
  gitops-dsf schema                  refresh the schemas that the editor settings of a fleet repository name
  gitops-dsf schema --out /tmp/dsf   write them elsewhere
"""  # noqa: E501


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of schema."""
    parser.description = (
        "Writes the schemas of everything that people write, for editors, kubeconform and the hub."
    )
    parser.epilog = EPILOG
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(".schemas"),
        metavar="DIR",
        help="folder to write to, made when missing (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes files that differ, and prints how many. Raises RepositoryError when the folder cannot be
    written.
    """
    from gitops_dsf.cli.schematree import schema_tree, write_tree

    tree = schema_tree()
    written = write_tree(tree, arguments.out)
    sys.stdout.write(f"{arguments.out}: {len(tree)} schemas, {len(written)} written\n")
    return 0
