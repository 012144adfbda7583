"""Freshness as metrics, and as Events on Placements that begin or cease to count clusters as 0."""

from typing import Final

from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.reconciler.freshness import named
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.shared import Shared

MAX_SERIES: Final = 1000
"""Series of score_not_fresh at most: an outage of thousands of clusters must not become thousands of series
for each scorer.
"""


class FreshnessReporter:
    """Sets the metrics, and writes the Events."""

    def __init__(self, shared: Shared) -> None:
        self._view, self._events, self._metrics = shared.view, shared.events, shared.metrics
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
        self._metrics.scored_clusters.set(
            {(name, "fresh"): item.fresh for name, item in scan.assessments.items()}
            | {(name, state): len(names) for name, each in states.items() for state, names in each.items()}
        )
        # By cluster, so that one scorer does not take the place of all others.
        rows = sorted(
            (cluster, name, state)
            for name, each in states.items()
            for state, names in each.items()
            for cluster in names
        )
        self._metrics.not_fresh.set({(name, cluster, state): 1 for cluster, name, state in rows[:MAX_SERIES]})
        self._metrics.not_fresh_omitted.set(max(0, len(rows) - MAX_SERIES))
        labels = {resource: owner.item.name for resource, owner in scan.owners.items()}
        self._metrics.counted_as_zero.set(
            {(name, labels.get(each, each)): len(clusters) for (name, each), clusters in scan.zeros.items()}
        )
        placements = self._view.placements.items
        for (name, resource), clusters in sorted(scan.zeros.items(), key=lambda item: item[0]):
            item, before = placements.get(name), self._warned.get((name, resource))
            if clusters and item is not None and (before is None or before.uid != item.uid):
                self._warned[name, resource] = item
                message = (
                    f"ranks by {labels.get(resource, resource)}, and counts {named(clusters)} as 0: there is"
                    " no score, or it expired, or it lacks the dimension"
                )
                await self._say(name, item, "ScoresMissing", message)
        for name, resource in sorted(self._warned):
            if not scan.zeros.get((name, resource)):
                before, item = self._warned.pop((name, resource)), placements.get(name)
                if item is not None and item.uid == before.uid:
                    message = f"no cluster is counted as 0 any more for {labels.get(resource, resource)}"
                    await self._say(name, item, "ScoresComplete", message)

    async def _say(self, name: str, item: PlacementSummary, reason: str, message: str) -> None:
        about = placement_reference(name, item, self._view.argocd_namespace)
        await self._events.say(about, reason, message, warning=reason == "ScoresMissing")
