"""Metrics about scoring APIs and the status of their DynamicScorers."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.series import PREFIX


class ScorerMetrics:
    """Series by scorer, until `forget` removes those of a deleted one."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.clock_offset = Gauge(
            f"{PREFIX}_clock_offset_seconds",
            "Seconds that the hub's clock is ahead of this process's.",
            registry=registry,
        )
        self.round_seconds = Gauge(
            f"{PREFIX}_probe_round_seconds", "Duration of the last round of probes.", registry=registry
        )
        self.healthy = Gauge(
            f"{PREFIX}_scorer_healthy",
            "1 Active, 0 Inactive, -1 never reached from the hub.",
            ["scorer"],
            registry=registry,
        )
        self.config = Gauge(
            f"{PREFIX}_scorer_config",
            "1 for the state of /config against what was accepted.",
            ["scorer", "reason"],
            registry=registry,
        )
        self.patches = Counter(
            f"{PREFIX}_status_patches", "Writes of DynamicScorer status.", registry=registry
        )
        self.patch_failures = Counter(
            f"{PREFIX}_status_patch_failures",
            "Writes of DynamicScorer status that the hub refused.",
            registry=registry,
        )

    def set_config(self, scorer: str, reason: str | None) -> None:
        """The series of the present reason has the value 1, the others 0. None removes them."""
        for each in ("InSync", "Drifted", "Invalid", "Unreachable"):
            if reason is None:
                self.config.remove(scorer, each)
            else:
                self.config.labels(scorer=scorer, reason=each).set(float(each == reason))

    def forget(self, scorer: str) -> None:
        """Removes the series of a deleted scorer."""
        self.healthy.remove(scorer)
        self.set_config(scorer, None)
