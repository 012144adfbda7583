"""Causes of moves: why a decision moved, and the name of each cause for people.

A move has one cause. It is recorded once, when the move happens: in the ledger of paced moves, and
in the journal. `status`, `log` and Events report the recorded cause in the words of this module.
They do not work out causes of their own, because two programs could find different ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from gitops_dsf.hub.names import OCM_GROUP
from gitops_dsf.hub.objects import ManagedCluster

_UNREACHABLE: Final = frozenset({f"{OCM_GROUP}/unreachable", f"{OCM_GROUP}/unavailable"})
"""Keys of taints that OCM sets (docs/contributing/behaviour.md#taints-that-ocm-sets)."""


class Cause(StrEnum):
    """The closed list of causes. The values are in ledgers and journals, so none may change."""

    SCORE = "Score"
    """OCM moved it because the scores changed."""
    PACE = "Pace"
    """The scores asked for it, and the reconciler admitted it at the pace of the fleet."""
    DRAIN = "Drain"
    """The reconciler admitted it because a Maintenance drains the cluster."""
    RETURN = "Return"
    """It did worse where it had gone, so the reconciler took it back."""
    LOST = "ClusterLost"
    """OCM left a cluster that it does not reach, or that was deleted."""
    INELIGIBLE = "ClusterIneligible"
    """The cluster no longer passed the filters: its labels, taints or sets changed on the hub."""
    ELIGIBLE = "ClusterEligible"
    """Fewer clusters than wanted were decided, and another one became eligible."""
    EDIT = "Edit"
    """The Placement was changed in git."""
    UNKNOWN = "Unknown"
    """No reconciler watched when it happened, or what the hub held does not explain it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CauseKind:
    """The meaning of a cause for people."""

    title: str
    warning: bool = False
    """Whether Events about it are warnings: something failed, and the move was not asked for."""
    by_scores: bool = False
    """Whether a scorer, a weight or the stickiness can be blamed for it."""
    on_purpose: bool = False
    """Whether the move was asked for in git. Such moves are not flapping."""


KINDS: Final[Mapping[Cause, CauseKind]] = MappingProxyType(
    {
        Cause.SCORE: CauseKind(title="scores", by_scores=True),
        Cause.PACE: CauseKind(title="pace", by_scores=True),
        Cause.DRAIN: CauseKind(title="drain", on_purpose=True),
        Cause.RETURN: CauseKind(title="return", warning=True),
        Cause.LOST: CauseKind(title="lost cluster", warning=True),
        Cause.INELIGIBLE: CauseKind(title="cluster no longer eligible", warning=True),
        Cause.ELIGIBLE: CauseKind(title="another cluster eligible"),
        Cause.EDIT: CauseKind(title="edit in git", on_purpose=True),
        # Records of versions that recorded no cause count as before: scores are blamed.
        Cause.UNKNOWN: CauseKind(title="not known", by_scores=True),
    }
)


class MoveCause(Struct, frozen=True, omit_defaults=True):
    """The cause of one move, as it is recorded."""

    kind: str
    """A `Cause`, as text: a later version may write others, which must stay readable."""
    detail: str = ""
    """The cluster, score, maintenance or commit."""

    @property
    def cause(self) -> Cause:
        """UNKNOWN for one that this version does not know."""
        try:
            return Cause(self.kind)
        except ValueError:
            return Cause.UNKNOWN

    @property
    def warning(self) -> bool:
        return KINDS[self.cause].warning

    def __str__(self) -> str:
        """`drain: eu-1 (patch-eu-1)`."""
        is_known = self.cause is not Cause.UNKNOWN or self.kind == Cause.UNKNOWN
        title = KINDS[self.cause].title if is_known else self.kind
        return f"{title}: {self.detail}" if self.detail else title


def by_pace(points: float) -> MoveCause:
    """The cause of a move that was admitted for its gain."""
    return MoveCause(Cause.PACE, f"{points:+.1f} points by the written weights")


def by_drain(cluster: str, maintenance: str) -> MoveCause:
    """The cause of a move away from a cluster that is drained."""
    return MoveCause(Cause.DRAIN, f"{cluster} ({maintenance})" if maintenance else cluster)


def by_return(measured: str) -> MoveCause:
    """The cause of a move back.

    `measured` is the check that failed, such as `shop-slo 62 of at least 80`.
    """
    return MoveCause(Cause.RETURN, measured)


def by_edit(commit: str) -> MoveCause:
    """The cause of a move after an edit. `commit` is empty if it is not known."""
    return MoveCause(Cause.EDIT, f"commit {commit[:10]}" if commit else "")


def loss_of(name: str, cluster: ManagedCluster | None) -> MoveCause | None:
    """The cause if a decision left this cluster because it is lost; None if it is not lost.

    `cluster` is None if it is not on the hub.
    """
    if cluster is None:
        return MoveCause(Cause.LOST, f"{name} is not on the hub any more")
    if cluster.deleting:
        return MoveCause(Cause.LOST, f"{name} is being deleted")
    # OCM 1.2.1 sets and removes the taint after the condition, so either may still be there alone.
    if cluster.unreachable or any(taint.key in _UNREACHABLE for taint in cluster.taints):
        return MoveCause(Cause.LOST, f"OCM does not reach {name}")
    return None
