"""What is counted about scores."""

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Gauge

from gitops_dsf.reconciler.series import PREFIX

SERIES: Final = 1000
"""Of score_not_fresh: an outage of thousands of clusters must not become thousands of series for each scorer.
"""


class FreshnessMetrics:
    """Every method takes the whole truth of the moment; what it does not name any more goes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._clusters = _Whole[tuple[str, str]](
            Gauge(
                f"{PREFIX}_scored_clusters",
                "Clusters whose score is fresh, expiring (of the fresh), expired, endless (without"
                " validUntil), or missing.",
                ["scorer", "state"],
                registry=registry,
            )
        )
        self._late = _Whole[tuple[str, str, str]](
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
        self._zeros = _Whole[tuple[str, str]](
            Gauge(
                f"{PREFIX}_placement_missing_scores",
                "Clusters that a Placement counts as 0 because a score is missing; scorer is the score's name"
                " where it is nobody's.",
                ["placement", "scorer"],
                registry=registry,
            )
        )

    def set_clusters(self, counts: Mapping[tuple[str, str], int]) -> None:
        """By scorer and state."""
        self._clusters.set(counts)

    def set_late(self, late: Mapping[str, Mapping[str, frozenset[str]]]) -> None:
        """Clusters by scorer and state; when they are too many each scorer gets its share, the worst states
        first.
        """
        rows = {
            scorer: [
                (scorer, cluster, state) for state, clusters in states.items() for cluster in sorted(clusters)
            ]
            for scorer, states in late.items()
        }
        total = sum(map(len, rows.values()))
        share = SERIES if total <= SERIES else max(1, SERIES // len(rows))
        chosen = [row for scorer in sorted(rows) for row in rows[scorer][:share]][:SERIES]
        self._late.set(dict.fromkeys(chosen, 1))
        self._omitted.set(total - len(chosen))

    def set_zeros(self, counts: Mapping[tuple[str, str], int]) -> None:
        """By placement and scorer."""
        self._zeros.set(counts)

    def forget(self) -> None:
        """Another replica knows now."""
        self.set_clusters({})
        self.set_late({})
        self.set_zeros({})


Labels = TypeVar("Labels", bound=tuple[str, ...])


class _Whole(Generic[Labels]):
    """A gauge whose series are always those that were set last."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._series: dict[Labels, int] = {}

    def set(self, values: Mapping[Labels, int]) -> None:
        for labels in self._series.keys() - values.keys():
            self._gauge.remove(*labels)
        for labels, value in values.items():
            if self._series.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._series = dict(values)
