"""The options `--lose` and `--lose-each` of `gitops-dsf simulate`: the effects of lost clusters."""

import argparse
import sys
from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType

from dsf_wire.text import printable_lines
from gitops_dsf.cli.hubdata import read_hub_data
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.snapshots.snapshot import HubSource
from gitops_dsf.pacing.refuges import published_refuges
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.losses import loss_lines, losses_summary
from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.scheduler import schedule_all
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.failover import planned_refuges, plans_refuges
from gitops_dsf.views.preview.hubstate import hub_state, stored_moves
from gitops_dsf.views.preview.losses import (
    Loss,
    Losses,
    loss_of,
    losses_of_each,
    with_refuges,
)
from gitops_dsf.views.preview.placements import resources_ranked
from gitops_dsf.wording import did_you_mean_one_of, plural


class LossesOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `simulate --lose` and `simulate --lose-each`."""

    hub: HubSource
    losses: tuple[Loss, ...]
    left_out: int | UnsetType = UNSET
    """Clusters with applications whose loss was not computed; absent if there is none."""


def simulate_losses(fleet: CheckedFleet, args: argparse.Namespace) -> int:
    """Returns 0. Raises UsageError without scores, and for a cluster that is not known."""
    option = "--lose-each" if args.lose_each else "--lose"
    spec = fleet.repository.spec
    data = read_hub_data(args, resources=resources_ranked([fleet]), moves_in=spec.hub_namespace)
    if data.snapshot is None:
        raise UsageError(f"{option}: {data.missing}")
    state = hub_state(fleet, data.snapshot)
    # Moves that OCM would make anyway are not an effect of the loss.
    scheduled = schedule_all(state, applied(fleet).placements, data.now)
    state = state.deciding(scheduled.decisions)
    if plans_refuges(fleet):
        published = published_refuges(data.snapshot.scores)
        ledger = stored_moves(data.snapshot).ledger
        planned = planned_refuges(fleet, state, ledger, current=published, now=data.now)
        # OCM follows what is published. The reconciler publishes the others within a minute.
        unpublished = {key: planned[key] for key in planned.keys() - published.keys()}
        state = with_refuges(state, unpublished, keep=True)
    if args.lose_each:
        survey = losses_of_each(fleet, state, now=data.now)
    else:
        clusters = chosen_clusters(args.lose, state)
        survey = Losses(losses=(loss_of(fleet, state, clusters, now=data.now),), left_out=0)
    if args.output == "json":
        output = LossesOutput(
            hub=data.shown(), losses=survey.losses, left_out=survey.left_out or UNSET
        )
        sys.stdout.write(json_text(output))
        return 0
    if args.output == "html":
        from gitops_dsf.show.pages.simulation import losses_page

        page = losses_page(survey.losses, left_out=survey.left_out, evidence=data.describe())
        sys.stdout.write(page)
        return 0
    lines = [data.describe()]
    for loss in survey.losses:
        lines += ["", *loss_lines(loss)]
    if args.lose_each:
        lines += ["", losses_summary(survey.losses)]
    if survey.left_out:
        lines.append(
            f"{plural(survey.left_out, 'cluster')} more with applications were left out, because"
            " that would take too long: name them with --lose"
        )
    sys.stdout.write(printable_lines(lines))
    return 0


def chosen_clusters(written: Iterable[str], state: HubState) -> frozenset[str]:
    """The clusters that are named or have one of the labels. Raises UsageError."""
    chosen: set[str] = set()
    for name in written:
        label, equals, value = name.partition("=")
        if not equals:
            if name not in state.positions:
                hint = did_you_mean_one_of(name, state.names, where="clusters")
                raise UsageError(f"--lose {name}: there is no such cluster; {hint}")
            chosen.add(name)
            continue
        labelled: set[str] = set()
        for cluster in state.clusters:
            if cluster.labels.get(label) == value:
                labelled.add(cluster.metadata.name)
        # A misspelt label would lose nothing, which looks like good news.
        if not labelled:
            raise UsageError(f"--lose {name}: no cluster has the label {label}={value}")
        chosen |= labelled
    return frozenset(chosen)
