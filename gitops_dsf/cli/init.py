"""gitops-dsf init: creates a fleet repository that validates and renders."""

import argparse
import shlex
import sys
from pathlib import Path

DESCRIPTION = (
    "Creates a fleet repository: settings, a scorer, an application and clusters as examples, a test, a"
    " pipeline and editor settings."
)

EXAMPLES = """\
examples:
  gitops-dsf init fleet
  gitops-dsf init fleet --git-url https://git.example.com/team/fleet.git
  gitops-dsf init fleet --registry registry.example.com/platform
  gitops-dsf init fleet --forge gitlab --with codeowners,pre-commit
  gitops-dsf init fleet --wheels dist          pipelines install the wheels that `make wheel` made
  gitops-dsf init fleet --empty && cd fleet && gitops-dsf import --context hub    for a hub that has clusters
  gitops-dsf init . --name emea        into a fresh clone: a folder that holds nothing but .git
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
        help="our wheels of this version, such as dist/ after `make wheel`: copies them into wheels/, so that"
        " pipelines install them while no package index has them",
    )
    parser.add_argument(
        "--hashes",
        action="store_true",
        help="name every package in requirements.txt with its hashes; needs --wheels",
    )
    parser.add_argument(
        "--forge",
        choices=("github", "gitlab", "gitea"),
        help="whose pipeline to write; gitea is also Forgejo (default: the one that the host of --git-url"
        " names, else none)",
    )
    parser.add_argument(
        "--with",
        dest="extras",
        type=_extras,
        default=(),
        metavar="WHAT",
        help="more files, separated by commas: codeowners, pre-commit, examples (a scoring API with its lock,"
        " a policy, masks, a MetricSource, a Placement of your own)",
    )
    parser.add_argument(
        "--empty",
        action="store_true",
        help="without the example scorer, clusters and application; for a hub of your own",
    )


def _extras(text: str) -> tuple[str, ...]:
    from gitops_dsf.cli.scaffold import EXTRAS

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in EXTRAS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not known: write some of {', '.join(EXTRAS)}")
    return names


def run(arguments: argparse.Namespace) -> int:
    """Writes the repository and prints the next steps. Raises what `scaffold` does."""
    from gitops_dsf.cli.scaffold import default_name, forge_of, scaffold

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
