"""Whether and when OCM reconciles a Placement again (scheduling_controller.go, enqueue.go, manager.go)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import asks_for_scores
from gitops_dsf.simulator.prioritizers import PrioritizerResult
from gitops_dsf.simulator.state import HubState

RESYNC_SECONDS = 600
"""Resync period of the informers: OCM notices at the latest then what sends no event."""


@dataclass(frozen=True, slots=True)
class LooksAgain:
    retries: bool
    """The pass ended with an error or a warning. OCM retries after 5 ms, and doubles the delay
    up to 1000 s.
    """
    at: datetime | None
    """When a toleration of a selected cluster runs out."""
    next_expiry: datetime | None
    """The next validUntil of a score in use. OCM does not reconcile because of it."""
    unnoticed: tuple[str, ...]
    """Changes that OCM may not notice before the resync, at most RESYNC_SECONDS later."""


def looks_again(
    placement: Placement,
    *,
    state: HubState,
    now: datetime,
    prioritizers: Sequence[PrioritizerResult],
    clusters: Sequence[int],
    sync_error: str | None,
    requeue_at: datetime | None,
) -> LooksAgain:
    """Computes when OCM reconciles again without an event. It reacts at once to changes of the Placement, a
    cluster, a set, a binding or a configured score.
    """
    unnoticed: list[str] = []
    expiry: datetime | None = None
    filtered = frozenset(clusters)
    for result in prioritizers:
        if result.prioritizer.built_in is None:
            column = state.score_table.column(result.prioritizer.resource, result.prioritizer.score, now)
            found = next(
                ((until, cluster) for until, cluster in column.expiries if cluster in filtered), None
            )
            if found:
                expiry = found[0] if expiry is None else min(expiry, found[0])
                unnoticed.append(
                    f"AddOnPlacementScore {state.names[found[1]]}/{result.prioritizer.resource} expires at"
                    f" {found[0].isoformat()}"
                )
        elif result.prioritizer.built_in == "Balance":
            unnoticed.append("decisions of other Placements (Balance)")
    if asks_for_scores(placement):
        unnoticed.append("scores that only a CEL expression reads")
    return LooksAgain(sync_error is not None, requeue_at, expiry, tuple(dict.fromkeys(unnoticed)))
