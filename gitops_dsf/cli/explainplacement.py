"""Explains a Placement, and one cluster for it: the second part of `gitops-dsf explain`.

The decision is that of the simulator, with the scores of a hub or of files. Not guaranteed: OCM's
reasons, because OCM names none. Without scores only the filters are explained.
"""

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dsf_wire.text import printable_lines
from gitops_dsf.cli.hubdata import assumed_bindings, placement_key, read_fleet, read_hub_data
from gitops_dsf.cli.simulate import SimulateOutput
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.multikueue import readable_order
from gitops_dsf.hub.pace import Verification, written
from gitops_dsf.hub.snapshots.snapshot import HubData, HubSource
from gitops_dsf.multikueue.byscores import JobsByScores, jobs_by_scores
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.show.explanations import (
    explanation_text,
    failures_by_reason,
    failures_of_cluster,
    what_would_flip,
)
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.simulations import (
    assumption_lines,
    desired_clusters_line,
    jobs_lines,
    pace_lines,
)
from gitops_dsf.show.status.placements import lead_text
from gitops_dsf.show.verdicts import MAX_ROWS, placement_text, verdict_text
from gitops_dsf.simulator import Explanation, HubState, Verdict, explain, simulate
from gitops_dsf.simulator.explain import lead
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.hubstate import hub_state, stored_moves
from gitops_dsf.views.preview.paced import DesiredPacedMove, desired_paced_move, is_paced
from gitops_dsf.views.preview.placements import resources_ranked, typed_placements
from gitops_dsf.views.scorefailures import ClusterFailure, cluster_failures
from gitops_dsf.views.status.queue import QueueView, queue_view
from gitops_dsf.views.status.verification import VerifierFacts, verifications_of, verified_by


class PacedPlacement(Struct, frozen=True, kw_only=True):
    """The paced part of a Placement: its desired move, and the reason why it waits."""

    move: DesiredPacedMove | None
    """The move that OCM would make by the written weights; None if there is none, or without
    scores.
    """
    queue: QueueView | None


class PlacementOutput(SimulateOutput, frozen=True, kw_only=True):
    """The output of `explain` for a Placement."""

    paced: PacedPlacement | UnsetType = UNSET
    failures: tuple[ClusterFailure, ...] | UnsetType = UNSET
    """The reasons why scores that rank it are not updated, by the agents. Only with `--context`."""
    verification: Verification | UnsetType = UNSET
    """The checks after a move; absent if moves are not verified."""
    jobs: JobsByScores | UnsetType = UNSET
    """The order in which Kueue's jobs would be sent; absent without multiKueue, and without scores.
    """


_EXPLANATION_FIELDS: Final = [
    (field.name, field.type) for field in msgspec.structs.fields(Explanation)
]
# A subclass of Explanation would have the fields of Explanation first, and `hub` must be first: the
# JSON has the order of the fields, and all outputs begin with where the data is from.
ExplainOutput = msgspec.defstruct(
    "ExplainOutput",
    [
        ("hub", HubSource),
        ("filters_only", bool),
        *_EXPLANATION_FIELDS,
        ("assumed_bindings", tuple[str, ...] | UnsetType, UNSET),
        ("failures", tuple[ClusterFailure, ...] | UnsetType, UNSET),
    ],
    rename="camel",
    frozen=True,
)


def explain_placement(args: argparse.Namespace) -> int:
    """Returns 1 when the repository has errors. Raises UsageError for an unknown name."""
    fleet = read_fleet(args.directory)
    if fleet is None:
        return 1
    key = placement_key(fleet, args.subject)
    # Only a paced Placement has moves, so only then is their ConfigMap read.
    moves_in = fleet.repository.spec.hub_namespace if is_paced(fleet, key) else None
    resources = _resources(fleet, key)
    data = read_hub_data(args, resources=resources, moves_in=moves_in)
    state = hub_state(fleet, data.snapshot, only={key})
    verdict = simulate(state, key, data.now)
    assumed = assumed_bindings(fleet, (key,), data)
    failures = cluster_failures(data.snapshot, resources or (), cluster=args.cluster)
    if args.cluster is None:
        pace = None if moves_in is None else _pace(verdict, data, hub_namespace=moves_in)
        _write_placement(args, fleet, verdict, data, pace, assumed=assumed, failures=failures)
    else:
        _check_cluster(args.cluster, state, has_snapshot=data.snapshot is not None)
        _write_cluster(args, fleet, verdict, data, assumed=assumed, failures=failures)
    return 0


