"""The moves that many paced Placements desire, without a simulation of each.

Most Placements of a fleet rank the same clusters by the same scores, and differ only in where they
are. The simulator ranks the clusters once for all of these. Then a comparison of sums tells what
each of them desires. The answers are those of `desired_move`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_dsf.pacing.desired import DesiredMove, Paced, best_swap, desired_move
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.prioritizers import MAX_SCORE
from gitops_dsf.simulator.ranking import add_up


@dataclass(frozen=True, slots=True)
class _Standing:
    """How one kind of Placements ranks the clusters, without Steady."""

    sums: Mapping[str, int]
    """Of the clusters that pass the filters."""
    order: tuple[str, ...]
    """The same clusters, best first. Of equal ones the first by name is better."""


class Contenders:
    """Answers for one hub at one time. Each kind of Placements is simulated once."""

    def __init__(
        self, state: HubState, *, now: datetime, drained: Collection[str] = frozenset()
    ) -> None:
        """`drained` are clusters that must be left, as in `desired_move`."""
        self._state, self._now, self._drained = state, now, drained
        self._standings: dict[bytes, _Standing | None] = {}
        self._depends_on_decisions = any(
            taint.effect == "NoSelectIfNew"
            for position in state.tainted
            for taint in state.clusters[position].taints
        )
        """Whether a taint spares the clusters of a decision. Then each Placement has clusters of
        its own.
        """

    def desired(self, paced: Paced) -> DesiredMove | None:
        """The move that this Placement desires; None if it desires none."""
        wanted = paced.placement.spec.number_of_clusters
        place = paced.placement.metadata.namespace or "", paced.placement.metadata.name
        current = {
            name
            for decision in self._state.decisions_of.get(place, ())
            for name in decision.cluster_names
        }
        if wanted is None or len(current) != wanted:
            return None
        standing = self._standing(paced)
        if standing is None:
            return desired_move(paced, state=self._state, now=self._now, drained=self._drained)
        sums = standing.sums
        bonus = MAX_SCORE * paced.ranking.steady
        # No cluster after these can be chosen: each of them is better, or is held by Steady as
        # well.
        rivals = {*standing.order[: 2 * wanted], *(name for name in current if name in sums)}
        ranked = sorted(
            rivals, key=lambda name: (-sums[name] - (bonus if name in current else 0), name)
        )
        chosen = set(ranked[:wanted])
        return best_swap(
            paced,
            left=current - chosen,
            joined=chosen - current,
            sums=sums,
            drained=self._drained,
        )

    def _standing(self, paced: Paced) -> _Standing | None:
        """None if each Placement of this kind has to be simulated."""
        if self._depends_on_decisions:
            return None
        if paced.kind not in self._standings:
            self._standings[paced.kind] = self._ranked(paced)
        return self._standings[paced.kind]

    def _ranked(self, paced: Paced) -> _Standing | None:
        verdict = simulate_placement(paced.written, state=self._state, now=self._now)
        ranking = verdict.ranking
        if ranking is None or verdict.outcome is not Outcome.SCHEDULED or verdict.status.failed:
            return None
        if any(each.prioritizer.built_in not in (None, "Steady") for each in verdict.prioritizers):
            return None
        scores = [each for each in verdict.prioritizers if each.prioritizer.built_in is None]
        totals = add_up(scores, len(ranking.clusters))
        names = [self._state.names[cluster] for cluster in ranking.clusters]
        sums = dict(zip(names, totals, strict=True))
        return _Standing(sums, tuple(sorted(names, key=lambda name: (-sums[name], name))))
