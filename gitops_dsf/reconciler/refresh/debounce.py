"""Which ApplicationSets should be refreshed now (docs/contributing/behaviour.md#refresh-annotation).
Pure.

Times are passed in, in seconds.

A decision counts when it has not changed for a while. An empty decision never counts, so nothing is deleted
because something is missing; when it has clusters again, it counts as changed. An annotation that stays means
that Argo CD failed to look. It would look again after three minutes, so it is asked again earlier.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS, DecisionSets

BETWEEN_SECONDS: Final = 10.0
"""Shortest time between two refreshes of one ApplicationSet."""
REPEAT: Final = Backoff(first=20.0, ceiling=180.0, jitter=0)
"""Pauses before an annotation that Argo CD did not remove is written again. The ceiling is Argo CD's own
pause after a failure.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An ApplicationSet to refresh, the decisions that Argo CD should look at, and since when they hold."""

    name: str
    uid: str
    wanted: frozenset[tuple[str, frozenset[str]]]
    """Placements with their clusters, without empty decisions."""
    since: float
    times: int
    """How many times in a row for these decisions, this one included: Argo CD failed to look before."""


@dataclass(kw_only=True)
class RefreshDebounce:
    """Remembers for which decisions each ApplicationSet was refreshed, and when."""

    decisions: DecisionSets
    _last: dict[str, tuple[Due, float]] = field(default_factory=dict)

    def due(self, sets: Mapping[str, ApplicationSet], now: float) -> tuple[list[Due], float | None]:
        """ApplicationSets to refresh now, and the seconds until the next one is due (None: when something
        changes).
        """
        found: list[Due] = []
        waits: list[float] = []
        last: dict[str, tuple[Due, float]] = {}
        for name, item in sorted(sets.items()):
            known = {each: self.decisions[each] for each in item.placements if each in self.decisions}
            wanted = frozenset(
                (each, decision.clusters) for each, decision in known.items() if decision.clusters
            )
            since = max((decision.since for decision in known.values()), default=0.0)
            ready, times, asked_for = since + DEBOUNCE_SECONDS, 1, frozenset[tuple[str, frozenset[str]]]()
            if item.uid in self._last:
                before, at = self._last[item.uid]
                # A decision that became empty is forgotten.
                asked_for = frozenset(pair for pair in before.wanted if pair[0] in dict(wanted))
                last[item.uid] = (replace(before, wanted=asked_for), at)
                times = 1 if wanted - asked_for else before.times + 1
                ready = max(ready, at + (BETWEEN_SECONDS if times == 1 else REPEAT.delay(before.times)))
            if wanted - asked_for or (wanted and item.asked and wanted == asked_for):
                if now >= ready:
                    found.append(Due(name=name, uid=item.uid, wanted=wanted, since=since, times=times))
                else:
                    waits.append(ready - now)
        self._last = last
        return found, min(waits, default=None)

    def refreshed(self, due: Due, now: float) -> None:
        """Remembers a refresh."""
        self._last[due.uid] = (due, now)
