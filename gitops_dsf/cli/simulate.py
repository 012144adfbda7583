"""The verb `gitops-dsf simulate`: shows where OCM would place applications, and paced moves.

The loss of clusters is in `simulatelosses`.
"""

import argparse
import sys
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from dsf_wire.text import printable_lines
from gitops_dsf.cli.hubdata import assumed_bindings, placement_key, read_fleet, read_hub_data
from gitops_dsf.cli.simulatelosses import simulate_losses
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.snapshots.snapshot import HubSource
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.simulations import assumption_lines, waves_lines
from gitops_dsf.show.verdicts import list_text, rankings_text
from gitops_dsf.simulator import simulate
from gitops_dsf.simulator.verdict_data import VerdictData
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import hub_state, stored_moves
from gitops_dsf.views.preview.paced import PacedMove, PacedWave, paced_waves
from gitops_dsf.views.preview.placements import resources_ranked, typed_placements
from gitops_dsf.views.preview.windows import WindowView, open_windows

MAX_DETAILED: Final = 10
"""Placements that are shown with their rankings. Of more, each one is a line."""


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
    waves: tuple[PacedWave, ...]
    maintenance: tuple[WindowView, ...] | UnsetType = UNSET
    stopped_since: float | UnsetType = UNSET
    """The time since when no move begins, because too many returned; absent if moves go on."""


def run(args: argparse.Namespace) -> int:
    """Returns 0 when every Placement was simulated; 1 when the repository has errors."""
    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    if args.paced:
        return _paced(fleet, args)
    if args.lose or args.lose_each:
        return simulate_losses(fleet, args)
    keys = list(applied(fleet).placements)
    if args.placement:
        keys = [placement_key(fleet, args.placement)]
    # Only what these Placements rank by: a hub of 3,500 clusters has a million scores.
    data = read_hub_data(args, resources=resources_ranked([fleet], keys))
    state = hub_state(fleet, data.snapshot, only=frozenset(keys))
    verdicts = [simulate(state, key, data.now) for key in keys]
    assumed = assumed_bindings(fleet, keys, data)
    if args.output == "json":
        output = SimulateOutput(
            hub=data.shown(),
            filters_only=data.snapshot is None,
            placements=tuple(verdict.data() for verdict in verdicts),
            assumed_bindings=assumed or UNSET,
        )
        sys.stdout.write(json_text(output))
        return 0
    if args.output == "html":
        # Other formats need no templates.
        from gitops_dsf.show.pages.simulation import simulation_page

        page = simulation_page(
            verdicts,
            verb="simulate",
            title="Where OCM would place applications",
            evidence=data.describe(),
            has_scores=data.snapshot is not None,
            notes=tuple(assumption_lines(assumed)),
        )
        sys.stdout.write(page)
        return 0
    sys.stdout.write(printable_lines((data.describe(), *assumption_lines(assumed))))
    # Without a snapshot no score is known, and the texts say what the filters alone decide.
    unscored = typed_placements(fleet, keys) if data.snapshot is None else {}
    if args.all or len(verdicts) <= MAX_DETAILED:
        sys.stdout.write(rankings_text(verdicts, unscored, everything=args.all))
    else:
        sys.stdout.write(list_text(verdicts, unscored))
    return 0


def _paced(fleet: CheckedFleet, args: argparse.Namespace) -> int:
    """Shows the waves of paced moves. Raises UsageError when there can be none."""
    spec = fleet.repository.spec
    if spec.pace is None:
        raise UsageError("--paced: gitops-dsf.yaml has no spec.pace, so moves are not paced")
    data = read_hub_data(args, resources=resources_ranked([fleet]), moves_in=spec.hub_namespace)
    if data.snapshot is None:
        raise UsageError(f"--paced: {data.missing}")
    # All Placements are needed: the pace counts the moves of the whole fleet.
    state = hub_state(fleet, data.snapshot)
    paced = paced_waves(fleet, state, stored_moves(data.snapshot).ledger, now=data.now)
    windows = open_windows(fleet, state, data.now)
    if args.output == "json":
        output = PacedOutput(
            hub=data.shown(),
            under_way=paced.under_way,
            waves=paced.waves,
            maintenance=windows or UNSET,
            # Absent and not null: a program that asks whether the key is there gets the answer.
            stopped_since=UNSET if paced.stopped_since is None else paced.stopped_since,
        )
        sys.stdout.write(json_text(output))
    elif args.output == "html":
        from gitops_dsf.show.pages.simulation import waves_page

        sys.stdout.write(waves_page(paced, windows, evidence=data.describe()))
    else:
        sys.stdout.write(printable_lines((data.describe(), "", *waves_lines(paced, windows))))
    return 0
