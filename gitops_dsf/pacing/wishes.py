"""Wishes: where OCM would move a Placement by the weights and the stickiness that people wrote."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PacedRanking, as_written
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement


@dataclass(frozen=True, kw_only=True, slots=True)
class Paced:
    """A paced Placement, as it is on the hub and as people wrote it."""

    placement: Placement
    ranking: PacedRanking
    written: Placement

    @classmethod
    def of(cls, placement: Placement, ranking: PacedRanking) -> "Paced":
        return cls(placement=placement, ranking=ranking, written=as_written(placement, ranking))

    @property
    def key(self) -> str:
        """namespace/name."""
        return self.placement.key


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    placement: str
    """namespace/name."""
    source: str
    target: str
    points: float
    """By how many points of the weighted mean of the scores the target is better."""
    load: float = 0.0
    """How many of these points the application takes where it runs."""
    drains: bool = False
    """Whether the source is drained, so that the points may be negative."""


def wish_of(
    paced: Paced, *, state: HubState, now: datetime, drained: Collection[str] = frozenset()
) -> Wish | None:
    """The move with the largest gain that OCM would make; None if it would make none.

    A Placement whose decision is not complete, or names a cluster that is not eligible, has no wish: OCM
    chooses for it at once, whatever the pace is. `drained` are clusters that must be left; in `state` they
    must have a taint that forbids them.
    """
    verdict = simulate_placement(paced.written, state=state, now=now)
    ranking = verdict.ranking
    wanted = paced.placement.spec.number_of_clusters
    if ranking is None or verdict.outcome is not Outcome.SCHEDULED or verdict.status.failed:
        return None
    if wanted is None or len(verdict.current) != wanted:
        return None
    left, joined = verdict.current - verdict.chosen, verdict.chosen - verdict.current
    return best_swap(
        paced, left=left, joined=joined, sums=_sums(verdict, left | joined), drained=drained
    )


def best_swap(
    paced: Paced,
    *,
    left: Collection[str],
    joined: Collection[str],
    sums: Mapping[str, int],
    drained: Collection[str] = frozenset(),
) -> Wish | None:
    """The first move. `sums` are the weighted sums of the scores, without clusters that are not eligible."""
    if not left or not joined or any(name not in sums and name not in drained for name in left):
        return None
    total = paced.ranking.total_weight
    target = min(joined, key=lambda name: (-sums[name], name))
    source = min(left, key=lambda name: (name in sums, sums.get(name, 0), name))
    load = paced.ranking.load
    if source not in sums:
        return Wish(
            placement=paced.key, source=source, target=target, points=0.0, load=load, drains=True
        )
    points = (sums[target] - sums[source]) / total
    if points + paced.ranking.stickiness < 2 * load:
        # With the load of the application itself the source would be better, and it would move back.
        return None
    return Wish(placement=paced.key, source=source, target=target, points=points, load=load)


def _sums(verdict: Verdict, names: frozenset[str]) -> dict[str, int]:
    """The weighted sums of these clusters without Steady. Without those that did not pass filters."""
    clusters = verdict.ranking.clusters if verdict.ranking is not None else ()
    positions = {verdict.state.positions[name] for name in names if name in verdict.state.positions}
    places = [place for place, cluster in enumerate(clusters) if cluster in positions]
    plain = [each for each in verdict.prioritizers if each.prioritizer.built_in != "Steady"]
    return {
        verdict.state.names[clusters[place]]: sum(
            (each.values[place] or 0) * each.weight for each in plain
        )
        for place in places
    }
