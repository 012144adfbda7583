"""The verb `gitops-dsf init`: creates a fleet repository, and shows the next steps."""

import argparse
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from dsf_wire.text import printable_lines
from gitops_dsf.cli.giturl import forge_of
from gitops_dsf.cli.monorepo import ignored
from gitops_dsf.cli.scaffold import NewFleet, default_name, scaffold


def run(args: argparse.Namespace) -> int:
    """Writes the repository and prints the next steps.

    Raises what `scaffold` does, and HubError if a hub is named that does not answer.
    """
    target: Path = args.dir
    name = default_name(target) if args.name is None else args.name
    forge = args.forge or forge_of(args.git_url or "")
    new = scaffold(
        target=target,
        name=name,
        git_url=args.git_url,
        registry=args.registry,
        wheels=args.wheels,
        hashes=args.hashes,
        forge=forge,
        extras=args.extras,
        examples=not args.empty,
    )
    lines = [f"Fleet {name} in {target} ({len(new.files)} files). Next:", ""]
    lines += [f"  {step}" for step in _steps(target, is_empty=args.empty)]
    lines += ["", *_places(new), *_ignored(new, target), *_missing(args, forge)]
    if "README.md" in new.files:
        lines.append("README.md says what each folder is for.")
    sys.stdout.write(printable_lines(lines))
    if args.context:
        # Last, because a hub that does not answer must not lose the repository, which is complete.
        # Imported here, because it needs the extra live.
        from gitops_dsf.cli.settingsfromhub import adapt_settings
        from gitops_dsf.hubreader.hub import HubClient

        with HubClient(context=args.context, kubeconfig=args.kubeconfig) as hub:
            adapt_settings(target, hub)
    return 0


def _steps(target: Path, *, is_empty: bool) -> Iterator[str]:
    """The commands to run next."""
    if target.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(target))}"
    if is_empty:
        # Without the examples there is nothing to test, and the clusters are those of a hub.
        yield "gitops-dsf import --context HUB"
        yield "gitops-dsf validate"
    else:
        yield "gitops-dsf validate"
        yield "gitops-dsf test"
    yield "gitops-dsf render"


def _missing(args: argparse.Namespace, forge: str | None) -> Iterator[str]:
    """The files that people must add themselves."""
    if args.git_url is None:
        yield (
            "Set spec.git.url in gitops-dsf.yaml to the repository that Argo CD will clone, and"
            " render again."
        )
    if args.registry is None:
        yield (
            "Push the images to a registry of yours and name them in gitops-dsf.yaml: no public"
            " registry has them."
        )
    if args.wheels is None:
        yield (
            "Pipelines cannot install gitops-dsf yet, because no package index has it: `make wheel`"
            " in its checkout makes what `gitops-dsf init --wheels CHECKOUT/dist` puts into the"
            " repository."
        )
    if forge is None:
        yield (
            "There is no pipeline: name the forge with --forge, or run `gitops-dsf ci` in your own."
        )


def _places(new: NewFleet) -> Iterator[str]:
    """Lines about the git repository around the fleet, and about files that were there before."""
    if new.place.is_below:
        yield (
            f"It is the folder {new.place.folder} of the git repository {new.place.top}, which"
            " spec.git.path says. For a repository of its own, run `git init` in an empty folder"
            " first."
        )
    if new.root.files:
        yield f"At the root of that repository are: {', '.join(sorted(new.root.files))}."
    yield from _additions(new.root.additions)
    if new.kept:
        yield f"Not changed: {', '.join(sorted(new.kept))}."


def _additions(additions: Mapping[str, str]) -> Iterator[str]:
    """The text that people must add to files that are there already."""
    for path, text in additions.items():
        yield f"{path} of the git repository exists already, and was not changed. Add to it:"
        yield ""
        yield from textwrap.indent(text.rstrip("\n"), "    ").split("\n")
        yield ""


def _ignored(new: NewFleet, target: Path) -> Iterator[str]:
    """Lines about written files that a commit would lack."""
    # A larger repository often ignores names such as `build/` or `*.yaml` everywhere, and a fleet
    # whose files are not committed looks complete on this machine alone.
    paths = [target.resolve() / path for path in new.files]
    paths += [new.place.top / path for path in new.root.files]
    for rule, files in ignored(new.place, paths).items():
        yield (
            f"git ignores {', '.join(files)} because of {rule}: remove the rule, or run `git add"
            " --force`"
        )
