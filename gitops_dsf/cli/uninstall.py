"""gitops-dsf uninstall: takes back what is installed on a hub."""

import argparse
import sys
from functools import partial

from gitops_dsf.cli.arguments import add_hub_arguments, add_waiting_arguments, chosen_context
from gitops_dsf.errors import UsageError

DESCRIPTION = """\
Removes gitops-dsf from a hub: the Applications over the rendered tree, the reconciler, ApplicationSets and
Placements, the agents and what they run, scorers, rights, policies and the health checks in argocd-cm. It
finds them by their labels. Applications that were placed stay where they run, unless --delete-applications
is given. Without --context it asks first. Ends with what stays, and why. Running it again finishes what a
first run could not."""

EXAMPLES = """\
examples:
  gitops-dsf uninstall --context hub --dry-run      what would be deleted, and what stays
  gitops-dsf uninstall --context hub
  gitops-dsf uninstall --context hub --no-wait      also with managed clusters that never answer again
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_hub_arguments(parser)
    add_waiting_arguments(
        parser,
        until="the managed clusters have removed the agents",
        dry_run="delete nothing, and say what would be deleted",
    )
    parser.add_argument(
        "--delete-applications",
        action="store_true",
        help="also delete the placed applications, with their workloads",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask whether the current context is meant")


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 when the answer is no. Raises UsageError when nobody can be asked, and HubError."""
    context = chosen_context(args)
    if not (args.context or args.yes or args.dry_run or _agreed(context)):
        print("nothing was changed", file=sys.stderr)
        return 1
    _uninstall(args, context)
    return 0


def _agreed(context: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            f"uninstall needs the name of the hub: write --context {context}, or --yes for the current one"
        )
    sys.stderr.write(f"Remove gitops-dsf from {context}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _uninstall(args: argparse.Namespace, context: str) -> None:
    from gitops_dsf.installation.hub import WritableHub
    from gitops_dsf.installation.uninstall import Uninstaller

    with WritableHub(context=context, kubeconfig=args.kubeconfig, dry_run=args.dry_run) as hub:
        uninstaller = Uninstaller(
            hub=hub,
            hub_namespace=args.hub_namespace,
            argocd_namespace=args.argocd_namespace,
            say=partial(print, flush=True),
            with_applications=args.delete_applications,
        )
        uninstaller.run(seconds=None if args.no_wait else args.timeout)
