"""gitops-dsf simulate: shows where OCM would place applications; and what `explain` says of a Placement."""

import argparse
import difflib
import sys
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dsf_wire.text import printable_lines
from gitops_dsf.cli.hubdata import placement_key, read_fleet, read_hub_data
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.pace import written
from gitops_dsf.hub.snapshot import HubData, HubSource
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.moves import queue_lines
from gitops_dsf.show.status import lead_text
from gitops_dsf.show.verdicts import (
    MAX_ROWS,
    explanation_text,
    is_calm,
    placement_text,
    summary_text,
    verdict_text,
    what_would_flip,
)
from gitops_dsf.simulator import Explanation, Verdict, explain, simulate
from gitops_dsf.simulator.explain import lead
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.simulator.verdict import VerdictData
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fleet import (
    hub_state,
    known_bindings,
    resources_ranked,
    stored_moves,
    typed_placements,
)
from gitops_dsf.views.preview.maintenance import WindowView, open_windows, window_text
from gitops_dsf.views.preview.paced import (
    PacedMove,
    Wave,
    WishedMove,
    is_paced,
    move_text,
    paced_waves,
    wave_lines,
    wished_move,
)
from gitops_dsf.views.status.queue import QueueView, queue_view
from gitops_dsf.wording import names_text, plural

MOST_DETAILED: Final = 10
"""Placements that are shown with their rankings. Of more, each one is a line."""
MOST_LISTED: Final = 40
"""Placements that are listed without --all. Those that would change come first."""
LEAST_ROWS: Final = 5
"""Lines of a table at least, where there are several Placements."""


class SimulateOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `simulate`."""

    hub: HubSource
    filters_only: bool
    placements: tuple[VerdictData, ...]
    assumed_bindings: tuple[str, ...] | UnsetType = UNSET
    """ManagedClusterSetBindings, as `namespace/name`, that the repository does not render and that
    are taken as there, because the bindings of the hub are not known.
    """


class PacedOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `simulate --paced`."""

    hub: HubSource
    under_way: tuple[PacedMove, ...]
    waves: tuple[Wave, ...]
    maintenance: tuple[WindowView, ...] | UnsetType = UNSET


class PacedPlacement(Struct, frozen=True, kw_only=True):
    """What `explain` says of a paced Placement."""

    move: WishedMove | None
    """Where OCM would move it by the written weights; None if nowhere, or without scores."""
    queue: QueueView | None


class PlacementOutput(SimulateOutput, frozen=True, kw_only=True):
    """The output of `explain` for a Placement."""

    paced: PacedPlacement | UnsetType = UNSET


