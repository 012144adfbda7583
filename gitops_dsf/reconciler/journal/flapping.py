"""Applications that move back and forth: a metric, Events, and a condition of the scorer behind it."""

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from gitops_dsf.hub.flapping import WINDOW_SECONDS
from gitops_dsf.hub.metadata import Condition
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.flapping import SPAN_SECONDS, Flapping, flapping_of, flapping_text
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import by_placement, recent
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.shared import Shared

MOST_KEPT: Final = 100
"""Records of one Placement that are kept in memory."""
MOST_NAMED: Final = 3
"""Placements that a condition names."""
SETTLED: Final = "Settled"
"""The condition of a scorer that tells whether applications move back and forth because of it."""


class FlappingReporter:
    """Follows the records of the last day."""

    def __init__(self, shared: Shared) -> None:
        self._returns, self._events = shared.metrics.flapping_returns, shared.events
        self._namespace = shared.view.argocd_namespace
        self._records: dict[str, list[Record]] = {}
        self._found: Mapping[str, Flapping] | None = None

    def learn(self, records: Iterable[Record]) -> None:
        """Takes records, those that are known already too."""
        for placement, each in by_placement(records).items():
            known = {record.id: record for record in (*self._records.get(placement, ()), *each)}
            oldest = each[-1].time.timestamp() - SPAN_SECONDS - WINDOW_SECONDS
            self._records[placement] = recent([*known.values()], since=oldest, most=MOST_KEPT)

    def forget(self, placements: Collection[str]) -> None:
        """Forgets Placements that were deleted."""
        for key in placements:
            with contextlib.suppress(KeyError):
                del self._records[key]

    async def assess(self, *, now: float, placements: Mapping[str, PlacementSummary]) -> None:
        """Counts again, and reports what began or ended. `placements` are those of the namespace, by name."""
        before = self._found or {}
        # In a thread, because it takes a while for thousands of Placements, and leadership must be renewed.
        found = await asyncio.to_thread(_flapping, dict(self._records), now)
        self._found = found
        self._returns.set(
            {(key.partition("/")[2], each.cause or ""): each.returns for key, each in found.items()}
        )
        for key in sorted(found.keys() ^ before.keys()):
            name = key.partition("/")[2]
            if name in placements:
                about = placement_reference(name, placements[name], self._namespace)
                if key in found:
                    await self._events.say(about, "Flapping", f"it {flapping_text(found[key])}", warning=True)
                else:
                    await self._events.say(about, "FlappingEnded", "it no longer moves back and forth")

    def settled(self, resource: str) -> Condition | None:
        """The condition of the scorer that publishes this AddOnPlacementScore; None: not known yet."""
        if self._found is None:
            return None
        caused = {key: each for key, each in sorted(self._found.items()) if each.cause == resource}
        if not caused:
            return Condition(
                type=SETTLED,
                status="True",
                reason="NoFlapping",
                message="no application moves back and forth because of this score",
            )
        shown = [f"{key} {flapping_text(each)}" for key, each in list(caused.items())[:MOST_NAMED]]
        more = f"; and {len(caused) - MOST_NAMED} more Placements" if len(caused) > MOST_NAMED else ""
        message = f"{'. '.join(shown)}{more}"
        return Condition(type=SETTLED, status="False", reason="Flapping", message=message)


def _flapping(records: Mapping[str, list[Record]], now: float) -> dict[str, Flapping]:
    found = {key: flapping_of(each, now=now) for key, each in records.items()}
    return {key: each for key, each in found.items() if each is not None}
