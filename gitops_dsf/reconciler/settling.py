"""Which ApplicationSets should look at their decisions now (design section 7). Pure: times are handed in, in seconds.

A decision counts once it held still for `settle`; an empty one never does, because nothing is deleted because something is absent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.reconciler.objects import DecisionPage, Follower

SETTLE_SECONDS: Final = 5.0
"""OCM rewrites the pages of a decision one after another."""
BETWEEN_SECONDS: Final = 10.0
"""Between two refreshes of one ApplicationSet."""
CONSUME_SECONDS: Final = 60.0
"""After which an annotation that Argo CD did not take away counts as nobody's: it is not waited for."""

Wanted = frozenset[tuple[str, frozenset[str]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An ApplicationSet that should look, the decisions that it should see, and since when they hold."""

    name: str
    uid: str
    wanted: Wanted
    since: float


@dataclass(kw_only=True)
class Settling:
    """Remembers when each Placement's union last changed, and which union each ApplicationSet was told of."""

    settle: float = SETTLE_SECONDS
    between: float = BETWEEN_SECONDS
    _unions: dict[str, frozenset[str]] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _told: dict[str, Wanted] = field(default_factory=dict)
    _told_at: dict[str, float] = field(default_factory=dict)

    def observe(self, pages: Iterable[DecisionPage], now: float) -> None:
        """Takes the pages of all Placements as they are now."""
        unions: dict[str, set[str]] = {}
        for page in pages:
            unions.setdefault(page.placement, set()).update(page.clusters)
        for name in unions.keys() | self._unions.keys():
            union = frozenset(unions.get(name, ()))
            if self._unions.get(name) != union:
                self._unions[name] = union
                self._since[name] = now

    def due(self, followers: Mapping[str, Follower], now: float) -> tuple[list[Due], float | None]:
        """ApplicationSets to refresh now, and in how many seconds to look again (None: not before something changes)."""
        found: list[Due] = []
        waits: list[float] = []
        alive = {item.uid for item in followers.values()}
        for uid in [uid for uid in self._told_at if uid not in alive]:
            self._told.pop(uid, None)
            del self._told_at[uid]
        for name, item in sorted(followers.items()):
            known = [placement for placement in item.placements if placement in self._unions]
            if not known:
                continue
            since = max(self._since[placement] for placement in known)
            wanted = frozenset((placement, self._unions[placement]) for placement in known)
            if not any(union for _, union in wanted):
                if now >= since + self.settle:
                    # What was told is forgotten: the same decision after an empty one is news again.
                    self._told.pop(item.uid, None)
                else:
                    waits.append(since + self.settle - now)
                continue
            if self._told.get(item.uid) == wanted:
                continue
            told_at = self._told_at.get(item.uid)
            ready = max(since + self.settle, told_at + self.between if told_at is not None else 0.0)
            if item.asked and told_at is not None:
                # Argo CD has yet to look; an annotation that is there already would change nothing.
                ready = max(ready, told_at + CONSUME_SECONDS)
            if now >= ready:
                found.append(Due(name=name, uid=item.uid, wanted=wanted, since=since))
            else:
                waits.append(ready - now)
        return found, min(waits, default=None)

    def told(self, due: Due, now: float) -> None:
        """The ApplicationSet was refreshed."""
        self._told[due.uid] = due.wanted
        self._told_at[due.uid] = now
