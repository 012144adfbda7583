"""What the metrics of all controllers share: the prefix of their names, and gauges that are set
as a whole.
"""

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from prometheus_client import Gauge

PREFIX: Final = "gitops_dsf_reconciler"
Labels = TypeVar("Labels", bound=tuple[str, ...])


class GaugeSet(Generic[Labels]):
    """A gauge whose series are always those of the last call of `set`."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._series: dict[Labels, float] = {}

    def set(self, values: Mapping[Labels, float]) -> None:
        """Shows these values by their labels, and removes every other series."""
        for labels in self._series.keys() - values.keys():
            self._gauge.remove(*labels)
        for labels, value in values.items():
            if self._series.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._series = dict(values)
