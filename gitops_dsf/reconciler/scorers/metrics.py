"""What the scorers duty counts."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.series import PREFIX


class ScorerMetrics:
    """Series by scorer; those of a deleted one are taken out by `forget`."""

    def __init__(self, registry: CollectorRegistry) -> None:
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
        """One series per scorer has the value 1: its present state."""
        for each in ("InSync", "Drifted", "Invalid", "Unreachable"):
            if reason is None:
                self._remove(self.config, scorer, each)
            else:
                self.config.labels(scorer=scorer, reason=each).set(float(each == reason))

    def forget(self, scorer: str) -> None:
        """Takes the series of a deleted scorer out."""
        self._remove(self.healthy, scorer)
        self.set_config(scorer, None)

    def forget_all(self) -> None:
        """Another replica knows now."""
        self.healthy.clear()
        self.config.clear()

    @staticmethod
    def _remove(gauge: Gauge, *labels: str) -> None:
        # remove() of labels that were never set is fine in current versions and a KeyError in older ones.
        try:
            gauge.remove(*labels)
        except KeyError:
            return
