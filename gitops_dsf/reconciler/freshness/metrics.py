"""Metrics about the freshness of scores."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from gitops_dsf.reconciler.series import PREFIX, GaugeSet

MAX_SERIES: Final = 1000
"""Series of score_not_fresh at most: an outage of thousands of clusters must not become thousands of series
for each scorer.
"""


class FreshnessMetrics:
    """Every method takes all values at once, and removes the series that they leave out."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._clusters = GaugeSet[tuple[str, str]](
            Gauge(
                f"{PREFIX}_scored_clusters",
                "Clusters whose score is fresh, expiring (part of fresh), expired, endless (without"
                " validUntil), or missing.",
                ["scorer", "state"],
                registry=registry,
            )
        )
        self._not_fresh = GaugeSet[tuple[str, str, str]](
            Gauge(
                f"{PREFIX}_score_not_fresh",
                "1 for a score that is expired, missing, expiring or endless; at most 1,000 of them.",
                ["scorer", "cluster", "state"],
                registry=registry,
            )
        )
        self._omitted = Gauge(
            f"{PREFIX}_score_not_fresh_omitted", "Scores that score_not_fresh leaves out.", registry=registry
        )
        self._counted_as_zero = GaugeSet[tuple[str, str]](
            Gauge(
                f"{PREFIX}_placement_missing_scores",
                "Clusters that a Placement counts as 0 because a score is missing. Without a scorer, the"
                " label scorer is the name of the score.",
                ["placement", "scorer"],
                registry=registry,
            )
        )

    def set_clusters(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Number of clusters by scorer and state."""
        self._clusters.set(counts)

    def set_not_fresh(self, clusters: Mapping[str, Mapping[str, frozenset[str]]]) -> None:
        """Clusters by scorer and state, the worst state first. When they are too many, each scorer gets an
        equal share of the series.
        """
        rows = {
            scorer: [(scorer, cluster, state) for state, names in states.items() for cluster in sorted(names)]
            for scorer, states in clusters.items()
        }
        total = sum(map(len, rows.values()))
        share = MAX_SERIES if total <= MAX_SERIES else max(1, MAX_SERIES // len(rows))
        chosen = [row for scorer in sorted(rows) for row in rows[scorer][:share]][:MAX_SERIES]
        self._not_fresh.set(dict.fromkeys(chosen, 1))
        self._omitted.set(total - len(chosen))

    def set_counted_as_zero(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Number of clusters by placement and scorer."""
        self._counted_as_zero.set(counts)

    def clear(self) -> None:
        """Clears the metrics on losing leadership."""
        self.set_clusters({})
        self.set_not_fresh({})
        self.set_counted_as_zero({})
