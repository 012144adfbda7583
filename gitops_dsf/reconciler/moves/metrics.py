"""What the duties of moves count."""

import contextlib

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gitops_dsf.reconciler.series import PREFIX


class DecisionMetrics:
    """How often decisions change, and how large they are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.changes = Counter(
            f"{PREFIX}_decision_changes",
            "Times that the clusters of a Placement's decision changed.",
            ["placement"],
            registry=registry,
        )
        self.clusters = Gauge(
            f"{PREFIX}_decision_clusters",
            "Clusters of a Placement's decision.",
            ["placement"],
            registry=registry,
        )

    def forget(self, placement: str) -> None:
        """The Placement is gone."""
        for series in (self.changes, self.clusters):
            with contextlib.suppress(KeyError):
                series.remove(placement)

    def forget_all(self) -> None:
        """Another replica knows now; what was counted here stays."""
        self.clusters.clear()


class RefreshMetrics:
    """How often Argo CD was asked to look, and how late."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.refreshes = Counter(
            f"{PREFIX}_refreshes",
            "ApplicationSets that were asked to look at decisions now.",
            registry=registry,
        )
        self.refresh_delay = Histogram(
            f"{PREFIX}_refresh_delay_seconds",
            "From the last change of a decision until its ApplicationSet was asked to look.",
            buckets=(5, 6, 7, 8, 10, 15, 20, 30, 60),
            registry=registry,
        )


class MoveMetrics:
    """What moves wait for, and the copies that were removed."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.waiting = Gauge(
            f"{PREFIX}_moves_waiting",
            "Copies on clusters that left the decision and still stay, by what they wait for.",
            ["applicationset", "reason"],
            registry=registry,
        )
        self.waiting_seconds = Gauge(
            f"{PREFIX}_moves_waiting_seconds",
            "For how long a copy has waited to be removed, as far as this leader has seen; absent while none"
            " does.",
            ["applicationset"],
            registry=registry,
        )
        self.removed = Counter(
            f"{PREFIX}_copies_removed",
            "Copies removed from clusters that left the decision.",
            ["applicationset"],
            registry=registry,
        )
