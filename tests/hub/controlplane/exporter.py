"""A metrics endpoint on 127.0.0.1 whose values a test sets while a Prometheus scrapes it: load that changes
at will.
"""

import threading
from collections.abc import Mapping

from tests.hub.controlplane.series import SeriesKey, sample_line
from tests.support.threadserver import Handler, ThreadServer


class LoadExporter(ThreadServer):
    """Serves gauges in the Prometheus text format; a context manager. Values appear with the next scrape."""

    def __init__(self) -> None:
        super().__init__(_handler(self))
        self._values: dict[SeriesKey, float] = {}
        self._lock = threading.Lock()

    @property
    def target(self) -> str:
        """host:port for a scrape configuration."""
        return self.authority

    def set(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Set one series; it keeps the value until it is set again or removed."""
        with self._lock:
            self._values[SeriesKey.of(name, labels)] = value

    def remove(self, name: str, labels: Mapping[str, str]) -> None:
        """Drop one series; Prometheus marks it stale at the next scrape."""
        with self._lock:
            self._values.pop(SeriesKey.of(name, labels), None)

    def exposition(self) -> str:
        with self._lock:
            lines = [sample_line(key, value) for key, value in sorted(self._values.items())]
        return "".join(f"{line}\n" for line in lines)


def _handler(exporter: LoadExporter) -> type[Handler]:
    class ExporterHandler(Handler):
        def serve(self) -> None:
            self.send(200, exporter.exposition().encode(), media="text/plain; version=0.0.4; charset=utf-8")

    return ExporterHandler
