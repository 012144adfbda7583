"""Compares two repositories on what is known of a hub, and computes what the change does. Pure."""

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.snapshots.snapshot import HubData, HubSource, Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview import changes
from gitops_dsf.views.preview.concerns import concerns
from gitops_dsf.views.preview.maintenance import MaintenanceChange, maintenance_changes
from gitops_dsf.views.preview.moves import Move, moves
from gitops_dsf.views.preview.paced import Failover, PacedChange, failover_changes, paced_change
from gitops_dsf.views.preview.scorers import ScorerChange, rescored, scorer_changes
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.verdictpairs import VerdictPair, verdict_pairs


class Comparison(Struct, frozen=True, kw_only=True, rename={"concerns": "warnings"}):
    """The comparison of two valid repositories."""

    summary: changes.Summary
    scorers: tuple[ScorerChange, ...]
    sources: tuple[changes.SourceChange, ...]
    """ScoredApplications and ScoredPlacements as people write them."""
    placements: tuple[changes.PlacementChange, ...]
    """What is rendered for them, and raw Placements."""
    bindings: tuple[changes.SourceChange, ...]
    """ManagedClusterSetBindings that are rendered for them, or written by hand, and come or go."""
    moves: tuple[Move, ...] | None
    """None if nothing is known of the hub."""
    pending: tuple[str, ...]
    """Applications that would also move without this change."""
    concerns: tuple[str, ...]
    paced: PacedChange | UnsetType = UNSET
    refuges: tuple[Failover, ...] | UnsetType = UNSET
    maintenance: tuple[MaintenanceChange, ...] | UnsetType = UNSET


class Preview(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `diff`: what a change does, or why it is not known."""

    base: str
    """The base revision, for people."""
    head: str
    notes: tuple[str, ...]
    differs: bool
    """Whether the change has any effect, or its effect is unknown."""
    foreign_files: tuple[str, ...]
    """Files in the head's rendered/ that are not rendered from its sources, and that Argo CD would apply."""
    hub: HubSource
    base_errors: tuple[FindingOutput, ...]
    head_errors: tuple[FindingOutput, ...]
    comparison: Comparison | None
    """None if one of the sides is invalid."""


def differs(comparison: Comparison | None) -> bool:
    """Whether a change has any effect, or its effect is unknown."""
    found = comparison
    return (
        found is None or found.summary.any or bool(found.scorers or found.placements or found.moves)
    )


def compare(
    base: CheckedFleet | None,
    head: CheckedFleet,
    hub: HubData,
    *,
    rescored_percent: float,
    close_points: int,
) -> Comparison:
    """Compares two versions. Without a base, everything is new. Raises PreviewError."""
    scorers = scorer_changes(base, head)
    snapshot = hub.snapshot
    transition = (
        Transition(base=base, head=head, snapshot=snapshot, now=hub.now) if snapshot else None
    )
    found = tuple(verdict_pairs(transition)) if transition else ()
    moving = moves(found, base, head) if snapshot else None
    warnings = concerns(
        base,
        head,
        hub,
        found=found,
        moving=moving or (),
        rescored=rescored(scorers, base, head),
        rescored_percent=rescored_percent,
        close_points=close_points,
    )
    paced = paced_change(transition) if transition else None
    return Comparison(
        summary=changes.summarise_changes(base, head, scorers),
        scorers=scorers,
        sources=changes.source_changes(base, head),
        placements=changes.placement_changes(base, head),
        bindings=changes.binding_changes(base, head),
        moves=moving,
        pending=_pending(found, snapshot) if snapshot else (),
        concerns=tuple(warnings),
        paced=UNSET if paced is None else paced,
        refuges=(failover_changes(transition) if transition else ()) or UNSET,
        maintenance=tuple(maintenance_changes(base, head, now=hub.now, transition=transition))
        or UNSET,
    )


def _pending(found: tuple[VerdictPair, ...], snapshot: Snapshot) -> tuple[str, ...]:
    """Placements with a decision on the hub that differs from what the base leads to."""
    now = decided(snapshot.decisions)
    return tuple(
        item.placement
        for item in found
        if item.before and now.get(item.placement, item.before.chosen) != item.before.chosen
    )
