"""Metrics about scoring APIs and the status of their DynamicScorers."""

from prometheus_client import CollectorRegistry

from gitops_dsf.reconciler.series import counter, gauge


class ScorerMetrics:
    """Series by scorer, until `forget` removes those of a deleted one."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.clock_offset = gauge(
            registry, "clock_offset_seconds", "Seconds that the hub's clock is ahead of this process's."
        )
        self.round_seconds = gauge(registry, "probe_round_seconds", "Duration of the last round of probes.")
        self.healthy = gauge(
            registry, "scorer_healthy", "1 Active, 0 Inactive, -1 never reached from the hub.", "scorer"
        )
        self.config = gauge(
            registry,
            "scorer_config",
            "1 for the state of /config against what was accepted.",
            "scorer",
            "reason",
        )
        self.patches = counter(registry, "status_patches", "Writes of DynamicScorer status.")
        self.patch_failures = counter(
            registry, "status_patch_failures", "Writes of DynamicScorer status that the hub refused."
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
