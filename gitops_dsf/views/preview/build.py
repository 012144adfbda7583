"""Compares two repositories with the known facts about a hub, and computes the change's effects.

Nothing is read and nothing is written here. A section of a preview is one field of `Comparison`: a
module of this package computes its value, and `gitops_dsf.show.preview` writes it. A field that may
be absent has the default UNSET, so that its key is absent from the JSON output as well.
"""

from msgspec import UNSET, Struct, UnsetType, field

from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.raw_results import NO_RAW_SCORES, RawScores
from gitops_dsf.hub.snapshots.snapshot import HubData, HubSource, Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.edits import (
    PlacementChange,
    SourceChange,
    binding_changes,
    placement_changes,
    source_changes,
)
from gitops_dsf.views.preview.failover import Failover, failover_changes, refuge_plans
from gitops_dsf.views.preview.joborders import (
    JobOrderChange,
    MultiKueueChange,
    job_order_changes,
    multi_kueue_change,
)
from gitops_dsf.views.preview.losschange import LossChange, loss_changes
from gitops_dsf.views.preview.maintenance import MaintenanceChange, maintenance_changes
from gitops_dsf.views.preview.moves import DecisionMove, moves
from gitops_dsf.views.preview.newhosts import NewHost, new_hosts
from gitops_dsf.views.preview.pacedchange import PacedChange, paced_change
from gitops_dsf.views.preview.rawquestions import RawScoreSource
from gitops_dsf.views.preview.scorers import ScorerChange, rescored, scorer_changes, with_raw_scores
from gitops_dsf.views.preview.summary import Summary, summarise_changes
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.verdictpairs import VerdictPair, verdict_pairs
from gitops_dsf.views.preview.verification import VerificationChange, verification_change
from gitops_dsf.views.preview.warnings import ReviewWarning, warnings_of
from gitops_dsf.views.worded import Worded


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison of two valid repositories."""

    summary: Summary
    scorers: tuple[ScorerChange, ...]
    sources: tuple[SourceChange, ...]
    """Settings, ScoredApplications and ScoredPlacements as people write them."""
    placements: tuple[PlacementChange, ...]
    """Rendered Placements that change, and raw ones."""
    bindings: tuple[SourceChange, ...]
    """ManagedClusterSetBindings that are rendered for them, or written by hand, and come or go."""
    moves: tuple[DecisionMove, ...] | None
    """None if nothing is known of the hub."""
    adopted: tuple[str, ...] | UnsetType = UNSET
    """New Placements that the hub has decided for already; absent if there is none."""
    pending: tuple[str, ...]
    """Applications that would also move without this change."""
    warnings: tuple[Worded[ReviewWarning], ...]
    paced: PacedChange | UnsetType = UNSET
    refuges: tuple[Failover, ...] | UnsetType = UNSET
    maintenance: tuple[MaintenanceChange, ...] | UnsetType = UNSET
    losses: tuple[LossChange, ...] | UnsetType = UNSET
    """The losses of one cluster that become worse or better; absent if none does."""
    new_hosts: tuple[NewHost, ...] | UnsetType = field(default=UNSET, name="newHosts")
    """Hosts that nothing named before; absent if there is none."""
    verification: VerificationChange | UnsetType = UNSET
    """Changes of the verification of moves; absent if there are none."""
    job_orders: tuple[JobOrderChange, ...] | UnsetType = field(default=UNSET, name="jobOrders")
    """Other orders of clusters for Kueue's jobs; absent if there is none."""
    multi_kueue: MultiKueueChange | UnsetType = field(default=UNSET, name="multiKueue")
    """MultiKueueConfigs that begin or cease to be ordered; absent if there is none."""


