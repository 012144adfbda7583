"""Arguments that several verbs share, and the types of their values.

Each function adds arguments to a parser of argparse. `shell_completion` completes values by
`metavar` and `dest`: DIR, `DIR|FILE` and REV, and the names that it lists.
"""

import argparse
from datetime import datetime
from pathlib import Path
from typing import Final

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC
from gitops_dsf.hub.names import ARGOCD_NAMESPACE, HUB_NAMESPACE, JOURNAL_BRANCH

# A Prometheus keeps 15 days if its operator sets nothing, so a default backtest finds all of it.
DEFAULT_DAYS: Final = 14
YAML: Final = "yaml"
"""The format that `main` makes of a verb's JSON, so that no verb knows it."""


def moment(text: str) -> datetime:
    """Parses a time in RFC 3339.

    Without an offset it could be meant in any time zone, so it is refused.
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write RFC 3339, such as 2026-06-01T00:00:00Z"
        )
    return parsed


def whole_seconds(text: str) -> int:
    """Parses a number of seconds, 1 or more."""
    # int() also takes `+5` and `1_000`, which are mistakes on a command line.
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds, 1 or more")
    return int(text)


def add_directory(parser: argparse.ArgumentParser) -> None:
    """Adds the folder of the fleet repository."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path(),
        help="fleet repository; this folder by default",
    )


def add_output(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Adds -o with these formats and YAML. The first format of every verb is text, the default."""
    parser.add_argument(
        "-o",
        "--output",
        choices=(*formats, YAML),
        default="text",
        help="format of the output; text by default, yaml is the JSON as YAML",
    )


def add_context(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Adds --context and --kubeconfig, and returns their group."""
    group = parser.add_argument_group("which hub")
    group.add_argument(
        "--context", metavar="HUB", help="context of the kubeconfig; the current one by default"
    )
    add_kubeconfig(group, help_text="file to read instead of $KUBECONFIG or ~/.kube/config")
    return group


def add_kubeconfig(group: argparse._ActionsContainer, *, help_text: str) -> None:
    """Adds --kubeconfig alone, for verbs whose --context means something of its own."""
    group.add_argument("--kubeconfig", metavar="FILE", type=Path, help=help_text)


def add_hub(parser: argparse.ArgumentParser) -> None:
    """Adds --context, --kubeconfig, --hub-namespace and --argocd-namespace."""
    group = add_context(parser)
    group.add_argument(
        "--hub-namespace",
        metavar="NAME",
        default=HUB_NAMESPACE,
        help="namespace of the DynamicScorers (%(default)s)",
    )
    group.add_argument(
        "--argocd-namespace",
        metavar="NAME",
        default=ARGOCD_NAMESPACE,
        help="namespace of the ApplicationSets and Placements (%(default)s)",
    )


def add_waiting(parser: argparse.ArgumentParser, *, until: str, dry_run: str) -> None:
    """Adds --dry-run, --timeout and --no-wait. `until` completes "wait until"."""
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=whole_seconds,
        default=300,
        help=f"how long to wait until {until} (%(default)s)",
    )
    parser.add_argument("--no-wait", action="store_true", help=f"do not wait until {until}")


def add_span(parser: argparse.ArgumentParser) -> None:
    """Adds --days, --from and --to."""
    group = parser.add_argument_group("span of time")
    group.add_argument(
        "--days", metavar="N", type=float, help=f"the N days before --to ({DEFAULT_DAYS})"
    )
    group.add_argument(
        "--from", metavar="TIME", type=moment, dest="start", help="the start, instead of --days"
    )
    group.add_argument(
        "--to", metavar="TIME", type=moment, dest="end", help="the end; now by default"
    )


def add_source(parser: argparse.ArgumentParser) -> None:
    """Adds --scores, --state-branch, --context, --kubeconfig and --now."""
    group = parser.add_argument_group("where scores and decisions come from")
    # They exclude each other: scores of one moment beside decisions of another describe no hub.
    sources = group.add_mutually_exclusive_group()
    sources.add_argument(
        "--scores",
        metavar="PATH",
        type=Path,
        help="file or folder: the output of kubectl get -o yaml, an agent's output folder, or a"
        " snapshot",
    )
    sources.add_argument(
        "--state-branch",
        metavar="BRANCH",
        help="branch of this git repository with a snapshot of the hub: gitops-dsf-state",
    )
    sources.add_argument(
        "--context", metavar="HUB", help="context of the kubeconfig: read them from this hub"
    )
    # Not one of the sources: it goes with --context, which it would exclude there.
    add_kubeconfig(
        parser, help_text="with --context: file to read instead of $KUBECONFIG or ~/.kube/config"
    )
    parser.add_argument(
        "--now",
        metavar="TIME",
        type=moment,
        help="time at which scores count as expired; by default the time at which the data was"
        " read",
    )


def add_token_file(parser: argparse._ActionsContainer) -> None:
    """Adds --token-file, for a store of --prometheus."""
    parser.add_argument(
        # A file, because the arguments of a process are in lists of processes, and in logs of
        # pipelines.
        "--token-file",
        metavar="FILE",
        type=Path,
        help="with --prometheus: file that holds a bearer token, without quotes",
    )


def add_headers(parser: argparse._ActionsContainer) -> None:
    """Adds --header, for a store of --prometheus."""
    parser.add_argument(
        "--header",
        metavar="NAME:VALUE",
        # argparse copies a default before it appends, so two runs do not share this list.
        action="append",
        default=[],
        help="with --prometheus: header of every request, such as X-Scope-OrgID:team; may be"
        " repeated",
    )


def add_credentials(parser: argparse._ActionsContainer) -> None:
    """Adds --credentials, for a store of --prometheus."""
    parser.add_argument(
        "--credentials",
        metavar="DIR",
        type=Path,
        help="with --prometheus: folder with the Secrets and ConfigMaps that the repository names"
        " for the source at this URL, each value in the file <name>/<key>; with --base, that"
        " revision decides which hosts see them",
    )


def add_store(parser: argparse._ActionsContainer) -> None:
    """Adds what a store of --prometheus wants to see, and --cluster-label."""
    add_token_file(parser)
    add_credentials(parser)
    add_headers(parser)
    parser.add_argument(
        "--cluster-label",
        metavar="LABEL",
        default=CLUSTER_LABEL,
        help=f"label that names the cluster in {METRIC} and in the series of queries (%(default)s)",
    )


def add_journal(parser: argparse.ArgumentParser, *, fetches: bool = False) -> None:
    """Adds --journal-branch and --journal, and --no-fetch for a verb that fetches the branch."""
    group = parser.add_argument_group("where the journal is")
    sources = group.add_mutually_exclusive_group()
    branch = "branch of the git repository in DIR; not fetched (%(default)s)"
    if fetches:
        branch = "branch of the git repository in DIR; fetched first (%(default)s)"
    sources.add_argument("--journal-branch", metavar="BRANCH", default=JOURNAL_BRANCH, help=branch)
    sources.add_argument(
        "--journal", metavar="PATH", type=Path, help="file of the journal, or folder with its files"
    )
    if fetches:
        group.add_argument(
            "--no-fetch", action="store_true", help="read the branch as it is in this clone"
        )
