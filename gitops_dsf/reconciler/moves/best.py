"""How healthy each old copy has been at best since its decision settled: one that is just rolling out a
change is no failing one. Pure.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gitops_dsf.hub.applications import Application
from gitops_dsf.reconciler.moves.handover import rank


@dataclass(kw_only=True, slots=True)
class _Seen:
    since: float
    ranks: dict[str, int]


@dataclass(kw_only=True)
class BestHealth:
    """By UID of the ApplicationSet. Lost with the process, and so is the time-out, which is all that it
    matters to.
    """

    _seen: dict[str, _Seen] = field(default_factory=dict)

    def observe(self, uid: str, since: float, copies: Iterable[Application]) -> Mapping[str, int]:
        """Takes the copies as they are now, under a decision that has held since then; the best rank of each,
        by UID.
        """
        known = self._seen.get(uid)
        if known is None or known.since != since:
            known = self._seen[uid] = _Seen(since=since, ranks={})
        known.ranks = {copy.uid: max(rank(copy), known.ranks.get(copy.uid, 0)) for copy in copies}
        return known.ranks

    def keep_only(self, uids: Collection[str]) -> None:
        """Forgets ApplicationSets that are gone."""
        for uid in [uid for uid in self._seen if uid not in uids]:
            del self._seen[uid]
