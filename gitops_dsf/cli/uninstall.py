"""The verb `gitops-dsf uninstall`: removes gitops-dsf from a hub."""

import argparse
import sys

from dsf_wire.text import printable
from gitops_dsf.cli.inputs import chosen_context
from gitops_dsf.errors import UsageError
from gitops_dsf.installation.hub import WritableHub
from gitops_dsf.installation.uninstall import Uninstaller


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 when the answer is no.

    Raises UsageError when there is no terminal for the question, and HubError.
    """
    context = chosen_context(args)
    # A user who names the context means it. The current one may be that of another hub.
    if not (args.context or args.yes or args.dry_run or _agreed(context)):
        print("nothing was changed", file=sys.stderr)
        return 1
    with WritableHub(context=context, kubeconfig=args.kubeconfig, dry_run=args.dry_run) as hub:
        uninstaller = Uninstaller(
            hub=hub,
            hub_namespace=args.hub_namespace,
            argocd_namespace=args.argocd_namespace,
            with_applications=args.delete_applications,
        )
        uninstaller.run(seconds=None if args.no_wait else args.timeout)
    return 0


def _agreed(context: str) -> bool:
    """Asks whether the current context of the kubeconfig is meant. Raises UsageError."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"uninstall needs the name of the hub: write --context {context}, or --yes for the"
            " current one"
        )
    print(
        f"Remove gitops-dsf from {printable(context)}? [y/N] ", end="", file=sys.stderr, flush=True
    )
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
