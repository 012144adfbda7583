"""The page /metrics: the agent's own metrics, and the samples of dynamic_score (``samples``).

All series of a scorer are removed with it. Not guaranteed: that they are of one moment, because
scorers run while the page is written.
"""

import asyncio
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.process_collector import ProcessCollector

from dsf_agent import __version__
from dsf_agent.samples import HEAD
from dsf_runtime.clock import HubClock
from dsf_runtime.pages import Page
from dsf_wire.scored import Reason, Stage

PREFIX: Final = "gitops_dsf_agent_"
UPSTREAM: Final = "dynamic_scoring_"
"""Prefix of the metrics that the upstream agent has, too."""
STAGE_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
LATENESS_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0)
SCORER: Final = "score_name"
"""Label of the series that are removed with their scorer."""
EOF: Final = b"# EOF\n"
"""The end of a page in the format of OpenMetrics."""
_UPSTREAM_SECONDS: Final = {
    "fetch": "fetch_seconds",
    "score": "perform_seconds",
    "publish": "send_seconds",
}


class AgentMetrics:
    """All metrics of the process.

    The samples of dynamic_score, which may have many series, are rendered separately.
    """

    def __init__(self, *, cluster: str) -> None:
        # A *_created series per counter would make every scrape larger, and has no use here.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        self.samples: dict[str, list[bytes]] = {}
        """Pieces of text by scorer.

        Without those of scorers that failed or were removed: no old score must look current.
        """

        def counter(name: str, text: str, *labels: str, prefix: str = PREFIX) -> Counter:
            return Counter(prefix + name, text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(PREFIX + name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(PREFIX + name, text, labels, buckets=buckets, registry=registry)

        self.requests = counter(
            "requests",
            "Scoring cycles by status: success or failure.",
            *(SCORER, "status"),
            prefix=UPSTREAM,
        )
        self.seconds = {
            stage: counter(
                name,
                f"Seconds spent in the stage {stage}, succeeded or not.",
                SCORER,
                prefix=UPSTREAM,
            )
            for stage, name in _UPSTREAM_SECONDS.items()
        }
        self.last_success = gauge(
            "last_success_timestamp_seconds",
            "Unix time of the last cycle that gave scores.",
            SCORER,
        )
        text = "Duration of a stage: fetch, score or publish."
        self.stages = histogram("stage_duration_seconds", text, STAGE_BUCKETS, SCORER, "stage")
        text = "How much later than planned a cycle starts."
        self.lateness = histogram("start_delay_seconds", text, LATENESS_BUCKETS)
        self.failures = counter(
            "failures", "Failures by stage and reason.", SCORER, "stage", "reason"
        )
        self.circuit_open = gauge(
            "circuit_open",
            "1 while the source or the scoring API fails so often that it is only called for"
            " trials, else 0.",
            SCORER,
        )
        self.circuits_opened = counter("circuit_opened", "How often the circuit opened.", SCORER)
        self.dropped = counter(
            "results_dropped",
            "Results that were not used: invalid, not_finite, no_name or long_name (the format"
            " gives an empty name or one of more than 1024 characters), overflow, or no_cluster"
            " (on the hub: no cluster label).",
            *(SCORER, "reason"),
        )
        self.clamped = counter("results_clamped", "Scores cut to a bound of their range.", SCORER)
        self.results = gauge("results", "Usable results of the last successful cycle.", SCORER)
        self.series = gauge("series_fetched", "Series of the last cycle.", SCORER)
        self.defaults = gauge(
            "default_score_used",
            "1 while the source has no series and the default score is published, else 0.",
            SCORER,
        )
        self.clusters = gauge(
            "clusters",
            "Clusters of the hub scorer by state: scored, missing, or unscored because a request"
            " failed.",
            *(SCORER, "state"),
        )
        self.sources = gauge(
            "source_info", "Always 1: the MetricSource that a scorer names.", SCORER, "source"
        )
        self.missing = gauge(
            "cluster_missing",
            "1 for a cluster of the hub scorer whose series the source does not have.",
            *(SCORER, "cluster"),
        )
        self.bytes = counter("fetched_bytes", "Bytes received from the source.", SCORER)
        self.warnings = counter("source_warnings", "Warnings in answers of the source.", SCORER)
        self.publishes = counter(
            "publish",
            "Decisions about a write: written, unchanged, deferred or failed; or condition, for"
            " the condition Scored where no write of scores carries it.",
            *(SCORER, "outcome"),
        )
        self.without_scores = gauge(
            "clusters_without_scores",
            "Clusters without new scores now, by the reason of the condition Scored on the hub.",
            *(SCORER, "reason"),
        )
        self.deletions = counter(
            "deleted_scores", "AddOnPlacementScores deleted because their scorer was removed."
        )
        self.scorers = gauge(
            "scorers", "Scorers of the configuration: running or invalid.", "state"
        )
        self.config_timestamp = gauge(
            "config_last_change_timestamp_seconds",
            "Unix time at which the active configuration was read.",
        )
        self.config_failures = counter(
            "config_failures",
            "States of the file that could not be used: missing, empty, not_json, too_large or"
            " unreadable.",
            "reason",
        )
        self.config_usable = gauge("config_usable", "1 if the current file can be used, else 0.")
        python = ".".join(map(str, sys.version_info[:3]))
        gauge("build_info", "Always 1.", "version", "python", "cluster").labels(
            __version__, python, cluster
        ).set(1)
        ProcessCollector(registry=registry)

    def of(self, score_name: str) -> "ScorerMetrics":
        return ScorerMetrics(metrics=self, score_name=score_name)

    def watch_hub_offset(self, clock: HubClock) -> None:
        """Exports the offset of the hub's clock. It is NaN until the hub has answered."""
        gauge = Gauge(
            f"{PREFIX}hub_clock_offset_seconds",
            "Hub clock minus local clock; only with --publish hub.",
            registry=self.registry,
        )
        gauge.set_function(lambda: math.nan if clock.offset is None else clock.offset)

    def forget(self, score_name: str) -> None:
        """Removes all series of a scorer."""
        self.samples.pop(score_name, None)
        # The attribute is private: prometheus_client has no other way to learn the labels of a
        # metric.
        for metric in (*vars(self).values(), *self.seconds.values()):
            if isinstance(metric, Counter | Gauge | Histogram) and SCORER in metric._labelnames:  # noqa: SLF001
                metric.remove_by_labels({SCORER: score_name})

    async def page(self, accept: str) -> Page:
        """The page /metrics, in the text format of OpenMetrics if the peer accepts it."""
        generate: Callable[..., Any] = generate_latest
        content_type = CONTENT_TYPE_LATEST
        end = b""
        if "application/openmetrics-text" in accept:
            generate = openmetrics.generate_latest
            content_type = openmetrics.CONTENT_TYPE_LATEST
            end = EOF
        # Scores themselves are not in this registry: 50,000 series as objects would be expensive.
        # In a thread, because it can take some milliseconds with hundreds of scorers.
        # OpenMetrics allows the last line once, at the end of all parts.
        own = (await asyncio.to_thread(generate, self.registry)).removesuffix(EOF)
        parts = [own, HEAD, *itertools.chain.from_iterable(self.samples.values()), end]
        return Page(content_type=content_type, parts=parts, headers={"Vary": "Accept"})


class ScorerMetrics:
    """The metrics of one scorer: ``all``, with ``name`` as their first label."""

    def __init__(self, *, metrics: AgentMetrics, score_name: str) -> None:
        self.all = metrics
        self.name = score_name
        # From 0, so that `increase()` sees the first failure of a scorer.
        for status in ("success", "failure"):
            metrics.requests.labels(score_name, status)
        metrics.circuits_opened.labels(score_name)

    def names_source(self, source: str | None) -> None:
        """Shows which MetricSource the scorer names now, if any."""
        self.all.sources.remove_by_labels({SCORER: self.name})
        if source:
            self.all.sources.labels(self.name, source).set(1)

    def misses(self, clusters: tuple[str, ...]) -> None:
        """Shows which clusters the hub scorer has no score of."""
        # Removed and not set to 0: a fleet would keep a series of every cluster that ever failed.
        self.all.missing.remove_by_labels({SCORER: self.name})
        for cluster in clusters:
            self.all.missing.labels(self.name, cluster).set(1)

    def has_no_scores(self, reasons: Mapping[str, int]) -> None:
        """Shows on how many clusters there are no scores, by reason."""
        self.all.without_scores.remove_by_labels({SCORER: self.name})
        for reason, clusters in reasons.items():
            self.all.without_scores.labels(self.name, reason).set(clusters)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Measures the duration of a stage, whether it succeeds or fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.all.seconds[stage].labels(self.name).inc(seconds)
            self.all.stages.labels(self.name, stage).observe(seconds)

    def cycle_failed(self, stage: Stage, reason: Reason) -> None:
        """Counts a failed cycle and removes the scorer's samples from /metrics."""
        self.all.requests.labels(self.name, "failure").inc()
        self.failed(stage, reason)
        self.all.samples.pop(self.name, None)

    def circuit_is_open(self, is_open: bool) -> None:
        """Shows whether the source and the scoring API are only called for trials."""
        self.all.circuit_open.labels(self.name).set(int(is_open))

    def circuit_opened(self) -> None:
        """Counts that the circuit opened."""
        self.all.circuits_opened.labels(self.name).inc()

    def failed(self, stage: Stage, reason: Reason) -> None:
        """Counts a failure."""
        self.all.failures.labels(self.name, stage, reason.value).inc()
