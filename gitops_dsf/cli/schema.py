"""gitops-dsf schema: writes the schema for editors, or everything that is generated from the models."""

import argparse
import sys
from pathlib import Path

from gitops_dsf.cli.schematree import schema_tree, write_tree
from gitops_dsf.schema.editor import FILE, bundle


def run(arguments: argparse.Namespace) -> int:
    """Writes files that differ, and prints how many. Raises RepositoryError."""
    if arguments.out is None:
        changed = write_tree({FILE: bundle()}, Path())
        sys.stdout.write(f"{FILE}: {'written' if changed else 'up to date'}\n")
        return 0
    tree = schema_tree()
    written = write_tree(tree, arguments.out)
    sys.stdout.write(f"{arguments.out}: {len(tree)} schemas, {len(written)} written\n")
    return 0