def _write_placement(
    args: argparse.Namespace,
    fleet: CheckedFleet,
    verdict: Verdict,
    data: HubData,
    pace: PacedPlacement | None,
    *,
    assumed: tuple[str, ...],
    failures: tuple[ClusterFailure, ...],
) -> None:
    """Writes what a Placement asks for, and what it decides."""
    key = verdict.placement
    if args.output == "json":
        output = PlacementOutput(
            hub=data.shown(),
            filters_only=data.snapshot is None,
            placements=(verdict.data(),),
            assumed_bindings=assumed or UNSET,
            paced=pace or UNSET,
            failures=failures or UNSET,
            verification=_verification(fleet, key),
            jobs=_jobs(verdict, data) or UNSET,
        )
        sys.stdout.write(json_text(output))
    elif args.output == "html":
        # Other formats need no templates.
        from gitops_dsf.show.pages.simulation import simulation_page

        has_scores = data.snapshot is not None
        notes = [*assumption_lines(assumed)]
        if pace is not None:
            notes += pace_lines(pace.move, pace.queue, has_scores=has_scores)
        notes += jobs_lines(_jobs(verdict, data), unknown=_unknown_order(verdict, data))
        page = simulation_page(
            (verdict,),
            verb="explain",
            title=f"Why {key} is where it is",
            evidence=data.describe(),
            has_scores=has_scores,
            # The lines are those of the text, which are indented there.
            notes=[note.strip() for note in notes],
            failures=failures,
        )
        sys.stdout.write(page)
    else:
        head = printable_lines((data.describe(), *assumption_lines(assumed)))
        rows = None if args.all else MAX_ROWS
        text = _placement(fleet, verdict, data, pace, rows=rows)
        sys.stdout.write(head + text + failures_by_reason(failures))


def _write_cluster(
    args: argparse.Namespace,
    fleet: CheckedFleet,
    verdict: Verdict,
    data: HubData,
    *,
    assumed: tuple[str, ...],
    failures: tuple[ClusterFailure, ...],
) -> None:
    """Writes why a Placement selects one cluster, or why it does not."""
    explanation = _explanation(verdict, args.cluster, fleet)
    # Every score would be 0, and the first cluster by name would look like the best one.
    is_unranked = data.snapshot is None and explanation.rank is not None
    if is_unranked:
        explanation = _without_rank(explanation)
    if args.output == "json":
        explained = ExplainOutput(
            hub=data.shown(),
            filters_only=data.snapshot is None,
            **msgspec.structs.asdict(explanation),
            assumed_bindings=assumed or UNSET,
            failures=failures or UNSET,
        )
        sys.stdout.write(json_text(explained))
    elif args.output == "html":
        sys.stdout.write(_page(explanation, verdict, data, assumed, failures))
    else:
        head = printable_lines((data.describe(), *assumption_lines(assumed), ""))
        if is_unranked:
            line = f"{explanation.placement}, cluster {explanation.cluster}: {explanation.reason}"
            text = printable_lines((line,))
        else:
            text = _cluster(explanation, verdict, data)
        sys.stdout.write(head + text + failures_of_cluster(failures, now=data.now))


def _resources(fleet: CheckedFleet, key: str) -> frozenset[str] | None:
    """The AddOnPlacementScores that rank a Placement or verify its moves; None means any."""
    ranking = resources_ranked([fleet], {key})
    return None if ranking is None else ranking | verified_by(typed_placements(fleet, {key})[key])


def _verification(fleet: CheckedFleet, key: str) -> Verification | UnsetType:
    """The checks after a move of a Placement."""
    for placement in fleet.placements:
        if placement.key == key and placement.paced is not None:
            return placement.paced.verification or UNSET
    return UNSET


def _check_cluster(name: str, state: HubState, *, has_snapshot: bool) -> None:
    """Raises UsageError for a cluster that is neither in clusters/ nor on the hub."""
    if name in state.positions:
        return
    searched = "clusters/ or on the hub" if has_snapshot else "clusters/"
    # Several names: those of clusters often differ only in a number, so one would be a guess.
    close = difflib.get_close_matches(name, state.names, n=3)
    if close:
        raise UsageError(
            f"there is no cluster {name} in {searched}; did you mean {' or '.join(close)}?"
        )
    raise UsageError(f"there is no cluster {name} in {searched}")


