"""Which ApplicationSets should be refreshed now (docs/contributing/argocd-behaviour.md#refresh-annotation).
Pure.

Times are passed in, in seconds.

A decision counts when it has not changed for `debounce` seconds. An empty decision never counts, so nothing
is deleted because something is missing. For an ApplicationSet with several Placements, an empty decision
counts only when another of them has changed. An annotation that stays means that Argo CD failed to look. It
would look again after three minutes, so it is asked again earlier.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS, DecisionSet, DecisionSets

BETWEEN_SECONDS: Final = 10.0
"""Shortest time between two refreshes of one ApplicationSet."""
REPEAT: Final = Backoff(first=20.0, ceiling=180.0, jitter=0)
"""Pauses before an annotation that Argo CD did not remove is written again. The ceiling is Argo CD's own
pause after a failure.
"""

Decided = frozenset[tuple[str, frozenset[str]]]
"""Placements with their clusters, without empty decisions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An ApplicationSet to refresh, the decisions that Argo CD should look at, and since when they hold."""

    name: str
    uid: str
    wanted: Decided
    since: float
    again: bool
    """Whether it was refreshed for these decisions before, and Argo CD failed to look."""


@dataclass(kw_only=True, slots=True)
class _Refreshed:
    """The decisions for which an ApplicationSet was refreshed last, when, and how many times in a row."""

    wanted: Decided
    at: float
    times: int


@dataclass(kw_only=True)
class RefreshDebounce:
    """Remembers for which decisions each ApplicationSet was refreshed."""

    decisions: DecisionSets
    debounce: float = DEBOUNCE_SECONDS
    between: float = BETWEEN_SECONDS
    _last: dict[str, _Refreshed] = field(default_factory=dict)

    def due(self, sets: Mapping[str, ApplicationSet], now: float) -> tuple[list[Due], float | None]:
        """ApplicationSets to refresh now, and the seconds until the next one is due (None: when something
        changes).
        """
        found: list[Due] = []
        waits: list[float] = []
        alive = {item.uid for item in sets.values()}
        for uid in [uid for uid in self._last if uid not in alive]:
            del self._last[uid]
        for name, item in sorted(sets.items()):
            known = {
                placement: decision
                for placement in item.placements
                if (decision := self.decisions.get(placement)) is not None
            }
            if not known:
                continue
            since = max(decision.since for decision in known.values())
            wanted = frozenset(
                (placement, decision.clusters) for placement, decision in known.items() if decision.clusters
            )
            last = self._last.get(item.uid)
            if last is not None:
                # A decision is forgotten once it is empty: after that the same clusters are a change again.
                waits += [
                    decision.since + self.debounce - now
                    for decision in known.values()
                    if self._empties(decision, now)
                ]
                last.wanted = frozenset(pair for pair in last.wanted if self._stands(known.get(pair[0]), now))
            again = last is not None and not wanted - last.wanted
            if not wanted or (last is not None and again and not (item.asked and last.wanted == wanted)):
                continue
            ready = since + self.debounce
            if last is not None:
                ready = max(ready, last.at + (REPEAT.delay(last.times) if again else self.between))
            if now >= ready:
                found.append(Due(name=name, uid=item.uid, wanted=wanted, since=since, again=again))
            else:
                waits.append(ready - now)
        return found, min(waits, default=None)

    def _empties(self, decision: DecisionSet, now: float) -> bool:
        """Whether it is empty, but not yet for long enough to count."""
        return not decision.clusters and now < decision.since + self.debounce

    def _stands(self, decision: DecisionSet | None, now: float) -> bool:
        """Whether the decision has clusters, or has been empty for too short a time to count."""
        return decision is not None and (bool(decision.clusters) or self._empties(decision, now))

    def refreshed(self, due: Due, now: float) -> None:
        """Remembers a refresh."""
        before = self._last.get(due.uid)
        times = before.times + 1 if due.again and before is not None else 1
        self._last[due.uid] = _Refreshed(wanted=due.wanted, at=now, times=times)
