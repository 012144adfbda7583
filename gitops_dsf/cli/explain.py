"""gitops-dsf explain: explains why a cluster is in or out, and what would have to change; or a code."""

import argparse
import sys
from typing import TYPE_CHECKING

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.arguments import add_fleet_directory
from gitops_dsf.cli.explained_code import CODE, explain_code
from gitops_dsf.cli.garbage import kept
from gitops_dsf.cli.hubdata import add_source_arguments, placement_key, read_fleet, read_hub_data
from gitops_dsf.cli.jsontext import json_text
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from gitops_dsf.hub.snapshot import HubData
    from gitops_dsf.simulator import Explanation

DESCRIPTION = """\
Says of one cluster and one Placement why OCM would or would not select it: the filter that dropped it, or
what each score adds to its sum, whom it would change places with, and the nearest score that would flip the
decision. Of a code of a finding it says what it means, with an example that gives the finding and one that
does not."""

EXAMPLES = """\
examples:
  gitops-dsf explain guestbook eu-west-1 --scores scores.yaml
  gitops-dsf explain argocd/guestbook eu-west-1 fleet --context hub
  gitops-dsf explain guestbook us-east-1                      without scores: only whether the filters let it pass
  gitops-dsf explain DSF310                                   what a finding means; DSF3 lists the codes that begin so
"""  # noqa: E501


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of explain."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "subject",
        metavar="PLACEMENT|CODE",
        help="namespace/name of a Placement, or the name alone if it is unique; or a code such as DSF310",
    )
    parser.add_argument(
        "cluster", metavar="CLUSTER", nargs="?", help="name of a ManagedCluster; not with a code"
    )
    add_fleet_directory(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text by default")
    add_source_arguments(parser)


@kept()
def run(args: argparse.Namespace) -> int:
    """Returns 0 when there is an explanation; 1 when the repository has errors."""
    if args.cluster is None:
        if CODE.fullmatch(args.subject):
            explain_code(args.subject)
            return 0
        msg = f"name a cluster: gitops-dsf explain {args.subject} CLUSTER; gitops-dsf simulate shows all"
        raise UsageError(msg)
    from gitops_dsf.simulator import explain, simulate
    from gitops_dsf.views.preview.hub import hub_state, resources_ranked

    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    key = placement_key(fleet, args.subject)
    data = read_hub_data(args, fleet=fleet, resources=resources_ranked([fleet], {key}))
    state = hub_state(
        fleet, data.snapshot, decisions=data.snapshot.decisions if data.snapshot else (), only={key}
    )
    if args.cluster not in state.positions:
        msg = (
            f"there is no cluster {args.cluster} in"
            f" clusters/{' or on the hub' if data.snapshot else ''}{_like(args.cluster, state.names)}"
        )
        raise UsageError(msg)
    explanation = explain(simulate(state, key, data.now), args.cluster, spans=fleet.spans)
    sys.stdout.write(_json(explanation, data) if args.format == "json" else _text(explanation, data))
    return 0


def _like(name: str, names: tuple[str, ...]) -> str:
    import difflib

    close = difflib.get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _json(explanation: "Explanation", data: "HubData") -> str:
    content = {"hub": data.to_dict(), "filtersOnly": data.snapshot is None, **explanation.to_dict()}
    if data.snapshot is None and explanation.rank is not None:
        content |= dict.fromkeys(("selected", "rank", "points", "rival", "rivalPoints", "margin"))
        content |= {"reason": _UNRANKED, "contributions": [], "flips": []}
    return json_text(content)


_UNRANKED = "it passes the filters; without scores its rank is unknown"


def _text(explanation: "Explanation", data: "HubData") -> str:
    if data.snapshot is None and explanation.rank is not None:
        where = f"{explanation.placement}, cluster {explanation.cluster}"
        return printable_lines((data.describe(), "", f"{where}: {_UNRANKED}"))
    from gitops_dsf.cli.explanation_text import explanation_text, what_would_flip

    return f"{printable(data.describe())}\n\n{explanation_text(explanation)}{what_would_flip(explanation)}"
