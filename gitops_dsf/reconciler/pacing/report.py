"""Reports paced moves: Events about Placements, metrics and the log."""

import logging
from collections import Counter

from gitops_dsf.pacing.ledger import Ledger, Move, Phase
from gitops_dsf.pacing.queue import Queue
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.shared import Shared

LOG = logging.getLogger(__name__)


class PaceReporter:
    """Compares the ledger before and after a look."""

    def __init__(self, shared: Shared) -> None:
        self._events, self._metrics, self._view = shared.events, shared.metrics, shared.view

    async def show(self, before: Ledger, after: Ledger, queue: Queue, *, now: float) -> None:
        """Reports what was admitted, what ended, and what waits."""
        known = {(each.placement, each.target, each.since): each for each in before.moves}
        for move in after.moves:
            earlier = known.get((move.placement, move.target, move.since))
            if earlier is None and move.admitted:
                self._metrics.paced_moves_admitted.inc()
                await self._say(move, "MoveAdmitted", f"{_way(move)}: {move.gain or 0.0:+.1f} points")
            elif earlier is not None and earlier.under_way and move.phase is Phase.ENDED and move.admitted:
                self._metrics.paced_moves_duration.observe(now - move.since)
                await self._say(move, "MoveEnded", f"{_way(move)}: {now - move.since:.0f} s")
            elif earlier is not None and move.phase is Phase.WITHDRAWN and earlier.phase is Phase.ADMITTED:
                await self._say(
                    move, "MoveWithdrawn", f"{_way(move)}: OCM did not follow; is {move.target} eligible?"
                )
        self._metrics.paced_moves_waiting.set(Counter((each.reason,) for each in queue.waiting))
        self._metrics.paced_moves_waiting_seconds.set(
            now - min((each.since for each in queue.waiting), default=now)
        )
        self._metrics.paced_moves_under_way.set(sum(each.admitted for each in after.under_way))

    async def _say(self, move: Move, reason: str, message: str) -> None:
        LOG.info("%s %s: %s", reason, move.placement, message)
        namespace, _, name = move.placement.partition("/")
        item = self._view.placements.items.get(name)
        if item is not None:
            about = placement_reference(name, item, namespace)
            await self._events.say(about, reason, message, warning=reason == "MoveWithdrawn")


def _way(move: Move) -> str:
    return f"{move.source} -> {move.target}"
