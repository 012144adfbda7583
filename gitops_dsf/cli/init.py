"""gitops-dsf init: creates a fleet repository that validates and renders."""

import argparse
import shlex
import sys
from pathlib import Path

EPILOG = """\
examples:
  gitops-dsf init fleet
  gitops-dsf init fleet --git-url https://git.example.com/team/fleet.git
  gitops-dsf init fleet --registry registry.example.com/platform
  gitops-dsf init fleet --wheels dist          pipelines install the wheels that `make wheel` made
  gitops-dsf init fleet --empty && cd fleet && gitops-dsf import --context hub    for a hub that has clusters
  gitops-dsf init . --name emea        into a fresh clone: a folder that holds nothing but .git
"""

_UNLOCKED = """\
Pipelines fail until requirements.txt has the hashes of gitops-dsf. No package index has it yet: run
`make wheel` in its checkout and `init` with --wheels CHECKOUT/dist, or follow step 4 of README.md."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of init."""
    parser.description = (
        "Creates a fleet repository: settings, example scorers, clusters and an application, pipelines, hooks"
        " and editor settings."
    )
    parser.epilog = EPILOG
    parser.add_argument("dir", type=Path, metavar="DIR", help="new or empty folder")
    parser.add_argument(
        "--name", help="name of the fleet: a-z, 0-9 and - (default: made of the folder's name)"
    )
    parser.add_argument(
        "--git-url", metavar="URL", help="repository URL as Argo CD will clone it, without credentials"
    )
    parser.add_argument(
        "--registry",
        metavar="NAME",
        help="registry and folder that have our images, such as registry.example.com/platform",
    )
    parser.add_argument(
        "--wheels",
        type=Path,
        metavar="FOLDER",
        help="our wheels of this version, such as dist/ after `make wheel`: copies them into wheels/ and"
        " writes their hashes, so that pipelines install them while no package index has them",
    )
    parser.add_argument(
        "--empty",
        action="store_true",
        help="without the example scorers, clusters and applications; for a hub of your own",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes the repository and prints the next steps. Raises UsageError for a folder that is not empty, and
    for a bad name, URL or registry, or wheels that are missing.
    """
    from gitops_dsf.cli.scaffold import default_name, scaffold

    target: Path = arguments.dir
    name = arguments.name if arguments.name is not None else default_name(target)
    written = scaffold(
        target=target,
        name=name,
        git_url=arguments.git_url,
        registry=arguments.registry,
        wheels=arguments.wheels,
        examples=not arguments.empty,
    )
    sys.stdout.write(
        _next_steps(
            target=target,
            name=name,
            count=len(written),
            has_url=arguments.git_url is not None,
            has_registry=arguments.registry is not None,
            has_wheels=arguments.wheels is not None,
            has_examples=not arguments.empty,
        )
    )
    return 0


def _next_steps(
    *,
    target: Path,
    name: str,
    count: int,
    has_url: bool,
    has_registry: bool,
    has_wheels: bool,
    has_examples: bool,
) -> str:
    steps = ["gitops-dsf validate", "gitops-dsf test", "gitops-dsf render"]
    if not has_examples:
        steps = ["gitops-dsf import --context HUB", "gitops-dsf validate", "gitops-dsf render"]
    if target.resolve() != Path.cwd():
        steps.insert(0, f"cd {shlex.quote(str(target))}")
    lines = [f"Fleet {name} in {target} ({count} files). Next:", "", *(f"  {step}" for step in steps), ""]
    if not has_url:
        lines.append(
            "Set spec.git.url in gitops-dsf.yaml to the repository that Argo CD will clone, and render again."
        )
    if not has_registry:
        lines.append(
            "Push the images to a registry of yours and name them in gitops-dsf.yaml: no public registry has"
            " them."
        )
    if not has_wheels:
        lines.append(_UNLOCKED)
    lines.append(
        "README.md says what each folder is for, and how to replace the example clusters and scorers."
        if has_examples
        else "README.md says what each folder is for."
    )
    return "\n".join(lines) + "\n"
