"""Which ApplicationSets should look at their decisions now
(docs/contributing/argocd-behaviour.md#refresh-annotation).

Pure: times are handed in, in seconds.

A decision counts once it held still for `settle`; an empty one never does, because nothing is deleted because
something is absent: nor is it passed on where an ApplicationSet follows several Placements, unless another of
them has news. An annotation that stays means that the look failed, after which Argo CD would wait for three
minutes: it is asked again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.reconciler.moves.unions import SETTLE_SECONDS, Union, Unions

BETWEEN_SECONDS: Final = 10.0
"""Between two refreshes of one ApplicationSet."""
CONSUME: Final = Backoff(first=20.0, ceiling=180.0, jitter=0)
"""After which an annotation that Argo CD did not take away is written anew. The ceiling is Argo CD's own
pause after a failed look.
"""

Wanted = frozenset[tuple[str, frozenset[str]]]
"""Placements and their clusters; none that is empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An ApplicationSet that should look, the decisions that it should see, and since when they hold."""

    name: str
    uid: str
    wanted: Wanted
    since: float
    again: bool
    """Whether it was asked to look at these decisions before, and failed."""


@dataclass(kw_only=True, slots=True)
class _Told:
    """What an ApplicationSet was told last, and how many times in a row. If it does not look, it is told
    again after a pause.
    """

    wanted: Wanted
    at: float
    times: int


@dataclass(kw_only=True)
class Settling:
    """Remembers which unions each ApplicationSet was told of."""

    unions: Unions
    settle: float = SETTLE_SECONDS
    between: float = BETWEEN_SECONDS
    _told: dict[str, _Told] = field(default_factory=dict)

    def due(self, followers: Mapping[str, ApplicationSet], now: float) -> tuple[list[Due], float | None]:
        """ApplicationSets to refresh now, and in how many seconds to look again (None: not before something
        changes).
        """
        found: list[Due] = []
        waits: list[float] = []
        alive = {item.uid for item in followers.values()}
        for uid in [uid for uid in self._told if uid not in alive]:
            del self._told[uid]
        for name, item in sorted(followers.items()):
            known = {
                placement: union
                for placement in item.placements
                if (union := self.unions.get(placement)) is not None
            }
            if not known:
                continue
            since = max(union.since for union in known.values())
            wanted = frozenset(
                (placement, union.clusters) for placement, union in known.items() if union.clusters
            )
            told = self._told.get(item.uid)
            if told is not None:
                # What was told is forgotten once it is empty: the same decision after that is news again.
                waits += [
                    union.since + self.settle - now for union in known.values() if self._empties(union, now)
                ]
                told.wanted = frozenset(pair for pair in told.wanted if self._stands(known.get(pair[0]), now))
            again = told is not None and not wanted - told.wanted
            if not wanted or (told is not None and again and not (item.asked and told.wanted == wanted)):
                continue
            ready = since + self.settle
            if told is not None:
                ready = max(ready, told.at + (CONSUME.delay(told.times) if again else self.between))
            if now >= ready:
                found.append(Due(name=name, uid=item.uid, wanted=wanted, since=since, again=again))
            else:
                waits.append(ready - now)
        return found, min(waits, default=None)

    def _empties(self, union: Union, now: float) -> bool:
        """Whether it is empty, and not for long enough to count."""
        return not union.clusters and now < union.since + self.settle

    def _stands(self, union: Union | None, now: float) -> bool:
        """Whether what was told of it is still what counts, or another decision that has clusters."""
        return union is not None and (bool(union.clusters) or self._empties(union, now))

    def told(self, due: Due, now: float) -> None:
        """The ApplicationSet was asked to look."""
        before = self._told.get(due.uid)
        times = before.times + 1 if due.again and before is not None else 1
        self._told[due.uid] = _Told(wanted=due.wanted, at=now, times=times)
