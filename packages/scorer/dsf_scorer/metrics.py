"""The metrics of a scoring API, in a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Metrics of one scorer's requests. ``code`` is the HTTP status; durations are seconds."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, *, score_name: str) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        labels = {"score_name": score_name}
        self._requests = Counter(
            "dsf_scorer_requests",
            "Scoring requests by HTTP status",
            ["score_name", "code"],
            registry=self._registry,
        )
        self._score_name = score_name
        self._seconds = Histogram(
            "dsf_scorer_request_seconds",
            "Seconds from the request's head to its answer",
            ["score_name"],
            buckets=_BUCKETS,
            registry=self._registry,
        ).labels(**labels)
        self._series = Counter(
            "dsf_scorer_series", "Series received", ["score_name"], registry=self._registry
        ).labels(**labels)
        self._results = Counter(
            "dsf_scorer_results", "Scores returned", ["score_name"], registry=self._registry
        ).labels(**labels)
        self._dropped = Counter(
            "dsf_scorer_dropped_results",
            "Scores that were NaN or infinite",
            ["score_name"],
            registry=self._registry,
        ).labels(**labels)
        self._running = Gauge(
            "dsf_scorer_requests_in_progress",
            "Scoring requests being answered",
            ["score_name"],
            registry=self._registry,
        ).labels(**labels)

    def began(self) -> None:
        self._running.inc()

    def ended(self, *, code: int, seconds: float) -> None:
        self._running.dec()
        self._requests.labels(score_name=self._score_name, code=str(code)).inc()
        self._seconds.observe(seconds)

    def scored(self, *, series: int, results: int, dropped: int) -> None:
        self._series.inc(series)
        self._results.inc(results)
        self._dropped.inc(dropped)

    def text(self) -> bytes:
        """Formats the metrics as Prometheus text exposition."""
        return generate_latest(self._registry)
