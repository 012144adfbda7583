"""The board of the fleet, from what the informers hold: no request is made for it.

It shows less than `gitops-dsf status`: what OCM would decide is not worked out, and what the
reconciler does not follow is not judged. What it judges, it judges by the checks of `doctor`.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from gitops_dsf.hub.application_sets import recognised
from gitops_dsf.hub.objects import Placement, PlacementDecision
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.pacing.stored import StoredMoves
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.show.board import Board, board_text
from gitops_dsf.views.doctor.examine import CHECKS, examine
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.status.applications import application_views
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.clusters import cluster_views
from gitops_dsf.views.status.inputs import HubPart, StatusInputs
from gitops_dsf.views.status.queue import hub_queue
from gitops_dsf.views.status.scores import scorer_views

CHECKED: Final = frozenset(
    {
        "ocm-clusters",
        "applicationsets",
        "scorers",
        "scores-fresh",
        "moves-stopped",
        "verified-moves",
    }
)
"""The checks that need nothing but informers and the ledger."""


async def board(context: ControllerContext, decisions: Sequence[PlacementDecision]) -> bytes:
    """The board, with these decisions. It is the same as long as the hub is."""
    view = context.view
    masks = view.masks.current
    unread: dict[HubPart, Unread] = {}
    if masks is None:
        # Without the masks a masked score would be called missing.
        unread[HubPart.MASKS] = Unread(what="the masks", why=Why.FAILED, verb="get")
    now = datetime.fromtimestamp(context.api.now(), tz=UTC)
    paced: list[Placement] = []
    for summary in view.placements.items.values():
        if summary.paced is not None:
            paced.append(summary.paced)
    snapshot = Snapshot(
        origin="hub",
        observed_at=now,
        # The informer changes them while the thread reads.
        scores={name: dict(column) for name, column in view.scores.columns.items()},
        decisions=tuple(decisions),
        clusters=dict(view.clusters.items),
    )
    sets = tuple(view.sets.items.values())
    inputs = StatusInputs(
        snapshot=snapshot,
        now=now,
        hub_namespace=view.hub_namespace,
        scorers=tuple(view.scorers.items.values()),
        placements=tuple(paced),
        application_sets=sets,
        applications=tuple(recognised(view.applications.items.values(), sets)),
        addons=dict(view.addons.items),
        masks=masks or (),
        moves=StoredMoves(ledger=context.ledger),
        unread=unread,
    )
    # In a thread, because a fleet of thousands takes a second, and leadership must be renewed.
    return await asyncio.to_thread(_text, inputs, view)


def _text(inputs: StatusInputs, view: HubView) -> bytes:
    rendered = [item for item in inputs.application_sets if item.rendered]
    overview = Overview(
        inputs=inputs,
        clusters=tuple(cluster_views(inputs, cluster=None)),
        scorers=scorer_views(inputs.scorers, inputs),
        placements=(),
        eligible={},
        applications=application_views(rendered, inputs),
        queue=hub_queue(inputs),
        refuges=(),
    )
    not_followed = Unread(what="what the reconciler does not follow", why=Why.NOT_INSTALLED)
    facts = DoctorFacts(
        kubectl=("kubectl",),
        hub_namespace=view.hub_namespace,
        argocd_namespace=view.argocd_namespace,
        groups={},
        clock_offset=None,
        inputs=inputs,
        overview=overview,
        sources=dict.fromkeys(FactSource, not_followed),
    )
    findings = examine(facts, [check for check in CHECKS if check.id in CHECKED])
    return board_text(Board(overview=overview, findings=findings)).encode()