def _explanation(verdict: Verdict, cluster: str, fleet: CheckedFleet) -> Explanation:
    """The reasons why a cluster is in or out, by the weights that people wrote.

    A paced Placement that wishes to move is still where it is, and no score would change that.
    """
    explanation = explain(as_people_wrote(verdict), cluster, spans=fleet.spans)
    decided = cluster in verdict.chosen
    # None is "not known", which the rendered weights do not know better.
    if explanation.selected in {None, decided}:
        return explanation
    return msgspec.structs.replace(explanation, selected=decided, margin=None, flips=())


def _without_rank(explanation: Explanation) -> Explanation:
    """The explanation without scores: only whether the cluster passes the filters is known."""
    return msgspec.structs.replace(
        explanation,
        reason="it passes the filters; without scores its rank is unknown",
        selected=None,
        rank=None,
        points=None,
        rival=None,
        rival_points=None,
        margin=None,
        contributions=(),
        flips=(),
    )


def _page(
    explanation: Explanation,
    verdict: Verdict,
    data: HubData,
    assumed: tuple[str, ...],
    failures: Sequence[ClusterFailure],
) -> str:
    """The page of one cluster for a Placement."""
    from gitops_dsf.show.pages.simulation import explanation_page

    by_scores = as_people_wrote(verdict)
    is_held = data.snapshot is not None and by_scores.chosen != verdict.chosen
    notes = [*assumption_lines(assumed)]
    if is_held:
        notes.append(desired_clusters_line(sorted(by_scores.chosen)).strip())
    return explanation_page(
        explanation,
        evidence=data.describe(),
        notes=notes,
        has_flips=not is_held,
        failures=failures,
    )


def _cluster(explanation: Explanation, verdict: Verdict, data: HubData) -> str:
    text = explanation_text(explanation, placement=explanation.placement)
    by_scores = as_people_wrote(verdict)
    # Where the pace holds a move back, a score that would flip the decision is the wrong answer:
    # what is missing is not a score but the pace's permission.
    if data.snapshot is None or by_scores.chosen == verdict.chosen:
        return text + what_would_flip(explanation)
    return f"{text}\n" + printable_lines((desired_clusters_line(sorted(by_scores.chosen)),))


def _pace(verdict: Verdict, data: HubData, *, hub_namespace: str) -> PacedPlacement:
    """The move of a paced Placement by the written weights, and the reason why it waits."""
    moves = stored_moves(data.snapshot)
    facts = VerifierFacts(
        verifications=verifications_of([verdict.source]),
        scores={} if data.snapshot is None else data.snapshot.scores,
        now=data.now.timestamp(),
    )
    return PacedPlacement(
        move=None if data.snapshot is None else desired_paced_move(verdict),
        queue=queue_view(
            moves,
            placements={verdict.placement},
            cluster=None,
            facts=facts,
            hub_namespace=hub_namespace,
        ),
    )


def _jobs(verdict: Verdict, data: HubData) -> JobsByScores | None:
    """The order of jobs by the scores; None without scores or without multiKueue."""
    # Without scores all would be 0, and the order that of the names.
    if data.snapshot is None or verdict.ranking is None:
        return None
    names = [verdict.state.names[position] for position in verdict.ranking.clusters]
    return jobs_by_scores(verdict.source, names, data.snapshot.scores, now=data.now.timestamp())


def _unknown_order(verdict: Verdict, data: HubData) -> str:
    """The MultiKueueConfig that a Placement orders by scores that are not known; else empty."""
    order = readable_order(verdict.source)
    return order.config if order is not None and data.snapshot is None else ""


def _placement(
    fleet: CheckedFleet,
    verdict: Verdict,
    data: HubData,
    pace: PacedPlacement | None,
    *,
    rows: int | None,
) -> str:
    key = verdict.placement
    has_scores = data.snapshot is not None
    by_people = as_people_wrote(verdict)
    typed = typed_placements(fleet, {key})[key]
    lines: list[str] = []
    if pace is not None:
        lines += pace_lines(pace.move, pace.queue, has_scores=has_scores)
    lines += jobs_lines(_jobs(verdict, data), unknown=_unknown_order(verdict, data))
    leader = lead(by_people) if has_scores else None
    if leader is not None:
        lines.append(f"  {lead_text(leader)}")
    ranking = verdict_text(
        verdict, by=by_people, without_scores=None if has_scores else typed, rows=rows
    )
    text = f"\n{placement_text(written(typed))}{printable_lines(lines)}\n{ranking}"
    if has_scores:
        text += f"\nwhy one of them is in or out: gitops-dsf explain {key} CLUSTER\n"
    else:
        text += (
            "\nwhy one of them is in or out, with --scores, --state-branch or --context: gitops-dsf"
            f" explain {key} CLUSTER\n"
        )
    return text
