"""What is known about scores, for people and alerts: metrics, and Events on Placements that begin or end to
count clusters as 0.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.decisions import clusters_by_placement
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.placements import PlacementSummary, RankedBy
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.freshness.book import Book
from gitops_dsf.reconciler.freshness.judge import Scored, named
from gitops_dsf.reconciler.freshness.metrics import FreshnessMetrics
from gitops_dsf.reconciler.freshness.placements import counted_as_zero
from gitops_dsf.reconciler.hub.kinds import reference
from gitops_dsf.reconciler.hub.view import HubView

NAMED: Final = 3
"""Placements that a message names at most."""
_NOBODY: Final[frozenset[str]] = frozenset()

Zeros = Mapping[str, Mapping[str, frozenset[str]]]
"""Clusters counted as 0, by resource and PlacementSummary."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """One look at everything."""

    scored: Mapping[str, Scored]
    """By scorer."""
    zeros: Zeros

    def hurt(self, resource: str) -> str:
        """Which Placements count clusters as 0 for this resource; empty when none does."""
        found = [
            (name, clusters) for name, clusters in sorted(self.zeros.get(resource, {}).items()) if clusters
        ]
        words = [
            f"Placement {name} counts {len(clusters)} {'cluster' if len(clusters) == 1 else 'clusters'} as 0"
            for name, clusters in found
        ]
        more = f", and {len(words) - NAMED} more Placements do so" if len(words) > NAMED else ""
        return "; ".join(words[:NAMED]) + more


class Reporter:
    """Owns the book and the freshness metrics for as long as this replica leads."""

    def __init__(self, *, view: HubView, events: Events, metrics: FreshnessMetrics) -> None:
        self._view, self._events, self._metrics = view, events, metrics
        self._book = Book(view)
        self._said: dict[tuple[str, str], PlacementSummary] = {}
        """Placement and resource of every warning that stands."""
        self._counted: dict[tuple[str, RankedBy], _Counted] = {}
        self._fleet = 0
        """Grows with every change that could make a PlacementSummary choose another cluster."""
        view.clusters.compare(self._on_cluster)

    async def look(self, *, now: float) -> Report:
        """Judges everything, and sets the metrics. Lets other work go on in between."""
        scorers = dict(self._view.scorers.items)
        scored = {}
        for name, item in scorers.items():
            scored[name] = self._book.judge(item, now=now)
            await asyncio.sleep(0)
        placements = dict(self._view.placements.items)
        self._book.keep(
            scorers=set(scorers),
            ranked={
                (each.resource, each.dimension) for item in placements.values() for each in item.ranked_by
            },
        )
        zeros = await self._zeros(placements, owners(scorers.values()), scored, now=now)
        self._count(scored, zeros, owners(scorers.values()))
        return Report(scored=scored, zeros=zeros)

    async def announce(self, report: Report) -> None:
        """An Event where a PlacementSummary began or ceased to count clusters as 0."""
        placements = self._view.placements.items
        names = owners(self._view.scorers.items.values())
        standing = {
            (name, resource): clusters
            for resource, by in report.zeros.items()
            for name, clusters in by.items()
            if clusters
        }
        for (name, resource), clusters in sorted(standing.items()):
            item, before = placements.get(name), self._said.get((name, resource))
            if item is None or (before is not None and before.uid == item.uid):
                continue
            why = "no score, an expired one, or one without the dimension"
            words = f"ranks by {names.get(resource, resource)}, and counts {named(clusters)} as 0: {why}"
            self._said[name, resource] = item
            await self._events.say(
                reference(name, item, self._view.argocd_namespace), "Warning", "ScoresMissing", words
            )
        for name, resource in sorted(self._said.keys() - standing.keys()):
            before, item = self._said.pop((name, resource)), placements.get(name)
            if item is not None and item.uid == before.uid:
                words = f"no cluster is counted as 0 any more for want of {names.get(resource, resource)}"
                await self._events.say(
                    reference(name, item, self._view.argocd_namespace), "Normal", "ScoresComplete", words
                )

    async def _zeros(
        self,
        placements: Mapping[str, PlacementSummary],
        names: Mapping[str, str],
        scored: Mapping[str, Scored],
        *,
        now: float,
    ) -> Zeros:
        found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        if not (self._view.placements.synced.is_set() and self._view.decisions.synced.is_set()):
            return found
        decided = clusters_by_placement(self._view.decisions.items.values())
        counted: dict[tuple[str, RankedBy], _Counted] = {}
        for name, item in placements.items():
            for each in item.ranked_by:
                chosen, dead = (
                    decided.get(name, _NOBODY),
                    self._book.dead(each.resource, each.dimension, now=now),
                )
                own, before = scored.get(names.get(each.resource, "")), self._counted.get((name, each))
                if before is None or not before.holds(item, dead, own, (self._fleet, chosen)):
                    scores, clusters = self._view.scores.of(each.resource), self._view.clusters.items
                    zeros = counted_as_zero(
                        item, clusters=clusters, decided=chosen, scores=scores, dead=dead, scored=own
                    )
                    before = _Counted(
                        placement=item, dead=dead, scored=own, rest=(self._fleet, chosen), zeros=zeros
                    )
                counted[name, each] = before
                by = found[each.resource]
                by[name] = by.get(name, _NOBODY) | before.zeros
            await asyncio.sleep(0)
        self._counted = counted
        return found

    def _count(self, scored: Mapping[str, Scored], zeros: Zeros, names: Mapping[str, str]) -> None:
        counts: dict[tuple[str, str], int] = {}
        late: dict[str, dict[str, frozenset[str]]] = {}
        for name, item in scored.items():
            states = {
                "expired": item.expired,
                "missing": item.missing,
                "expiring": item.expiring,
                "endless": item.endless,
            }
            counts[name, "fresh"] = item.fresh
            counts.update({(name, state): len(clusters) for state, clusters in states.items()})
            if any(states.values()):
                late[name] = states
        self._metrics.set_clusters(counts)
        self._metrics.set_late(late)
        self._metrics.set_zeros(
            {
                (name, names.get(resource, resource)): len(clusters)
                for resource, by in zeros.items()
                for name, clusters in by.items()
            }
        )

    def _on_cluster(self, _: str, before: ManagedCluster | None, after: ManagedCluster | None) -> None:
        if before is None or after is None or _choice(before) != _choice(after):
            self._fleet += 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Counted:
    """What a PlacementSummary counts as 0 by one prioritizer, and what that was concluded from.

    In an outage the same thousands of clusters would be looked at for each of a thousand Placements every ten
    seconds.
    """

    placement: PlacementSummary
    dead: frozenset[str]
    scored: Scored | None
    rest: tuple[int, frozenset[str]]
    zeros: frozenset[str]

    def holds(
        self,
        placement: PlacementSummary,
        dead: frozenset[str],
        scored: Scored | None,
        rest: tuple[int, frozenset[str]],
    ) -> bool:
        """The book hands out the same objects until something about the scores changed."""
        return (
            self.placement is placement and self.dead is dead and self.scored is scored and self.rest == rest
        )


def _choice(item: ManagedCluster) -> tuple[object, ...]:
    return item.metadata.labels, item.status.cluster_claims if item.status else None, item.deleting


def owners(scorers: Iterable[DynamicScorer]) -> dict[str, str]:
    """Scorer by the name of its AddOnPlacementScores; the first by name where several collide."""
    found: dict[str, str] = {}
    for item in scorers:
        name, resource = item.metadata.name, item.resource
        found[resource] = min(name, found.get(resource, name))
    return found
