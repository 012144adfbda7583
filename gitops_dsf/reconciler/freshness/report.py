"""Freshness as metrics, and as Events on Placements that begin or cease to count clusters as 0."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.reconciler.events import Events, Kind
from gitops_dsf.reconciler.freshness.assessment import named
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.series import GaugeSet, gauge

MAX_SERIES: Final = 1000
"""Series of score_not_fresh at most: an outage of thousands of clusters must not become thousands of series
for each scorer.
"""


class FreshnessMetrics:
    """Every method takes all values at once, and removes the series that they leave out."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.clusters = GaugeSet[tuple[str, str]](
            registry,
            "scored_clusters",
            "Clusters whose score is fresh, expiring (part of fresh), expired, endless (without"
            " validUntil), or missing.",
            "scorer",
            "state",
        )
        self._not_fresh = GaugeSet[tuple[str, str, str]](
            registry,
            "score_not_fresh",
            "1 for a score that is expired, missing, expiring or endless; at most 1,000 of them.",
            "scorer",
            "cluster",
            "state",
        )
        self._omitted = gauge(registry, "score_not_fresh_omitted", "Scores that score_not_fresh leaves out.")
        self.counted_as_zero = GaugeSet[tuple[str, str]](
            registry,
            "placement_missing_scores",
            "Clusters that a Placement counts as 0 because a score is missing. Without a scorer, the"
            " label scorer is the name of the score.",
            "placement",
            "scorer",
        )

    def set_not_fresh(self, clusters: Mapping[str, Mapping[str, frozenset[str]]]) -> None:
        """Clusters by scorer and state, the worst state first. When they are too many, each scorer gets an
        equal share of the series.
        """
        rows = {
            scorer: [(scorer, cluster, state) for state, names in states.items() for cluster in sorted(names)]
            for scorer, states in clusters.items()
            if any(states.values())
        }
        total = sum(map(len, rows.values()))
        share = MAX_SERIES if total <= MAX_SERIES else max(1, MAX_SERIES // len(rows))
        chosen = [row for scorer in sorted(rows) for row in rows[scorer][:share]][:MAX_SERIES]
        self._not_fresh.set(dict.fromkeys(chosen, 1))
        self._omitted.set(total - len(chosen))


class FreshnessReporter:
    """Sets the metrics, and writes the Events."""

    def __init__(self, *, view: HubView, events: Events, metrics: FreshnessMetrics) -> None:
        self._view, self._events, self._metrics = view, events, metrics
        self._warned: dict[tuple[str, str], PlacementSummary] = {}
        """By Placement and resource: warnings that still hold."""

    async def report(self, scan: Scan) -> None:
        """Sets the metrics, and writes an Event on each Placement that began or ceased to count a cluster."""
        states = {
            name: {
                "expired": item.expired,
                "missing": item.missing,
                "expiring": item.expiring,
                "endless": item.endless,
            }
            for name, item in scan.assessments.items()
        }
        self._metrics.clusters.set(
            {(name, "fresh"): item.fresh for name, item in scan.assessments.items()}
            | {(name, state): len(names) for name, each in states.items() for state, names in each.items()}
        )
        self._metrics.set_not_fresh(states)
        counted = {
            (name, resource): clusters for resource, by in scan.zeros.items() for name, clusters in by.items()
        }
        labels = {resource: owner.item.name for resource, owner in scan.owners.items()}
        self._metrics.counted_as_zero.set(
            {(name, labels.get(each, each)): len(clusters) for (name, each), clusters in counted.items()}
        )
        placements = self._view.placements.items
        for (name, resource), clusters in sorted(counted.items()):
            item, before = placements.get(name), self._warned.get((name, resource))
            if clusters and item is not None and (before is None or before.uid != item.uid):
                self._warned[name, resource] = item
                message = (
                    f"ranks by {labels.get(resource, resource)}, and counts {named(clusters)} as 0: there is"
                    " no score, or it expired, or it lacks the dimension"
                )
                await self._say(name, item, "ScoresMissing", message)
        for name, resource in sorted(self._warned):
            if not counted.get((name, resource)):
                before, item = self._warned.pop((name, resource)), placements.get(name)
                if item is not None and item.uid == before.uid:
                    message = f"no cluster is counted as 0 any more for {labels.get(resource, resource)}"
                    await self._say(name, item, "ScoresComplete", message)

    async def _say(self, name: str, item: PlacementSummary, reason: str, message: str) -> None:
        kind: Kind = "Warning" if reason == "ScoresMissing" else "Normal"
        about = placement_reference(name, item, self._view.argocd_namespace)
        await self._events.say(about, kind, reason, message)
