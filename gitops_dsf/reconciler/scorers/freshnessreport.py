"""Freshness of scores as metrics, and as Events on the Placements that count a cluster as 0."""

from collections import Counter
from typing import Final, NamedTuple

from dsf_wire.scored import known_reason
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.freshness import named
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.points import set_points

MAX_SERIES: Final = 1000
"""Series of score_not_fresh at most: thousands of clusters can be out at once, for each scorer."""


class _NotFresh(NamedTuple):
    """A score that is not fresh.

    The order is by cluster, so that one scorer does not take the place of all others.
    """

    cluster: str
    scorer: str
    state: str


class FreshnessReporter:
    """Remembers the warned Placements, so that an Event reports when the warning is over."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._warned: dict[tuple[str, str], PlacementSummary] = {}
        """Warnings that still hold, by Placement and resource."""

    def report(self, scan: Scan) -> None:
        """Sets the metrics, and records Events on Placements.

        An Event says that a Placement began or ceased to count a cluster as 0.
        """
        labels = {resource: owner.item.name for resource, owner in scan.owners.items()}
        self._set_metrics(scan, labels)
        placements = self._context.view.placements.items
        for (name, resource), clusters in sorted(scan.zeros.items(), key=lambda entry: entry[0]):
            placement = placements.get(name)
            before = self._warned.get((name, resource))
            # A Placement that was deleted and created again has another UID, and is warned again.
            is_known = before is not None and placement is not None and before.uid == placement.uid
            if clusters and placement is not None and not is_known:
                self._warned[name, resource] = placement
                self._record_missing(
                    name, placement, labels.get(resource, resource), named(clusters)
                )
        for name, resource in sorted(self._warned):
            if scan.zeros.get((name, resource)):
                continue
            before = self._warned.pop((name, resource))
            placement = placements.get(name)
            # When a Placement was deleted or replaced, the end of its warning is not reported.
            if placement is not None and placement.uid == before.uid:
                message = (
                    f"no cluster is counted as 0 any more for {labels.get(resource, resource)}"
                )
                self._record(name, placement, "ScoresComplete", message)

    def _set_metrics(self, scan: Scan, labels: dict[str, str]) -> None:
        metrics = self._context.metrics
        counts: dict[tuple[str, str], float] = {}
        not_fresh: list[_NotFresh] = []
        failing: Counter[tuple[str, ...]] = Counter()
        for scorer, assessment in scan.assessments.items():
            counts[scorer, "fresh"] = assessment.fresh
            for group in assessment.failing:
                # A closed list: what a cluster writes must not become any number of series.
                failing[scorer, known_reason(group.reason).value] += len(group.clusters)
            for state in ("expired", "missing", "expiring", "endless"):
                clusters: frozenset[str] = getattr(assessment, state)
                counts[scorer, state] = len(clusters)
                not_fresh += [_NotFresh(cluster, scorer, state) for cluster in clusters]
        metrics.scored_clusters.set(counts)
        metrics.failing_clusters.set(failing)
        not_fresh.sort()
        series: dict[tuple[str, str, str], float] = {}
        for score in not_fresh[:MAX_SERIES]:
            series[score.scorer, score.cluster, score.state] = 1
        metrics.not_fresh.set(series)
        metrics.not_fresh_omitted.set(max(0, len(not_fresh) - MAX_SERIES))
        zeros: dict[tuple[str, str], float] = {}
        for (name, resource), clusters in scan.zeros.items():
            zeros[name, labels.get(resource, resource)] = len(clusters)
        metrics.counted_as_zero.set(zeros)
        set_points(self._context)

    def _record_missing(
        self, name: str, placement: PlacementSummary, score: str, clusters: str
    ) -> None:
        message = (
            f"ranks by {score}, and counts {clusters} as 0: there is no score, or it expired, or it"
            " lacks the dimension"
        )
        self._record(name, placement, "ScoresMissing", message, warning=True)

    def _record(
        self,
        name: str,
        placement: PlacementSummary,
        reason: str,
        message: str,
        *,
        warning: bool = False,
    ) -> None:
        about = placement_reference(name, placement, self._context.view.argocd_namespace)
        self._context.events.record(about, reason, message, warning=warning)
