"""The moves that many paced Placements desire, without a simulation of each.

Most Placements of a fleet rank the same clusters by the same scores, and differ only in where they
are. The simulator ranks the clusters once for all of these. Then a comparison of sums shows what
each of them desires.

Guaranteed: the answers are those of `desired_move`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.pacing.desired import DesiredMove, Paced, best_swap, desired_move
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.prioritizers import MAX_SCORE, PrioritizerResult
from gitops_dsf.simulator.ranking import add_up


@dataclass(frozen=True, slots=True)
class _Standing:
    """The ranks that one kind of Placements gives the clusters, without Steady."""

    sums: Mapping[str, int]
    """Sums of the clusters that pass the filters."""
    order: tuple[str, ...]
    """The same clusters, best first. Of equal ones the first by name is better."""


class Contenders:
    """Answers for one hub at one time. Each kind of Placements is simulated once."""

    def __init__(
        self, state: HubState, *, now: datetime, drained: Collection[str] = frozenset()
    ) -> None:
        """`drained` are clusters that must be left, as in `desired_move`."""
        self._state = state
        self._now = now
        self._drained = drained
        self._standings: dict[bytes, _Standing | None] = {}
        self._depends_on_decisions = any(
            _spares_decided(state.clusters[position]) for position in state.tainted
        )
        """Whether Placements of one kind may have different clusters."""

    def desired(self, paced: Paced, *, held: Collection[str] = frozenset()) -> DesiredMove | None:
        """The move that this Placement desires; None if it desires none.

        `held` are clusters to which it does not go now.
        """
        wanted = paced.placement.spec.number_of_clusters
        metadata = paced.placement.metadata
        current = set[str]()
        for page in self._state.decisions_of.get((metadata.namespace or "", metadata.name), ()):
            current.update(page.cluster_names)
        if wanted is None or len(current) != wanted:
            return None
        standing = self._standing(paced)
        if standing is None:
            return desired_move(
                paced, state=self._state, now=self._now, drained=self._drained, held=held
            )
        sums = standing.sums
        bonus = MAX_SCORE * paced.ranking.steady
        order = standing.order
        if held:
            order = tuple(name for name in order if name not in held or name in current)
        # No cluster after these can be chosen: each of them is better, or is held by Steady, too.
        rivals = {*order[: 2 * wanted], *current.intersection(sums)}
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
        built_in = {result.prioritizer.built_in for result in verdict.prioritizers}
        if built_in - {None, "Steady"}:
            # Balance and the resources of OCM depend on more than the scores.
            return None
        scores: list[PrioritizerResult] = []
        for result in verdict.prioritizers:
            if result.prioritizer.built_in is None:
                scores.append(result)
        totals = add_up(scores, len(ranking.clusters))
        names = [self._state.names[cluster] for cluster in ranking.clusters]
        sums = dict(zip(names, totals, strict=True))
        # If sums are equal, OCM takes the first cluster by name (v1.2.1).
        return _Standing(sums, tuple(sorted(names, key=lambda name: (-sums[name], name))))


def _spares_decided(cluster: ManagedCluster) -> bool:
    """Whether a taint has the effect NoSelectIfNew: Placements that are there already stay."""
    return any(taint.effect == "NoSelectIfNew" for taint in cluster.taints)
