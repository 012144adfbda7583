"""gitops-dsf simulate: shows where OCM would place the applications of a repository."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dsf_wire.text import printable_lines
from gitops_dsf.cli.arguments import add_fleet_directory, add_output, json_text
from gitops_dsf.cli.hubdata import add_source_arguments, placement_key, read_fleet, read_hub_data
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from gitops_dsf.hub.snapshot import HubData
    from gitops_dsf.simulator import Verdict
    from gitops_dsf.views.preview.fleet import FleetVersion

DESCRIPTION = """\
Reads a fleet repository and computes what OCM's placement controller would decide for each Placement:
eligible clusters, scores, rank and selection. Nothing is written anywhere. Without scores it shows what the
filters alone decide. With --paced it shows which applications the reconciler would move, in which order."""

EXAMPLES = """\
examples:
  gitops-dsf simulate                                        what the filters alone decide
  gitops-dsf simulate --scores scores.yaml                   kubectl get addonplacementscores,placementdecisions -A -o yaml
  gitops-dsf simulate --scores out/ --placement guestbook    the folder that an agent publishes to; one Placement
  gitops-dsf simulate fleet --context hub -o json            ask the hub; every verdict as JSON
  gitops-dsf simulate --paced --context hub                  the moves that follow by spec.pace, in waves
"""  # noqa: E501


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fleet_directory(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--placement", metavar="[NS/]NAME", help="only this Placement")
    shown.add_argument(
        "--paced",
        action="store_true",
        help="the moves that spec.pace lets begin together, wave after wave; needs scores",
    )
    parser.add_argument(
        "--all", action="store_true", help="every cluster in the tables, not the first 20 of each"
    )
    add_output(parser, "text", "json")
    add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when every Placement was simulated; 1 when the repository has errors."""
    from gitops_dsf.simulator import simulate
    from gitops_dsf.views.preview.fleet import hub_state, resources_ranked, typed_placements

    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    if args.paced:
        return _paced(fleet, args)
    keys = [placement_key(fleet, args.placement)] if args.placement else list(fleet.placements)
    data = read_hub_data(args, resources=resources_ranked([fleet], keys))
    state = hub_state(
        fleet, data.snapshot, decisions=data.snapshot.decisions if data.snapshot else (), only=frozenset(keys)
    )
    verdicts = [simulate(state, key, data.now) for key in keys]
    if args.output == "json":
        sys.stdout.write(json_text(verdicts_content(verdicts, data)))
        return 0
    sys.stdout.write(printable_lines((data.describe(),)))
    if not keys:
        sys.stdout.write("this repository renders no Placement\n")
    from gitops_dsf.cli.verdict_text import verdict_text

    written = typed_placements(fleet, keys) if data.snapshot is None else {}
    for verdict in verdicts:
        rows = None if args.all else 20
        shown = verdict_text(verdict, without_scores=written.get(verdict.placement), rows=rows)
        sys.stdout.write(f"\n{shown}")
    return 0


def _paced(fleet: "FleetVersion", args: argparse.Namespace) -> int:
    """Shows the waves of paced moves. Raises UsageError when there can be none."""
    from gitops_dsf.views.preview.fleet import hub_state, resources_ranked, stored_moves
    from gitops_dsf.views.preview.maintenance import open_windows, window_text
    from gitops_dsf.views.preview.paced import move_text, paced_waves, wave_lines
    from gitops_dsf.wording import names_text, plural

    spec = fleet.resolved.repository.spec
    if spec.pace is None:
        raise UsageError("--paced: gitops-dsf.yaml has no spec.pace, so moves are not paced")
    data = read_hub_data(args, resources=resources_ranked([fleet]), moves_in=spec.hub_namespace)
    if data.snapshot is None:
        raise UsageError(f"--paced: {data.missing}")
    state = hub_state(fleet, data.snapshot, decisions=data.snapshot.decisions)
    found = paced_waves(fleet, state, stored_moves(data.snapshot).ledger, now=data.now)
    windows = open_windows(fleet, state, data.now)
    if args.output == "json":
        content = {"hub": data.shown(), "underWay": found.under_way, "waves": found.waves}
        sys.stdout.write(json_text(content | ({"maintenance": windows} if windows else {})))
        return 0
    lines = [data.describe(), ""]
    lines += (f"maintenance {each.name} is open: {window_text(each)}" for each in windows)
    if found.under_way:
        lines.append(f"under way, taken as done: {', '.join(map(move_text, found.under_way))}")
    if found.undecided:
        names = names_text(found.undecided)
        lines.append(f"without a decision in this data, so OCM places them at once: {names}")
    count = sum(1 for _ in found.moves)
    lines.append(
        f"{plural(count, 'move')} in {plural(len(found.waves), 'wave')}:"
        if count
        else "no paced move follows"
    )
    lines += wave_lines(found.waves)
    if not found.complete:
        lines.append("... and more")
    sys.stdout.write(printable_lines(lines))
    return 0


def verdicts_content(verdicts: "list[Verdict]", data: "HubData") -> dict[str, Any]:
    return {
        "hub": data.shown(),
        "filtersOnly": data.snapshot is None,
        "placements": [verdict.data() for verdict in verdicts],
    }
