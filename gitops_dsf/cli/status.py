"""gitops-dsf status: shows the state of scoring on a hub."""

import argparse
import sys

from gitops_dsf.cli.arguments import add_hub_arguments, add_output, chosen_context, json_text

DESCRIPTION = """\
Shows how scoring stands on a hub: for each scorer its health and on how many clusters its scores are fresh,
expired or missing, with age and value; for each Placement its decision and the nearest score that would flip
it; for each application where it should be and where it is; which paced moves are under way or wait, and
where applications go when a cluster fails. Reads the hub and writes nothing. What may not be read, or is not
installed, is named and left out."""

EXAMPLES = """\
examples:
  gitops-dsf status --context hub                           everything, summed up where it is much
  gitops-dsf status --context hub --scorer cpu-headroom     one scorer on every cluster, and what ranks by it
  gitops-dsf status --context hub --cluster eu-west-1       one cluster: its scores, and what would bring it in or out
  gitops-dsf status --context hub -o json                   every score, for programs

It is a view: it ends with 0 whatever it shows, and with 1 when the hub, or a part of it, cannot be read.
`gitops-dsf doctor` judges."""  # noqa: E501


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    add_output(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 when the hub refused a part of the view. Raises HubError when it cannot be read."""
    from gitops_dsf.cli.status_text import status_text
    from gitops_dsf.hubreader.hub import Hub
    from gitops_dsf.hubreader.inputs import read_inputs
    from gitops_dsf.views.status import Filter, build
    from gitops_dsf.views.status.model import document

    args.context = chosen_context(args)
    only = Filter(scorer=args.scorer, placement=args.placement, cluster=args.cluster)
    with Hub(context=args.context, kubeconfig=args.kubeconfig) as reader:
        inputs = read_inputs(
            reader, hub_namespace=args.hub_namespace, argocd_namespace=args.argocd_namespace, only=only
        )
        view = build(inputs, only)
        if args.output == "json":
            sys.stdout.write(json_text(document(view)))
        else:
            sys.stdout.write(status_text(view, everything=args.all))
    return int(any(item.refused for item in view.unread))
