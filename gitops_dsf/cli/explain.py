"""gitops-dsf explain: explains a Placement, why a cluster is in or out, what would flip that; or a code."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dsf_wire.text import printable, printable_lines
from gitops_dsf.cli.arguments import add_fleet_directory, add_output, json_text
from gitops_dsf.cli.hubdata import add_source_arguments, placement_key, read_fleet, read_hub_data
from gitops_dsf.errors import UsageError

if TYPE_CHECKING:
    from gitops_dsf.cli.schematree import PacedPlacement
    from gitops_dsf.hub.snapshot import HubData
    from gitops_dsf.simulator import Verdict
    from gitops_dsf.views.preview.fleet import FleetVersion

DESCRIPTION = """\
Says of a Placement what it asks for, which scores it ranks by with which weights, and which clusters are
eligible. Says of one cluster why OCM would or would not select it: the filter that dropped it, or what each
score adds to its sum, whom it would change places with, and the nearest score that would flip the decision.
Of a code of a finding it says what it means, and most have an example."""

EXAMPLES = """\
examples:
  gitops-dsf explain guestbook                                what it asks for; --scores or --context adds the ranking
  gitops-dsf explain guestbook eu-west-1 --scores scores.yaml
  gitops-dsf explain argocd/guestbook eu-west-1 fleet --context hub
  gitops-dsf explain guestbook us-east-1                      without scores: only whether the filters let it pass
  gitops-dsf explain DSF310                                   what a finding means; DSF3 lists the codes that begin so
"""  # noqa: E501

CODE: Final = re.compile("DSF[0-9]*", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "subject",
        metavar="PLACEMENT|CODE",
        help="namespace/name of a Placement, or the name alone if it is unique; or a code such as DSF310",
    )
    parser.add_argument(
        "cluster",
        metavar="CLUSTER",
        nargs="?",
        help="name of a ManagedCluster; without it, the Placement is explained",
    )
    add_fleet_directory(parser)
    add_output(parser, "text", "json")
    add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when there is an explanation; 1 when the repository has errors."""
    if args.cluster is None and CODE.fullmatch(args.subject):
        _explain_code(args.subject)
        return 0
    if args.cluster is not None and Path(args.cluster, "gitops-dsf.yaml").is_file():
        args.directory, args.cluster = Path(args.cluster), None
    import difflib

    import msgspec

    from gitops_dsf.cli.verdict_text import explanation_text, what_would_flip
    from gitops_dsf.simulator import explain, simulate
    from gitops_dsf.views.preview.fleet import hub_state, resources_ranked
    from gitops_dsf.views.preview.paced import is_paced

    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    key = placement_key(fleet, args.subject)
    moves_in = fleet.resolved.repository.spec.hub_namespace if is_paced(fleet, key) else None
    data = read_hub_data(args, resources=resources_ranked([fleet], {key}), moves_in=moves_in)
    state = hub_state(
        fleet, data.snapshot, decisions=data.snapshot.decisions if data.snapshot else (), only={key}
    )
    verdict = simulate(state, key, data.now)
    if args.cluster is None:
        from gitops_dsf.cli.simulate import verdicts_content

        pace = _pace(verdict, data) if moves_in is not None else None
        if args.output == "json":
            paced = {} if pace is None else {"paced": pace}
            sys.stdout.write(json_text({**verdicts_content([verdict], data), **paced}))
        else:
            sys.stdout.write(_placement(fleet, verdict, data, pace))
        return 0
    if args.cluster not in state.positions:
        close = difflib.get_close_matches(args.cluster, state.names, n=3)
        raise UsageError(
            f"there is no cluster {args.cluster} in clusters/{' or on the hub' if data.snapshot else ''}"
            + (f"; did you mean {' or '.join(close)}?" if close else "")
        )
    explanation = explain(verdict, args.cluster, spans=fleet.spans)
    unranked = data.snapshot is None and explanation.rank is not None
    if unranked:
        unknown = dict.fromkeys(("selected", "rank", "points", "rival", "rival_points", "margin"))
        reason = "it passes the filters; without scores its rank is unknown"
        explanation = msgspec.structs.replace(
            explanation, reason=reason, contributions=(), flips=(), **unknown
        )
    if args.output == "json":
        shown = msgspec.to_builtins(explanation)
        sys.stdout.write(json_text({"hub": data.shown(), "filtersOnly": data.snapshot is None, **shown}))
    elif unranked:
        where = f"{explanation.placement}, cluster {explanation.cluster}"
        sys.stdout.write(printable_lines((data.describe(), "", f"{where}: {explanation.reason}")))
    else:
        text = explanation_text(explanation, placement=explanation.placement)
        sys.stdout.write(f"{printable(data.describe())}\n\n{text}{what_would_flip(explanation)}")
    return 0