class Preview(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `diff`: what a change does, or why it is not known."""

    base: str
    """The base revision, for people."""
    head: str
    notes: tuple[str, ...]
    differs: bool
    """Whether the change has any effect, or its effect is unknown."""
    foreign_files: tuple[str, ...]
    """Files in the head's rendered/ that its sources do not render, and that Argo CD would apply.
    """
    hub: HubSource
    base_errors: tuple[FindingOutput, ...]
    head_errors: tuple[FindingOutput, ...]
    comparison: Comparison | None
    """None if one of the sides is invalid."""
    raw_scores: RawScoreSource | UnsetType = UNSET
    """The metric store that was asked; absent without a store, and if there was nothing to ask."""


def differs(comparison: Comparison | None) -> bool:
    """Whether a change has any effect, or its effect is unknown."""
    # A side with errors counts as a difference: its effects are unknown.
    if comparison is None or comparison.summary.any:
        return True
    return bool(comparison.scorers or comparison.placements or comparison.moves)


def compare(
    base: CheckedFleet | None,
    head: CheckedFleet,
    hub: HubData,
    *,
    rescored_percent: float,
    close_points: int,
    raw: RawScores = NO_RAW_SCORES,
) -> Comparison:
    """Compares two versions. Without a base, everything is new. Raises PreviewError.

    Where `raw` has raw scores from a metric store, the scores after the change follow from them.

    It warns if more than `rescored_percent` of the clusters are re-scored, and of each Placement
    that a difference of at most `close_points` points would move.
    """
    scorers = scorer_changes(base, head)
    # Without data of the hub nothing is simulated. Then moves are unknown, and not none: None and
    # an empty tuple mean different things below, in the texts, and in the JSON.
    transition = None
    pairs: tuple[VerdictPair, ...] = ()
    if hub.snapshot is not None:
        transition = Transition(base=base, head=head, snapshot=hub.snapshot, now=hub.now, raw=raw)
        pairs = tuple(verdict_pairs(transition))
        # Without a base every scorer is new, and no store has raw scores of it.
        if base is not None:
            scorers = with_raw_scores(scorers, base, head, transition.scores)
    moving = None if transition is None else moves(pairs, base, head)
    paced = None if transition is None else paced_change(transition)
    refuges: tuple[Failover, ...] = ()
    losses: tuple[LossChange, ...] = ()
    job_orders: tuple[JobOrderChange, ...] = ()
    if transition is not None:
        plans = refuge_plans(transition)
        refuges = failover_changes(transition, plans)
        losses = tuple(loss_changes(transition, plans))
        job_orders = tuple(job_order_changes(pairs, transition))
    warnings = warnings_of(
        base,
        head,
        hub,
        pairs=pairs,
        moves=moving or (),
        rescored=rescored(scorers, base, head),
        rescored_percent=rescored_percent,
        close_points=close_points,
    )
    verification = verification_change(base, head, today=hub.today)
    maintenance = maintenance_changes(base, head, now=hub.now, transition=transition)
    return Comparison(
        summary=summarise_changes(base, head, scorers),
        scorers=scorers,
        sources=source_changes(base, head),
        placements=placement_changes(base, head),
        bindings=binding_changes(base, head),
        moves=moving,
        adopted=tuple(pair.placement for pair in pairs if pair.running) or UNSET,
        pending=() if hub.snapshot is None else _pending(pairs, hub.snapshot),
        warnings=tuple(map(Worded, warnings)),
        paced=UNSET if paced is None else paced,
        refuges=refuges or UNSET,
        maintenance=tuple(maintenance) or UNSET,
        losses=losses or UNSET,
        new_hosts=tuple(new_hosts(base, head)) or UNSET,
        verification=UNSET if verification is None else verification,
        job_orders=job_orders or UNSET,
        multi_kueue=multi_kueue_change(base, head) or UNSET,
    )


def _pending(pairs: tuple[VerdictPair, ...], snapshot: Snapshot) -> tuple[str, ...]:
    """Placements with a decision on the hub that differs from what the base leads to.

    Those without a decision are left out: OCM has not scheduled them yet.
    """
    now = decided(snapshot.decisions)
    # They are named apart, so that they are not taken for effects of the change.
    pending: list[str] = []
    for pair in pairs:
        if pair.before and now.get(pair.placement, pair.before.chosen) != pair.before.chosen:
            pending.append(pair.placement)
    return tuple(pending)
