"""The verb `gitops-dsf status`: shows the state of scoring on a hub."""

import argparse
import sys

from gitops_dsf.cli.inputs import chosen_context
from gitops_dsf.hubreader.hub import HubClient
from gitops_dsf.hubreader.inputs import read_inputs
from gitops_dsf.show.status.document import status_json
from gitops_dsf.show.status.report import status_text
from gitops_dsf.views.status.build import Filter, build


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 when the hub refused a part of the view.

    Raises HubError when it cannot be read.
    """
    args.context = chosen_context(args)
    only = Filter(scorer=args.scorer, placement=args.placement, cluster=args.cluster)
    if args.output == "html":
        # Other formats need neither the checks of doctor nor templates.
        from gitops_dsf.cli.fleetpage import FleetPage

        page = FleetPage(args, only)
        sys.stdout.write(page.html())
        return int(any(unread.refused for unread in page.view.inputs.holes))
    with HubClient(context=args.context, kubeconfig=args.kubeconfig) as reader:
        inputs = read_inputs(
            reader,
            hub_namespace=args.hub_namespace,
            argocd_namespace=args.argocd_namespace,
            only=only,
        )
        view = build(inputs, only)
        if args.output == "json":
            sys.stdout.write(status_json(view))
        else:
            sys.stdout.write(status_text(view, everything=args.all))
    return int(any(unread.refused for unread in inputs.holes))
