"""What the reconciler counts. One registry per process, so that tests can have several."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

PREFIX = "gitops_dsf_reconciler"


class Metrics:
    """All series; scorers that are gone are taken out by `forget`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.leader = Gauge(f"{PREFIX}_leader", "1 on the replica that works.", registry=registry)
        self.failures = Counter(f"{PREFIX}_duty_failures", "Times that a duty ended and was started anew.", ["duty"], registry=registry)
        self.round_seconds = Gauge(f"{PREFIX}_probe_round_seconds", "Duration of the last round of probes.", registry=registry)
        self.healthy = Gauge(
            f"{PREFIX}_scorer_healthy", "1 Active, 0 Inactive, -1 never reached from the hub.", ["scorer"], registry=registry
        )
        self.config = Gauge(
            f"{PREFIX}_scorer_config", "1 for the state of /config against what was accepted.", ["scorer", "reason"], registry=registry
        )
        self.clusters = Gauge(
            f"{PREFIX}_scored_clusters",
            "Clusters whose score is fresh, expiring (of the fresh) or expired.",
            ["scorer", "state"],
            registry=registry,
        )
        self.patches = Counter(f"{PREFIX}_status_patches", "Writes of DynamicScorer status.", registry=registry)
        self.refreshes = Counter(f"{PREFIX}_refreshes", "ApplicationSets that were asked to look at decisions now.", registry=registry)
        self.refresh_delay = Histogram(
            f"{PREFIX}_refresh_delay_seconds",
            "From the last change of a decision until its ApplicationSet was asked to look.",
            buckets=(5, 6, 7, 8, 10, 15, 20, 30, 60),
            registry=registry,
        )
        self.clock_offset = Gauge(f"{PREFIX}_clock_offset_seconds", "Seconds that the hub's clock is ahead of ours.", registry=registry)

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
        for state in ("fresh", "expiring", "expired"):
            self._remove(self.clusters, scorer, state)

    @staticmethod
    def _remove(gauge: Gauge, *labels: str) -> None:
        # remove() of labels that were never set is fine in current versions and a KeyError in older ones.
        try:
            gauge.remove(*labels)
        except KeyError:
            return
