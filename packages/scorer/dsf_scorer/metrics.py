"""The metrics of a scoring API, in a registry of its own."""

from typing import Any, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from dsf_scorer.function import Scored

_Metric = TypeVar("_Metric", Counter, Gauge, Histogram)
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Metrics of one scorer's requests. ``code`` is the HTTP status; durations are seconds."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, *, score_name: str) -> None:
        # Not the registry of the process: an application may mount several scorers, and has metrics
        # of its own.
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._name = score_name

        def of_the_scorer(
            kind: type[_Metric],
            name: str,
            text: str,
            **more: Any,  # noqa: ANN401
        ) -> _Metric:
            metric = kind(
                f"dsf_scorer_{name}", text, ["score_name"], registry=self._registry, **more
            )
            # From 0 on, so that `increase()` of Prometheus sees the first event.
            return metric.labels(score_name=score_name)

        self._requests = Counter(
            "dsf_scorer_requests",
            "Scoring requests by HTTP status",
            ["score_name", "code"],
            registry=self._registry,
        )
        text = "Seconds from the request's head to its answer"
        self._seconds = of_the_scorer(Histogram, "request_seconds", text, buckets=_BUCKETS)
        self._series = of_the_scorer(Counter, "series", "Series received")
        self._results = of_the_scorer(Counter, "results", "Scores returned")
        self._dropped = of_the_scorer(
            Counter, "dropped_results", "Scores that were NaN or infinite"
        )
        self._running = of_the_scorer(
            Gauge, "requests_in_progress", "Scoring requests being answered"
        )

    def began(self) -> None:
        self._running.inc()

    def ended(self, *, code: int, seconds: float) -> None:
        self._running.dec()
        self._requests.labels(score_name=self._name, code=str(code)).inc()
        self._seconds.observe(seconds)

    def scored(self, scored: Scored) -> None:
        self._series.inc(scored.series)
        self._results.inc(scored.results)
        self._dropped.inc(scored.dropped)

    def text(self) -> bytes:
        """Formats the metrics as Prometheus text exposition."""
        return generate_latest(self._registry)
