"""What the metrics of all controllers share: the prefix of their names, and gauges that are set
as a whole.
"""

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge

PREFIX: Final = "gitops_dsf_reconciler"
Labels = TypeVar("Labels", bound=tuple[str, ...])


def gauge(registry: CollectorRegistry, name: str, words: str, *labels: str) -> Gauge:
    """A gauge of the reconciler."""
    return Gauge(f"{PREFIX}_{name}", words, labels, registry=registry)


def counter(registry: CollectorRegistry, name: str, words: str, *labels: str) -> Counter:
    """A counter of the reconciler."""
    return Counter(f"{PREFIX}_{name}", words, labels, registry=registry)


class GaugeSet(Generic[Labels]):
    """A gauge whose series are always those of the last call of `set`."""

    def __init__(self, registry: CollectorRegistry, name: str, words: str, *labels: str) -> None:
        self._gauge = gauge(registry, name, words, *labels)
        self._series: dict[Labels, float] = {}

    def set(self, values: Mapping[Labels, float]) -> None:
        """Shows these values by their labels, and removes every other series."""
        for labels in self._series.keys() - values.keys():
            self._gauge.remove(*labels)
        for labels, value in values.items():
            if self._series.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._series = dict(values)
