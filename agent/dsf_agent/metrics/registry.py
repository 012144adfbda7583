"""The agent's own metrics. When a scorer is removed, its series are removed too."""

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from dsf_agent import __version__
from dsf_agent.errors import Reason, Stage
from dsf_agent.metrics.samples import RenderedSamples
from dsf_runtime.clock import HubClock

PREFIX: Final = "gitops_dsf_agent"
STAGE_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
LATENESS_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0)

_WIRE_SECONDS: Final = {
    "fetch": "dynamic_scoring_fetch_seconds",
    "score": "dynamic_scoring_perform_seconds",
    "publish": "dynamic_scoring_send_seconds",
}


class MissingClusters(Collector):
    """A series for each cluster that the hub scorer has no score of. Normally there are few or none."""

    def __init__(self) -> None:
        self._by_scorer: dict[str, tuple[str, ...]] = {}

    def set(self, score_name: str, clusters: tuple[str, ...]) -> None:
        """Sets the missing clusters of a scorer."""
        if clusters:
            self._by_scorer[score_name] = clusters
        else:
            self._by_scorer.pop(score_name, None)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The series, for a scrape."""
        family = GaugeMetricFamily(
            f"{PREFIX}_cluster_missing",
            "1 for a cluster of the hub scorer whose series the source does not have.",
            labels=["score_name", "cluster"],
        )
        for score_name, clusters in list(self._by_scorer.items()):
            for cluster in clusters:
                family.add_metric([score_name, cluster], 1)
        yield family


class Metrics:
    """All metrics of the process. ``samples`` holds dynamic_score, which may have tens of thousands of series
    and is rendered separately.
    """

    def __init__(self, *, cluster: str) -> None:
        # A *_created series per counter would make every scrape larger, and nobody uses it.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.samples = RenderedSamples()
        registry = self.registry
        one = ["score_name"]
        self.requests = Counter(
            "dynamic_scoring_requests",
            "Scoring cycles by status: success or failure.",
            [*one, "status"],
            registry=registry,
        )
        self.seconds = {
            stage: Counter(
                name, f"Seconds spent in the stage {stage}, succeeded or not.", one, registry=registry
            )
            for stage, name in _WIRE_SECONDS.items()
        }
        self.last_success = Gauge(
            f"{PREFIX}_last_success_timestamp_seconds",
            "Unix time of the last cycle that gave scores.",
            one,
            registry=registry,
        )
        self.stages = Histogram(
            f"{PREFIX}_stage_duration_seconds",
            "Duration of a stage: fetch, score or publish.",
            [*one, "stage"],
            buckets=STAGE_BUCKETS,
            registry=registry,
        )
        self.lateness = Histogram(
            f"{PREFIX}_start_delay_seconds",
            "How much later than planned a cycle starts.",
            buckets=LATENESS_BUCKETS,
            registry=registry,
        )
        self.failures = Counter(
            f"{PREFIX}_failures",
            "Failures by stage and reason.",
            [*one, "stage", "reason"],
            registry=registry,
        )
        self.dropped = Counter(
            f"{PREFIX}_results_dropped",
            "Results that were not used: invalid, not_finite, no_name or long_name (the format gives an"
            " empty name or one of more than 1024 characters), overflow, or"
            " no_cluster (on the hub: no cluster label).",
            [*one, "reason"],
            registry=registry,
        )
        self.clamped = Counter(
            f"{PREFIX}_results_clamped", "Scores cut to a bound of their range.", one, registry=registry
        )
        self.results = Gauge(
            f"{PREFIX}_results", "Usable results of the last successful cycle.", one, registry=registry
        )
        self.series = Gauge(
            f"{PREFIX}_series_fetched",
            "Series of the last cycle.",
            one,
            registry=registry,
        )
        self.defaults = Gauge(
            f"{PREFIX}_default_score_used",
            "1 while the source has no series and the default score is published, else 0.",
            one,
            registry=registry,
        )
        self.clusters = Gauge(
            f"{PREFIX}_clusters",
            "Clusters of the hub scorer by state: scored, missing, or unscored because a request failed.",
            [*one, "state"],
            registry=registry,
        )
        self.sources = Gauge(
            f"{PREFIX}_source_info",
            "Always 1: the MetricSource that a scorer names.",
            [*one, "source"],
            registry=registry,
        )
        self.missing = MissingClusters()
        registry.register(self.missing)
        self.bytes = Counter(
            f"{PREFIX}_fetched_bytes", "Bytes received from the source.", one, registry=registry
        )
        self.warnings = Counter(
            f"{PREFIX}_source_warnings",
            "Warnings in answers of the source.",
            one,
            registry=registry,
        )
        self.publishes = Counter(
            f"{PREFIX}_publish",
            "Decisions about a write: written, unchanged, deferred or failed.",
            [*one, "outcome"],
            registry=registry,
        )
        self.deletions = Counter(
            f"{PREFIX}_deleted_scores",
            "AddOnPlacementScores deleted because their scorer was removed.",
            registry=registry,
        )
        self.scorers = Gauge(
            f"{PREFIX}_scorers",
            "Scorers of the configuration: running, suspended or invalid.",
            ["state"],
            registry=registry,
        )
        self.config_timestamp = Gauge(
            f"{PREFIX}_config_last_change_timestamp_seconds",
            "Unix time at which the active configuration was read.",
            registry=registry,
        )
        self.config_failures = Counter(
            f"{PREFIX}_config_failures",
            "States of the file that could not be used: missing, empty, not_json, too_large or unreadable.",
            ["reason"],
            registry=registry,
        )
        self.config_usable = Gauge(
            f"{PREFIX}_config_usable", "1 if the current file can be used, else 0.", registry=registry
        )
        self.suspension_failures = Counter(
            f"{PREFIX}_suspension_read_failures",
            "Failed attempts to read the suspended scorers.",
            ["reason"],
            registry=registry,
        )
        build = Gauge(
            f"{PREFIX}_build_info", "Always 1.", ["version", "python", "cluster"], registry=registry
        )
        build.labels(
            version=__version__, python=".".join(map(str, sys.version_info[:3])), cluster=cluster
        ).set(1)
        ProcessCollector(registry=registry)

    def of(self, score_name: str) -> "ScorerMetrics":
        return ScorerMetrics(metrics=self, score_name=score_name)

    def watch_hub_offset(self, clock: HubClock) -> None:
        """Exports the offset of the hub's clock. It is NaN until the hub has answered."""
        gauge = Gauge(
            f"{PREFIX}_hub_clock_offset_seconds",
            "Hub clock minus local clock; only with --publish hub.",
            registry=self.registry,
        )
        gauge.set_function(lambda: math.nan if clock.offset is None else clock.offset)

    def forget(self, score_name: str) -> None:
        """Removes all series of a scorer."""
        self.samples.drop(score_name)
        self.missing.set(score_name, ())
        for metric in (
            self.requests,
            *self.seconds.values(),
            self.last_success,
            self.stages,
            self.failures,
            self.dropped,
            self.clamped,
            self.results,
            self.series,
            self.defaults,
            self.clusters,
            self.sources,
            self.bytes,
            self.warnings,
            self.publishes,
        ):
            metric.remove_by_labels({"score_name": score_name})


