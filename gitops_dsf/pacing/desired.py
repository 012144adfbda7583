"""Desired moves: the moves that OCM would make by the weights that people wrote.

A paced Placement on the hub has other weights: its Steady is so heavy that scores alone move
nothing. So the simulator is asked about the Placement as people wrote it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from gitops_dsf.hub.names import DISABLE_ANNOTATION
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PacedRanking, as_written
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate_placement
from gitops_dsf.simulator.ranking import RankedClusters


@dataclass(frozen=True, kw_only=True, slots=True)
class Paced:
    """A paced Placement, as it is on the hub and as people wrote it."""

    placement: Placement
    ranking: PacedRanking
    written: Placement
    kind: bytes
    """Equal for Placements that rank the same clusters by the same scores.

    Where they are now makes no difference.
    """

    @classmethod
    def of(cls, placement: Placement, ranking: PacedRanking) -> "Paced":
        """The Placement with what its annotation says."""
        original = as_written(placement, ranking)
        metadata = placement.metadata
        kind = (
            metadata.namespace,
            metadata.deleting,
            metadata.annotation(DISABLE_ANNOTATION),
            ranking.terms,
            msgspec.structs.replace(
                original.spec, prioritizer_policy=None, number_of_clusters=None
            ),
        )
        return cls(
            placement=placement,
            ranking=ranking,
            written=original,
            kind=msgspec.json.encode(kind),
        )

    @property
    def key(self) -> str:
        """namespace/name."""
        return self.placement.key


@dataclass(frozen=True, kw_only=True, slots=True)
class DesiredMove:
    """A move that OCM would make by the written weights. Nobody has admitted it yet."""

    placement: str
    """namespace/name."""
    source: str
    target: str
    points: float
    """The points of the weighted mean of the scores by which the target is better."""
    load: float = 0.0
    """The part of these points that is the load of the application where it runs."""
    drains: bool = False
    """Whether the source is drained, so that the points may be negative."""


def desired_move(
    paced: Paced,
    *,
    state: HubState,
    now: datetime,
    drained: Collection[str] = frozenset(),
    held: Collection[str] = frozenset(),
) -> DesiredMove | None:
    """The move with the largest gain that OCM would make; None if it would make none.

    A Placement whose decision is not complete, or names a cluster that is not eligible, desires no
    move: OCM chooses for it at once, whatever the pace is. `drained` are clusters that must be
    left; in `state` they must have a taint that forbids them. `held` are clusters to which it does
    not go now.
    """
    verdict = simulate_placement(paced.written, state=state, now=now)
    ranking = verdict.ranking
    wanted = paced.placement.spec.number_of_clusters
    # After a mistake in a Placement OCM 1.2.1 empties its decision (schedule.go). That is not a
    # move that could be paced.
    if ranking is None or verdict.outcome is not Outcome.SCHEDULED or verdict.status.failed:
        return None
    if wanted is None or len(verdict.current) != wanted:
        return None
    chosen = verdict.chosen
    if held:
        chosen = _chosen_without(held, verdict, ranking, wanted)
    departed = verdict.current - chosen
    joined = chosen - verdict.current
    return best_swap(
        paced, left=departed, joined=joined, sums=_sums(verdict, departed | joined), drained=drained
    )


def _chosen_without(
    held: Collection[str], verdict: Verdict, ranking: RankedClusters, wanted: int
) -> frozenset[str]:
    """The best clusters without those that are held, but with those of the decision."""
    best: list[str] = []
    for index in ranking.order:
        name = verdict.state.names[ranking.clusters[index]]
        if name not in held or name in verdict.current:
            best.append(name)
    return frozenset(best[:wanted])


def best_swap(
    paced: Paced,
    *,
    left: Collection[str],
    joined: Collection[str],
    sums: Mapping[str, int],
    drained: Collection[str] = frozenset(),
) -> DesiredMove | None:
    """The first move of a decision that changes from `left` to `joined`.

    `sums` are the weighted sums of the scores, without clusters that are not eligible.
    """
    if not left or not joined or any(name not in sums and name not in drained for name in left):
        return None
    total = paced.ranking.total_weight
    target = min(joined, key=lambda name: (-sums[name], name))
    # A drained cluster has no sum, because its taint excludes it. It is left first.
    source = min(left, key=lambda name: (name in sums, sums.get(name, 0), name))
    load = paced.ranking.load
    if source not in sums:
        return DesiredMove(
            placement=paced.key, source=source, target=target, points=0.0, load=load, drains=True
        )
    points = (sums[target] - sums[source]) / total
    # The load leaves the source and arrives at the target, so it changes the difference twice.
    if points + paced.ranking.stickiness < 2 * load:
        # With the load of the application the source would be better, and it would move back.
        return None
    return DesiredMove(placement=paced.key, source=source, target=target, points=points, load=load)


def _sums(verdict: Verdict, names: frozenset[str]) -> dict[str, int]:
    """The weighted sums of these clusters without Steady, if they pass the filters."""
    if verdict.ranking is None:
        return {}
    sums: dict[str, int] = {}
    for row, position in enumerate(verdict.ranking.clusters):
        name = verdict.state.names[position]
        if name not in names:
            continue
        sums[name] = 0
        for result in verdict.prioritizers:
            if result.prioritizer.built_in != "Steady":
                sums[name] += (result.values[row] or 0) * result.weight
    return sums
