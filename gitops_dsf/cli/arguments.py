"""How verbs say what they take: `add`, the arguments that several share, and checks of what is given."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from dsf_wire.text import printable
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.hub.names import JOURNAL_BRANCH

Parser: TypeAlias = argparse.ArgumentParser
DEFAULT_DAYS: Final = 14
YAML: Final = "yaml"


def moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write RFC 3339, such as 2026-06-01T00:00:00Z"
        )
    return found


_TYPES: Final[dict[str, Callable[[str], object]]] = {
    **dict.fromkeys(("DIR", "FILE", "FOLDER", "PATH"), Path),
    **dict.fromkeys(("N", "PERCENT", "SECONDS"), float),
    "TIME": moment,
}
"""What a value becomes, by the word that stands for it in the help. Others stay text."""


def _timeout(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds, 1 or more")
    return int(text)


class Arguments:
    """Adds the arguments of a verb, or those of a group."""

    def __init__(self, parser: Parser, group: "argparse._ArgumentGroup | None" = None) -> None:
        self.parser = parser
        self._takes = group or parser

    def group(self, title: str) -> "Arguments":
        return Arguments(self.parser, self._takes.add_argument_group(title))

    def one_of(self, *, required: bool = False) -> "Arguments":
        return Arguments(self.parser, self._takes.add_mutually_exclusive_group(required=required))

    def __call__(self, usage: str, meaning: str, **settings: Any) -> None:  # noqa: ANN401 - those of argparse
        """Adds an argument, written as in a usage line: `--all`, `--placement NAME`, or `--label GLOB ...`,
        which may be repeated. A positional one begins with the name that its value gets: `directory [DIR]`.
        """
        name, _, value = usage.partition(" ")
        if not name.startswith("-") and value.startswith("["):
            value = value[1:-1]
            settings["nargs"] = "*" if value.endswith(" ...") else "?"
        elif value.endswith(" ..."):
            settings |= {"action": "append", "default": []}
        if value:
            word = value.removesuffix(" ...")
            settings = {"metavar": word, "type": _TYPES.get(word), **settings}
        elif "choices" not in settings:
            settings["action"] = "store_true"
        self._takes.add_argument(name, help=meaning, **settings)

    def fleet(self) -> None:
        self("directory [DIR]", "fleet repository; this folder by default", default=Path())

    def output(self, *formats: str) -> None:
        """Adds -o with these formats, text by default. What is JSON can be YAML, too."""
        meaning = "text by default; yaml is the JSON as YAML"
        self.parser.add_argument(
            "-o", "--output", choices=(*formats, YAML), default="text", help=meaning
        )

    def context(self) -> "Arguments":
        hub = self.group("which hub")
        hub("--context HUB", "context of the kubeconfig; the current one by default")
        hub("--kubeconfig FILE", "in place of $KUBECONFIG or ~/.kube/config")
        return hub

    def hub(self) -> None:
        """Adds --context, --kubeconfig, --hub-namespace and --argocd-namespace."""
        hub, ocm = self.context(), "open-cluster-management"
        hub("--hub-namespace NAME", f"where scorers are ({ocm})", default=ocm)
        hub(
            "--argocd-namespace NAME",
            "where ApplicationSets and Placements are (argocd)",
            default="argocd",
        )

    def waiting(self, *, until: str, dry_run: str) -> None:
        self("--dry-run", dry_run)
        self(
            "--timeout SECONDS", f"how long to wait until {until} (300)", type=_timeout, default=300
        )
        self("--no-wait", f"do not wait until {until}")

    def span(self) -> None:
        """Adds --days, --from and --to."""
        group = self.group("which span of time")
        group("--days N", f"up to --to ({DEFAULT_DAYS})")
        group("--from TIME", "in place of --days", dest="start")
        group("--to TIME", "now by default", dest="end")

    def source(self) -> None:
        """Adds --scores, --state-branch, --context, --kubeconfig and --now."""
        sources = self.group("where scores and decisions come from").one_of()
        sources(
            "--scores PATH",
            "file or folder: kubectl get -o yaml, an agent's output folder, or a snapshot",
        )
        branch = "branch of this git repository that holds a snapshot: gitops-dsf-state"
        sources("--state-branch BRANCH", branch)
        sources("--context HUB", "context of the kubeconfig: ask the hub itself")
        self("--kubeconfig FILE", "with --context: in place of $KUBECONFIG or ~/.kube/config")
        self(
            "--now TIME",
            "time for which expired scores are computed; by default when the data was observed",
        )

    def journal(self, *, fetches: bool = False) -> None:
        """Adds --journal-branch and --journal; and --no-fetch for a verb that fetches the branch."""
        group = self.group("where the journal is")
        sources = group.one_of()
        when = "fetched first" if fetches else "fetched before"
        branch = f"branch of the git repository in DIR, {when} ({JOURNAL_BRANCH})"
        sources("--journal-branch BRANCH", branch, default=JOURNAL_BRANCH)
        sources("--journal PATH", "a file of the journal, or a folder with its files")
        if fetches:
            group("--no-fetch", "read the branch as this clone has it")


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A line in the list of verbs, help, arguments, and a module with `run(arguments)`, imported to run."""

    name: str
    help: str
    add_arguments: Callable[[Arguments], None]
    description: str = ""
    examples: str = ""
    module: str = ""
    """The one of its name by default."""


def verb(
    name: str, line: str, *, description: str = "", examples: str = "", module: str = ""
) -> Callable[[Callable[[Arguments], None]], Verb]:
    """Makes a verb of the function that adds its arguments."""
    return lambda add: Verb(
        name=name,
        help=line,
        add_arguments=add,
        description=description,
        examples=examples,
        module=module,
    )


def read_named(name: str, hint: str = "") -> bytes:
    """The content of a file, or of standard input for `-`. Raises RepositoryError if it is not UTF-8."""
    if name == "-" and sys.stdin.isatty():
        print("reading standard input; end it with Ctrl-D", file=sys.stderr)
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        content.decode()
    except UnicodeDecodeError as error:
        raise RepositoryError(f"{name} is not UTF-8 (byte {error.start}){hint}") from error
    except OSError as error:
        raise RepositoryError(f"{name} cannot be read: {error.strerror or error}") from error
    return content


def check_is_folder(directory: Path, hint: str = "") -> None:
    """Raises UsageError if there is no such folder."""
    if not directory.is_dir():
        raise UsageError(
            f"{directory} is not a folder; write the folder that holds gitops-dsf.yaml{hint}"
        )


def check_has_settings(directory: Path) -> None:
    """Raises UsageError if the folder has no gitops-dsf.yaml."""
    if not (directory / "gitops-dsf.yaml").is_file():
        raise UsageError(
            f"{directory} holds no gitops-dsf.yaml; name a fleet repository, or make one with gitops-dsf init"
        )


def chosen_context(args: argparse.Namespace) -> str:
    """The context of --context, or else the current one, which is printed. Raises UsageError, HubError."""
    from gitops_dsf.hubreader.hub import current_context

    if args.context:
        return str(args.context)
    found = current_context(args.kubeconfig)
    if found is None:
        raise UsageError(
            "there is no current context: name the hub with --context, or run kubectl config use-context"
        )
    print(printable(f"hub: {found} (the current context)"), file=sys.stderr)
    return found