_EXPLAINED: Final = [(each.name, each.type) for each in msgspec.structs.fields(Explanation)]
# A class would have the fields of Explanation first.
ExplainOutput = msgspec.defstruct(
    "ExplainOutput",
    [
        ("hub", HubSource),
        ("filters_only", bool),
        *_EXPLAINED,
        ("assumed_bindings", tuple[str, ...] | UnsetType, UNSET),
    ],
    rename="camel",
    frozen=True,
)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when every Placement was simulated; 1 when the repository has errors."""
    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    if args.paced:
        return _paced(fleet, args)
    keys = (
        [placement_key(fleet, args.placement)]
        if args.placement
        else list(applied(fleet).placements)
    )
    data = read_hub_data(args, resources=resources_ranked([fleet], keys))
    state = hub_state(fleet, data.snapshot, only=frozenset(keys))
    verdicts = [simulate(state, key, data.now) for key in keys]
    if args.output == "json":
        placements = tuple(verdict.data() for verdict in verdicts)
        output = SimulateOutput(
            hub=data.shown(),
            filters_only=data.snapshot is None,
            placements=placements,
            assumed_bindings=_assumed(fleet, keys, data) or UNSET,
        )
        sys.stdout.write(json_text(output))
        return 0
    sys.stdout.write(printable_lines((data.describe(), *_assumption(fleet, keys, data))))
    if not keys:
        sys.stdout.write("this repository renders no Placement\n")
    unscored = typed_placements(fleet, keys) if data.snapshot is None else {}
    if args.all or len(verdicts) <= MOST_DETAILED:
        # With several Placements, each one gets a part of the lines.
        rows = None if args.all else max(LEAST_ROWS, MAX_ROWS // max(1, len(verdicts)))
        for verdict in verdicts:
            shown = verdict_text(verdict, without_scores=unscored.get(verdict.placement), rows=rows)
            sys.stdout.write(f"\n{shown}")
        return 0
    sys.stdout.write("\n")
    listed = sorted(verdicts, key=is_calm)[:MOST_LISTED]
    for verdict in listed:
        sys.stdout.write(summary_text(verdict, without_scores=unscored.get(verdict.placement)))
    if len(listed) < len(verdicts):
        print(f"... and {len(verdicts) - len(listed)} more Placements (--all shows them)")
    print("--placement NAME shows the ranking of a Placement, and --all that of each")
    return 0


def _paced(fleet: CheckedFleet, args: argparse.Namespace) -> int:
    """Shows the waves of paced moves. Raises UsageError when there can be none."""
    spec = fleet.repository.spec
    if spec.pace is None:
        raise UsageError("--paced: gitops-dsf.yaml has no spec.pace, so moves are not paced")
    data = read_hub_data(args, resources=resources_ranked([fleet]), moves_in=spec.hub_namespace)
    if data.snapshot is None:
        raise UsageError(f"--paced: {data.missing}")
    state = hub_state(fleet, data.snapshot)
    found = paced_waves(fleet, state, stored_moves(data.snapshot).ledger, now=data.now)
    windows = open_windows(fleet, state, data.now)
    if args.output == "json":
        output = PacedOutput(
            hub=data.shown(),
            under_way=found.under_way,
            waves=found.waves,
            maintenance=windows or UNSET,
        )
        sys.stdout.write(json_text(output))
        return 0
    lines = [data.describe(), ""]
    lines += (f"maintenance {each.name} is open: {window_text(each)}" for each in windows)
    if found.under_way:
        lines.append(f"under way, taken as done: {', '.join(map(move_text, found.under_way))}")
    if found.undecided:
        names = names_text(found.undecided)
        lines.append(f"without a decision in this data, so OCM places them at once: {names}")
    count = sum(1 for _ in found.moves)
    moves = f"{plural(count, 'move')} in {plural(len(found.waves), 'wave')}:"
    lines.append(moves if count else "no paced move follows")
    lines += wave_lines(found.waves)
    if not found.complete:
        lines.append("... and more")
    sys.stdout.write(printable_lines(lines))
    return 0


def explain_placement(args: argparse.Namespace) -> int:
    """What `explain` says. Returns 1 when the repository has errors."""
    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    key = placement_key(fleet, args.subject)
    moves_in = fleet.repository.spec.hub_namespace if is_paced(fleet, key) else None
    data = read_hub_data(args, resources=resources_ranked([fleet], {key}), moves_in=moves_in)
    state = hub_state(fleet, data.snapshot, only={key})
    verdict = simulate(state, key, data.now)
    if args.cluster is None:
        pace = _pace(verdict, data) if moves_in is not None else None
        if args.output == "json":
            output = PlacementOutput(
                hub=data.shown(),
                filters_only=data.snapshot is None,
                placements=(verdict.data(),),
                assumed_bindings=_assumed(fleet, (key,), data) or UNSET,
                paced=pace or UNSET,
            )
            sys.stdout.write(json_text(output))
        else:
            rows = None if args.all else MAX_ROWS
            sys.stdout.write(_placement(fleet, verdict, data, pace, rows=rows))
        return 0
    if args.cluster not in state.positions:
        close = difflib.get_close_matches(args.cluster, state.names, n=3)
        raise UsageError(
            f"there is no cluster {args.cluster} in"
            f" clusters/{' or on the hub' if data.snapshot else ''}"
            + (f"; did you mean {' or '.join(close)}?" if close else "")
        )
    explanation = _explained(verdict, args.cluster, fleet)
    unranked = data.snapshot is None and explanation.rank is not None
    if unranked:
        unknown = dict.fromkeys(("selected", "rank", "points", "rival", "rival_points", "margin"))
        reason = "it passes the filters; without scores its rank is unknown"
        explanation = msgspec.structs.replace(
            explanation, reason=reason, contributions=(), flips=(), **unknown
        )
    if args.output == "json":
        shown = msgspec.structs.asdict(explanation)
        explained = ExplainOutput(
            hub=data.shown(),
            filters_only=data.snapshot is None,
            **shown,
            assumed_bindings=_assumed(fleet, (key,), data) or UNSET,
        )
        sys.stdout.write(json_text(explained))
        return 0
    head = printable_lines((data.describe(), *_assumption(fleet, (key,), data), ""))
    if unranked:
        where = f"{explanation.placement}, cluster {explanation.cluster}"
        sys.stdout.write(f"{head}{printable_lines((f'{where}: {explanation.reason}',))}")
    else:
        text = explanation_text(explanation, placement=explanation.placement)
        by_scores = as_people_wrote(verdict)
        if by_scores.chosen == verdict.chosen or data.snapshot is None:
            sys.stdout.write(f"{head}{text}{what_would_flip(explanation)}")
        else:
            wish = names_text(sorted(by_scores.chosen)) or "no cluster"
            paced = f"  paced: it holds its clusters; the written weights ask for {wish}"
            sys.stdout.write(f"{head}{text}\n{printable_lines((paced,))}")
    return 0


def _explained(verdict: Verdict, cluster: str, fleet: CheckedFleet) -> Explanation:
    """Why a cluster is in or out, by the weights that people wrote.

    A paced Placement that wishes to move is still where it is, and no score would change that.
    """
    explanation = explain(as_people_wrote(verdict), cluster, spans=fleet.spans)
    decided = cluster in verdict.chosen
    if explanation.selected in {None, decided}:
        return explanation
    return msgspec.structs.replace(explanation, selected=decided, margin=None, flips=())


def _assumed(fleet: CheckedFleet, keys: Iterable[str], data: HubData) -> tuple[str, ...]:
    """ManagedClusterSetBindings that Placements need, and of which nobody knows if the hub has them."""
    if known_bindings(data.snapshot) is not None:
        return ()
    pairs = {pair for key in keys for pair in applied(fleet).assumed_bindings.get(key, ())}
    return tuple(sorted("/".join(pair) for pair in pairs))


def _assumption(fleet: CheckedFleet, keys: Iterable[str], data: HubData) -> list[str]:
    """Says what is assumed about bindings."""
    names = _assumed(fleet, keys, data)
    if not names:
        return []
    there = "is" if len(names) == 1 else "are"
    text = (
        f"ManagedClusterSetBinding {names_text(names)} {there} assumed: this repository does not"
        " render that, and the bindings of the hub are not known (--context reads them)"
    )
    return [text]


def _pace(verdict: Verdict, data: HubData) -> PacedPlacement:
    """Where a paced Placement would move by the written weights, and what it waits for on the hub."""
    moves = stored_moves(data.snapshot)
    return PacedPlacement(
        move=None if data.snapshot is None else wished_move(verdict),
        queue=queue_view(moves, placements={verdict.placement}, cluster=None),
    )


def _pace_text(pace: PacedPlacement, *, known: bool) -> str:
    move = pace.move
    if move is not None:
        words = f"it would move {move.source} -> {move.target} ({move.points:+g} points)"
    else:
        words = "it would stay" if known else "the reconciler moves it"
    lines = [f"  paced: it holds its clusters; by the written weights {words}"]
    if pace.queue is not None:
        lines += queue_lines(pace.queue, everything=True)
    return printable_lines(lines)


def _placement(
    fleet: CheckedFleet,
    verdict: Verdict,
    data: HubData,
    pace: PacedPlacement | None,
    *,
    rows: int | None,
) -> str:
    key = verdict.placement
    typed = typed_placements(fleet, {key})[key]
    shown = verdict_text(
        verdict,
        by=as_people_wrote(verdict),
        without_scores=None if data.snapshot else typed,
        rows=rows,
    )
    paced = "" if pace is None else _pace_text(pace, known=data.snapshot is not None)
    leader = None if data.snapshot is None else lead(as_people_wrote(verdict))
    if leader is not None:
        paced += printable_lines((f"  {lead_text(leader)}",))
    source = "" if data.snapshot else ", with --scores, --state-branch or --context"
    head = printable_lines((data.describe(), *_assumption(fleet, (key,), data)))
    return (
        f"{head}\n{placement_text(written(typed))}{paced}\n{shown}\nwhy one of them is in or"
        f" out{source}: gitops-dsf explain {key} CLUSTER\n"
    )
