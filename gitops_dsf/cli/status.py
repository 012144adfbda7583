"""gitops-dsf status: shows the state of scoring on a hub."""

import argparse
import sys
import time
from typing import TYPE_CHECKING

from dsf_wire.text import printable_json
from gitops_dsf.cli.arguments import add_hub_arguments, chosen_context
from gitops_dsf.cli.garbage import kept

if TYPE_CHECKING:
    from gitops_dsf.hubreader.reader import Reader
    from gitops_dsf.views.status import Filter, Overview

DESCRIPTION = """\
Shows how scoring stands on a hub: for each scorer its health and on how many clusters its scores are fresh,
expired or missing, with age and value; for each Placement its decision and the nearest score that would flip
it; for each application where it should be and where it is. Reads the hub and writes nothing. What may not be
read, or is not installed, is named and left out."""

EXAMPLES = """\
examples:
  gitops-dsf status --context hub                           everything, summed up where it is much
  gitops-dsf status --context hub --scorer cpu-headroom     one scorer on every cluster, and what ranks by it
  gitops-dsf status --context hub --cluster eu-west-1       one cluster: its scores, and what would bring it in or out
  gitops-dsf status --context hub --watch --interval 5      again every 5 seconds until Ctrl-C
  gitops-dsf status --context hub --format json             every score, for programs

It is a view: it ends with 0 whatever it shows, and with 1 when the hub, or a part of it, cannot be read.
`gitops-dsf doctor` judges."""  # noqa: E501

CLEAR = "\033[H\033[2J\033[3J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of status."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add_hub_arguments(parser)
    parser.add_argument(
        "--scorer", metavar="NAME", help="only this scorer (its name or its score name), and what ranks by it"
    )
    parser.add_argument(
        "--placement", metavar="[NS/]NAME", help="only this Placement, its scorers and its applications"
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="only this cluster, and what would bring it in or out"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="show every score, Placement and application, however many there are",
    )
    parser.add_argument("--watch", action="store_true", help="repeat until Ctrl-C")
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=_seconds,
        default=10.0,
        help="with --watch: seconds between two reads (10)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text by default; with --watch, json is one line per read",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 3600:
        msg = f"{text!r} is not an interval; write 1 to 3600 seconds"
        raise argparse.ArgumentTypeError(msg)
    return value


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 when the hub refused a part of the view. Raises HubError when it cannot be read."""
    from gitops_dsf.hubreader.reader import Reader
    from gitops_dsf.views.status import Filter

    args.context = chosen_context(args)
    only = Filter(scorer=args.scorer, placement=args.placement, cluster=args.cluster)
    if args.watch:
        _watch(args, only)
    with kept(), Reader(context=args.context, kubeconfig=args.kubeconfig) as reader:
        view = _read(reader, args, only)
        sys.stdout.write(_show(view, args))
    return int(any(item.refused for item in view.unread))


def _read(reader: "Reader", args: argparse.Namespace, only: "Filter") -> "Overview":
    from gitops_dsf.hubreader.inputs import read_inputs
    from gitops_dsf.views.status import build

    inputs = read_inputs(
        reader, hub_namespace=args.hub_namespace, argocd_namespace=args.argocd_namespace, only=only
    )
    return build(inputs, only)


def _show(view: "Overview", args: argparse.Namespace) -> str:
    if args.format == "json":
        import msgspec

        from gitops_dsf.views.status.document import document

        text = msgspec.json.encode(document(view))
        return printable_json((text if args.watch else msgspec.json.format(text, indent=2)).decode()) + "\n"
    from gitops_dsf.cli.status_text import status_text

    return status_text(view, everything=args.all)


def _watch(args: argparse.Namespace, only: "Filter") -> None:
    """Prints the view until it is interrupted. If the hub fails after the first view, prints the error and
    tries again.
    """
    from gitops_dsf.errors import HubError
    from gitops_dsf.hubreader.reader import Reader

    reader: Reader | None = None
    shown = ""
    try:
        while True:
            away = ""
            try:
                # A new connection after a failure reads the credentials again, because they may be what
                # failed.
                reader = reader or Reader(context=args.context, kubeconfig=args.kubeconfig)
                shown = _show(_read(reader, args, only), args)
            except HubError as error:
                if not shown:
                    raise
                away = f"{error}; asking again every {args.interval:g} s\n"
                if reader is not None:
                    reader.close()
                reader = None
            _print(args, shown, away)
            time.sleep(args.interval)
    finally:
        if reader is not None:
            reader.close()


def _print(args: argparse.Namespace, shown: str, away: str) -> None:
    if args.format == "text" and sys.stdout.isatty():
        sys.stdout.write(f"{CLEAR}{away}{shown}")
    elif away:
        sys.stderr.write(away)
    else:
        sys.stdout.write(shown if args.format == "json" else f"{shown}\n")
    sys.stdout.flush()