def _explain_code(word: str) -> None:
    """Prints the entry of a code, or lists the codes that begin so. Raises UsageError if there is none."""
    import textwrap

    from gitops_dsf.cli.report import entries
    from gitops_dsf.cli.terminal import wrapped
    from gitops_dsf.diagnostics.codes import CODES
    from gitops_dsf.wording import did_you_mean

    asked = word.upper()
    known = CODES.get(asked)
    if known is None:
        found = [code for code in CODES.values() if code.id.startswith(asked)]
        if not found:
            close = did_you_mean(asked, CODES)
            raise UsageError(f"there is no code {word}; {close or '`gitops-dsf explain DSF` lists all'}")
        for code in found:
            sys.stdout.write(f"{code.id}  {code.severity:<7}  {code.title}\n")
        return
    entry = entries()[known.id]
    text = "\n".join(wrapped(line, indent=0) for line in entry.text.split("\n"))
    parts = [f"{known.id} {known.title} ({known.severity})", text]
    parts += [f"{head}:\n\n{textwrap.indent(example, '    ')}" for head, example in entry.examples]
    sys.stdout.write("\n\n".join(part for part in parts if part) + "\n")


def _pace(verdict: "Verdict", data: "HubData") -> "PacedPlacement":
    """Where a paced Placement would move by the written weights, and what it waits for on the hub."""
    from gitops_dsf.views.preview.fleet import stored_moves
    from gitops_dsf.views.preview.paced import wished_move
    from gitops_dsf.views.status.queue import queue_view

    moves = stored_moves(data.snapshot)
    return {
        "move": None if data.snapshot is None else wished_move(verdict),
        "queue": queue_view(moves, placements={verdict.placement}, cluster=None),
    }


def _pace_text(pace: "PacedPlacement", *, known: bool) -> str:
    from gitops_dsf.cli.status_text import queue_lines

    move = pace["move"]
    if move is not None:
        words = f"it would move {move.source} -> {move.target} ({move.points:+g} points)"
    else:
        words = "it would stay" if known else "the reconciler moves it"
    lines = [f"  paced: it holds its clusters; by the written weights {words}"]
    if pace["queue"] is not None:
        lines += queue_lines(pace["queue"], everything=True)
    return printable_lines(lines)


def _placement(
    fleet: "FleetVersion", verdict: "Verdict", data: "HubData", pace: "PacedPlacement | None"
) -> str:
    from gitops_dsf.cli.verdict_text import placement_text, verdict_text
    from gitops_dsf.views.preview.fleet import typed_placements

    key = verdict.placement
    written = typed_placements(fleet, {key})[key]
    shown = verdict_text(verdict, without_scores=None if data.snapshot else written, rows=20)
    paced = "" if pace is None else _pace_text(pace, known=data.snapshot is not None)
    source = "" if data.snapshot else ", with --scores, --state-branch or --context"
    return (
        f"{printable(data.describe())}\n\n{placement_text(written)}{paced}\n{shown}"
        f"\nwhy one of them is in or out{source}: gitops-dsf explain {key} CLUSTER\n"
    )
