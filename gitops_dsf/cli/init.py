"""gitops-dsf init: creates a fleet repository that validates and renders."""

import argparse
import shlex
import sys
from pathlib import Path

from gitops_dsf.cli.scaffold import default_name, forge_of, scaffold


def run(arguments: argparse.Namespace) -> int:
    """Writes the repository and prints the next steps. Raises what `scaffold` does."""
    target: Path = arguments.dir
    name = arguments.name if arguments.name is not None else default_name(target)
    forge = arguments.forge or forge_of(arguments.git_url or "")
    written = scaffold(
        target=target,
        name=name,
        git_url=arguments.git_url,
        registry=arguments.registry,
        wheels=arguments.wheels,
        hashes=arguments.hashes,
        forge=forge,
        extras=arguments.extras,
        examples=not arguments.empty,
    )
    steps = ["gitops-dsf validate", "gitops-dsf test", "gitops-dsf render"]
    if arguments.empty:
        steps = ["gitops-dsf import --context HUB", "gitops-dsf validate", "gitops-dsf render"]
    if target.resolve() != Path.cwd():
        steps.insert(0, f"cd {shlex.quote(str(target))}")
    lines = [
        f"Fleet {name} in {target} ({len(written)} files). Next:",
        "",
        *(f"  {step}" for step in steps),
        "",
    ]
    if arguments.git_url is None:
        lines.append(
            "Set spec.git.url in gitops-dsf.yaml to the repository that Argo CD will clone, and render again."
        )
    if arguments.registry is None:
        lines.append(
            "Push the images to a registry of yours and name them in gitops-dsf.yaml: no public registry has"
            " them."
        )
    if arguments.wheels is None:
        lines.append(
            "Pipelines cannot install gitops-dsf yet, because no package index has it: `make wheel` in its"
            " checkout\nmakes what `gitops-dsf init --wheels CHECKOUT/dist` puts into the repository."
        )
    if forge is None:
        lines.append("There is no pipeline: name the forge with --forge, or run `gitops-dsf ci` in your own.")
    sys.stdout.write("\n".join([*lines, "README.md says what each folder is for."]) + "\n")
    return 0
