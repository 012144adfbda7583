"""Reasons why a move waits, and what people are told of an old copy that stays.

A move waits twice. Before it begins, the pace, a maintenance or the scores hold it back. After OCM
has decided, the old copy stays until the new one is healthy. Labels of metrics, Events, the
ConfigMap `gitops-dsf-moves` and `status` have these words, so none of them may change.
"""

from enum import StrEnum
from typing import Final


class MoveReason(StrEnum):
    """One word for each reason.

    docs/decisions/paced-moves.md explains those before a move begins, and
    docs/operate/reconciler.md#make-before-break those for which the old copy stays.
    """

    # Before a move begins.
    CONCURRENT = "Concurrent"
    """The number of moves under way is at the limit of the pace."""
    ARRIVALS = "Arrivals"
    """The target receives as many applications as the pace allows."""
    SETTLE = "Settle"
    """The scores of the target have not measured the last arrival yet."""
    MEASURING = "Measuring"
    """The move may be a loss: the scores may show the last moves of its clusters already."""
    COOLDOWN = "Cooldown"
    """The application moved a short time ago."""
    FROZEN = "Frozen"
    """A maintenance forbids it."""
    UNSETTLED = "Unsettled"
    """A decision that names the target keeps changing, so it is unknown what arrives there."""
    HELD = "Held"
    """The application did worse on that cluster a while ago and came back from it."""
    STOPPED = "Stopped"
    """Too many moves came back, so nothing begins until a person acknowledges it."""

    # Before a move begins, and before an old copy goes.
    REFUSED = "Refused"
    """The hub refuses to write what would carry the move out, or to delete the old copy."""

    # While an old copy stays.
    NEW_COPY_MISSING = "NewCopyMissing"
    """A decided cluster has no Application yet."""
    NEW_COPY_NOT_HEALTHY = "NewCopyNotHealthy"
    """The new copy is not Healthy and Synced yet."""
    TIMED_OUT = "TimedOut"
    """The time-out is over, and the new copy is still less healthy.

    Also the reason of the deletion that follows.
    """
    HEALTHY = "Healthy"
    """Enough good copies stay: the reason of a deletion."""
    VERIFYING = "Verifying"
    """The checks of the application on its new cluster have not passed yet."""
    WANTED_COUNT = "WantedCount"
    """Fewer clusters are decided than the Placement wants."""
    CLUSTER_UNREACHABLE = "ClusterUnreachable"
    """OCM does not reach the cluster of the old copy, so its workload could not be deleted."""
    CLUSTER_RETURNED = "ClusterReturned"
    """The cluster became reachable a short time ago, and OCM may decide for it again."""
    DECISION_EMPTY = "DecisionEmpty"
    """The decision names no cluster."""
    PLACEMENT_GONE = "PlacementGone"
    """The Placement is deleted."""
    DECISION_FOREIGN = "DecisionForeign"
    """A PlacementDecision with the Placement's label belongs to another owner."""
    DECISION_UNSETTLED = "DecisionUnsettled"
    """The decision changed within the last seconds."""
    DECISION_INCOMPLETE = "DecisionIncomplete"
    """The pages of the decision do not add up to the numbers in the Placement's status."""
    REFRESH_PENDING = "RefreshPending"
    """Somebody asked for a hard refresh of a copy that stays, and Argo CD has not done it yet."""
    GOING = "Going"
    """A copy is being deleted."""
    QUEUED = "Queued"
    """Another copy is deleted first."""
    RATE_LIMITED = "RateLimited"
    """The number of copies deleted within the last minute is at the limit."""
    CONFLICT = "Conflict"
    """An Application changed during each attempt to delete the copy."""
    CHANGED = "Changed"
    """The ApplicationSet has changed."""
    GONE = "Gone"
    """The copy does not exist any more, or was moved by hand."""
    HUB_SILENT = "HubSilent"
    """The hub does not answer."""
    INFORMER_BROKEN = "InformerBroken"
    """An informer that the deletion depends on may be outdated."""
    UNREADABLE = "Unreadable"
    """An object that the deletion depends on cannot be read."""

    # These reasons are for copies that are never deleted.
    RENAMED = "Renamed"
    """The copy has another name than its ApplicationSet would give it, so it was moved by hand."""
    NO_CLUSTER = "NoCluster"
    """The destination of the copy names no cluster."""
    NOT_RENDERED = "NotRendered"
    """The copy has no label gitops-dsf.io/application."""
    WORKLOAD_WOULD_STAY = "WorkloadWouldStay"
    """The copy has no resources-finalizer, so its workload would stay."""
    GENERATORS = "Generators"
    """The ApplicationSet does not consist of one generator that follows one Placement."""

    @property
    def passes(self) -> bool:
        """Whether an old copy stays only for moments, so that people need not be notified.

        It is asked only of reasons for which an old copy stays.
        """
        return self in _PASSING

    @property
    def is_warning(self) -> bool:
        """Whether a person should look at an old copy that stays for it."""
        return self in _WARNINGS


_PASSING: Final = frozenset(
    {
        MoveReason.CHANGED,
        MoveReason.CONFLICT,
        MoveReason.DECISION_UNSETTLED,
        MoveReason.GONE,
        MoveReason.HUB_SILENT,
        MoveReason.QUEUED,
        MoveReason.RATE_LIMITED,
    }
)
_WARNINGS: Final = frozenset(
    {
        MoveReason.DECISION_FOREIGN,
        MoveReason.GENERATORS,
        MoveReason.INFORMER_BROKEN,
        MoveReason.REFUSED,
        MoveReason.TIMED_OUT,
        MoveReason.UNREADABLE,
        MoveReason.WORKLOAD_WOULD_STAY,
    }
)
