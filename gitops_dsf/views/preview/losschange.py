"""Effects of a change on the loss of any one cluster: missing targets and overloaded clusters.

Guaranteed: both sides are computed by the same rules and for the same clusters, after the moves
that each of them makes. Not guaranteed: overloads by scores that the change makes unknown, and the
clusters with the fewest applications of a large fleet. They are left out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.failover import RefugePlans
from gitops_dsf.views.preview.losses import ClusterLosses, Loss, OverloadedScore, with_refuges
from gitops_dsf.views.preview.transition import Transition


class LossChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """The consequences of one lost cluster that a change makes worse or better."""

    cluster: str
    homeless: tuple[str, ...]
    """Placements that would have nowhere to go, and that had before or were not on it."""
    homeless_before: int
    """The number of applications that had no target before."""
    housed: tuple[str, ...]
    """Placements that had nowhere to go before, and that would have now."""
    overloads: tuple[OverloadedScore, ...]
    """Clusters that would be asked for more than they have left, and were not before."""
    relieved: tuple[OverloadedScore, ...]
    """Clusters that were asked for more than they have left, and would not be now."""


class _Score(NamedTuple):
    cluster: str
    resource: str
    dimension: str


def loss_changes(transition: Transition, plans: RefugePlans) -> Iterator[LossChange]:
    """The effects of a change, by the cluster that would be lost."""
    # Both sides leave out what only one side knows, or the change would seem to mend or break it.
    known_scores = transition.known_scores
    now = transition.now
    # The refuges that each side plans, and not those that are published now: the reconciler
    # publishes the others within a minute.
    state_after = with_refuges(transition.after, plans.after, keep=False)
    after = ClusterLosses(transition.head, state_after, now=now, known=known_scores)
    # If there are many clusters, some are left out, and each side may have others. So a cluster
    # that one side chooses is computed on both: else all its homeless applications would seem to be
    # new.
    chosen = set(after.most_occupied())
    before: ClusterLosses | None = None
    if transition.base is not None and transition.base_state is not None:
        hub_before = transition.base_state.deciding(transition.decided_base.decisions)
        state_before = with_refuges(hub_before, plans.before, keep=False)
        before = ClusterLosses(transition.base, state_before, now=now, known=known_scores)
        chosen.update(before.most_occupied())
    rendered = applied(transition.head).placements
    clusters_after = decided(transition.after.decisions.values())
    for cluster in sorted(chosen):
        new = after.loss_of(frozenset({cluster}))
        old = None if before is None else before.loss_of(frozenset({cluster}))
        was_homeless = () if old is None else old.homeless
        is_homeless = new.homeless
        # An application that the change removes, or moves away from this cluster, is not housed.
        housed: list[str] = []
        for key in was_homeless:
            is_there = key in rendered and cluster in clusters_after.get(key, ())
            if is_there and key not in is_homeless:
                housed.append(key)
        change = LossChange(
            cluster=cluster,
            homeless=tuple(key for key in is_homeless if key not in was_homeless),
            homeless_before=len(was_homeless),
            housed=tuple(housed),
            overloads=_only_in(new, old),
            relieved=_only_in(old, new),
        )
        if change.homeless or change.housed or change.overloads or change.relieved:
            yield change


def _only_in(loss: Loss | None, other: Loss | None) -> tuple[OverloadedScore, ...]:
    """The overloads of one loss that the other one has not."""
    if loss is None:
        return ()
    others = set(map(_score, () if other is None else other.overloads))
    return tuple(overload for overload in loss.overloads if _score(overload) not in others)


def _score(overload: OverloadedScore) -> _Score:
    return _Score(overload.cluster, overload.resource, overload.dimension)
