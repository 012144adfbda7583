"""Freshness as metrics, and as Events on Placements that begin or cease to count clusters as 0."""

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
from gitops_dsf.reconciler.freshness.assessment import Assessment, named
from gitops_dsf.reconciler.freshness.cache import AssessmentCache
from gitops_dsf.reconciler.freshness.metrics import FreshnessMetrics
from gitops_dsf.reconciler.freshness.placements import counted_as_zero
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.wording import plural

NAMED: Final = 3
"""Placements that a message names at most."""
_NONE: Final[frozenset[str]] = frozenset()

ZeroClusters = Mapping[str, Mapping[str, frozenset[str]]]
"""Clusters counted as 0, by resource and Placement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FreshnessReport:
    """The result of one pass over all scorers and Placements."""

    assessments: Mapping[str, Assessment]
    """By scorer."""
    zeros: ZeroClusters

    def affected_placements(self, resource: str) -> str:
        """A sentence about the Placements that count clusters as 0 for this resource; empty when
        none does.
        """
        found = [
            (name, clusters) for name, clusters in sorted(self.zeros.get(resource, {}).items()) if clusters
        ]
        words = [
            f"Placement {name} counts {plural(len(clusters), 'cluster')} as 0" for name, clusters in found
        ]
        more = f", and {len(words) - NAMED} more Placements do so" if len(words) > NAMED else ""
        return "; ".join(words[:NAMED]) + more


class FreshnessReporter:
    """Assesses all scorers and Placements, sets the metrics and writes the Events while this
    replica leads.
    """

    def __init__(self, *, view: HubView, events: Events, metrics: FreshnessMetrics) -> None:
        self._view, self._events, self._metrics = view, events, metrics
        self._cache = AssessmentCache(view)
        self._warned: dict[tuple[str, str], PlacementSummary] = {}
        """By Placement and resource: warnings that still hold."""
        self._counted: dict[tuple[str, RankedBy], _Counted] = {}
        self._clusters_version = 0
        """Grows with every change that could make a Placement choose another cluster."""
        view.clusters.compare(self._on_cluster)

    async def observe(self, *, now: float) -> FreshnessReport:
        """Assesses everything, and sets the metrics. Yields to other tasks in between."""
        scorers = dict(self._view.scorers.items)
        assessments = {}
        for name, item in scorers.items():
            assessments[name] = self._cache.assess(item, now=now)
            await asyncio.sleep(0)
        placements = dict(self._view.placements.items)
        self._cache.keep_only(
            scorers=set(scorers),
            ranked={
                (each.resource, each.dimension) for item in placements.values() for each in item.ranked_by
            },
        )
        names = owners(scorers.values())
        zeros = await self._zeros(placements, names, assessments, now=now)
        self._set_metrics(assessments, zeros, names)
        return FreshnessReport(assessments=assessments, zeros=zeros)

    async def announce(self, report: FreshnessReport) -> None:
        """Writes an Event on each Placement that began or ceased to count clusters as 0."""
        placements = self._view.placements.items
        names = owners(self._view.scorers.items.values())
        current = {
            (name, resource): clusters
            for resource, by in report.zeros.items()
            for name, clusters in by.items()
            if clusters
        }
        for (name, resource), clusters in sorted(current.items()):
            item, before = placements.get(name), self._warned.get((name, resource))
            if item is None or (before is not None and before.uid == item.uid):
                continue
            self._warned[name, resource] = item
            message = (
                f"ranks by {names.get(resource, resource)}, and counts {named(clusters)} as 0: there is no"
                " score, or it expired, or it lacks the dimension"
            )
            await self._events.say(
                placement_reference(name, item, self._view.argocd_namespace),
                "Warning",
                "ScoresMissing",
                message,
            )
        for name, resource in sorted(self._warned.keys() - current.keys()):
            before, item = self._warned.pop((name, resource)), placements.get(name)
            if item is not None and item.uid == before.uid:
                message = f"no cluster is counted as 0 any more for {names.get(resource, resource)}"
                await self._events.say(
                    placement_reference(name, item, self._view.argocd_namespace),
                    "Normal",
                    "ScoresComplete",
                    message,
                )

    async def _zeros(
        self,
        placements: Mapping[str, PlacementSummary],
        names: Mapping[str, str],
        assessments: Mapping[str, Assessment],
        *,
        now: float,
    ) -> ZeroClusters:
        found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        if not (self._view.placements.synced.is_set() and self._view.decisions.synced.is_set()):
            return found
        decided_by = clusters_by_placement(self._view.decisions.items.values())
        counted: dict[tuple[str, RankedBy], _Counted] = {}
        for name, item in placements.items():
            for each in item.ranked_by:
                decided = decided_by.get(name, _NONE)
                not_counted = self._cache.not_counted(each.resource, each.dimension, now=now)
                assessment = assessments.get(names.get(each.resource, ""))
                version = (self._clusters_version, decided)
                known = self._counted.get((name, each))
                if known is None or not known.holds(item, not_counted, assessment, version):
                    zeros = counted_as_zero(
                        item,
                        clusters=self._view.clusters.items,
                        decided=decided,
                        scores=self._view.scores.of(each.resource),
                        not_counted=not_counted,
                        assessment=assessment,
                    )
                    known = _Counted(
                        placement=item,
                        not_counted=not_counted,
                        assessment=assessment,
                        version=version,
                        zeros=zeros,
                    )
                counted[name, each] = known
                by = found[each.resource]
                by[name] = by.get(name, _NONE) | known.zeros
            await asyncio.sleep(0)
        self._counted = counted
        return found

    def _set_metrics(
        self, assessments: Mapping[str, Assessment], zeros: ZeroClusters, names: Mapping[str, str]
    ) -> None:
        counts: dict[tuple[str, str], int] = {}
        not_fresh: dict[str, dict[str, frozenset[str]]] = {}
        for name, item in assessments.items():
            states = {
                "expired": item.expired,
                "missing": item.missing,
                "expiring": item.expiring,
                "endless": item.endless,
            }
            counts[name, "fresh"] = item.fresh
            counts.update({(name, state): len(clusters) for state, clusters in states.items()})
            if any(states.values()):
                not_fresh[name] = states
        self._metrics.set_clusters(counts)
        self._metrics.set_not_fresh(not_fresh)
        self._metrics.set_counted_as_zero(
            {
                (name, names.get(resource, resource)): len(clusters)
                for resource, by in zeros.items()
                for name, clusters in by.items()
            }
        )

    def _on_cluster(self, _: str, before: ManagedCluster | None, after: ManagedCluster | None) -> None:
        if before is None or after is None or _eligibility(before) != _eligibility(after):
            self._clusters_version += 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Counted:
    """The clusters that a Placement counts as 0 by one prioritizer, and what they were computed from.

    Without this cache an outage of thousands of clusters would be computed again for each of a thousand
    Placements every ten seconds.
    """

    placement: PlacementSummary
    not_counted: frozenset[str]
    assessment: Assessment | None
    version: tuple[int, frozenset[str]]
    zeros: frozenset[str]

    def holds(
        self,
        placement: PlacementSummary,
        not_counted: frozenset[str],
        assessment: Assessment | None,
        version: tuple[int, frozenset[str]],
    ) -> bool:
        """Compares identities: informers and cache return the same object until it changes."""
        return (
            self.placement is placement
            and self.not_counted is not_counted
            and self.assessment is assessment
            and self.version == version
        )


def _eligibility(item: ManagedCluster) -> tuple[object, ...]:
    """What decides whether a Placement may choose the cluster."""
    return item.metadata.labels, item.status.cluster_claims if item.status else None, item.deleting


def owners(scorers: Iterable[DynamicScorer]) -> dict[str, str]:
    """Scorer by the name of its AddOnPlacementScores; the first by name when several share one."""
    found: dict[str, str] = {}
    for item in scorers:
        name, resource = item.metadata.name, item.resource
        found[resource] = min(name, found.get(resource, name))
    return found