class ScorerMetrics:
    """The metrics of one scorer."""

    def __init__(self, *, metrics: Metrics, score_name: str) -> None:
        self._all = metrics
        self._name = score_name
        for status in ("success", "failure"):
            metrics.requests.labels(score_name, status)

    def names_source(self, source: str | None) -> None:
        """Shows which MetricSource the scorer names now, if any."""
        self._all.sources.remove_by_labels({"score_name": self._name})
        if source:
            self._all.sources.labels(self._name, source).set(1)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Measures the duration of a stage, whether it succeeds or fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self._all.seconds[stage].labels(self._name).inc(seconds)
            self._all.stages.labels(self._name, stage).observe(seconds)

    def succeeded(self, *, at: float, results: int) -> None:
        self._all.requests.labels(self._name, "success").inc()
        self._all.last_success.labels(self._name).set(at)
        self._all.results.labels(self._name).set(results)

    def cycle_failed(self, stage: Stage, reason: Reason) -> None:
        """Counts a failed cycle and removes the scorer's samples from /metrics."""
        self._all.requests.labels(self._name, "failure").inc()
        self.failed(stage, reason)
        self._all.samples.drop(self._name)

    def failed(self, stage: Stage, reason: Reason) -> None:
        self._all.failures.labels(self._name, stage, reason.value).inc()

    def fetched(self, *, series: int, size: int, warnings: int) -> None:
        self._all.series.labels(self._name).set(series)
        self._all.bytes.labels(self._name).inc(size)
        if warnings:
            self._all.warnings.labels(self._name).inc(warnings)

    def default_used(self, *, used: bool) -> None:
        self._all.defaults.labels(self._name).set(used)

    def clusters(self, *, scored: int, unscored: int, missing: tuple[str, ...]) -> None:
        """What became of the clusters in a cycle of the hub scorer."""
        for state, count in (("scored", scored), ("missing", len(missing)), ("unscored", unscored)):
            self._all.clusters.labels(self._name, state).set(count)
        self._all.missing.set(self._name, missing)

    def dropped(self, counts: Mapping[str, int]) -> None:
        for reason, count in sorted(counts.items()):
            self._all.dropped.labels(self._name, reason).inc(count)

    def clamped(self, count: int) -> None:
        self._all.clamped.labels(self._name).inc(count)

    def published(self, outcome: str, *, count: int = 1) -> None:
        self._all.publishes.labels(self._name, outcome).inc(count)

    def started(self, *, late: float) -> None:
        self._all.lateness.observe(max(0.0, late))

    def exposed(self, text: bytes) -> None:
        self._all.samples.put(self._name, text)

    def hidden(self) -> None:
        self._all.samples.drop(self._name)
