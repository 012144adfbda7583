"""Keeps the raw scores that agents export, as a metric store would."""

import bisect
import math
from collections.abc import Mapping
from typing import Any, Final

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL

LOOKBACK_SECONDS: Final = 5.0
"""A sample counts for so long, as in a query of a Prometheus."""


class Recording:
    """Samples by score name and cluster. Times are Unix seconds, and never go back."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str], tuple[list[float], list[float]]] = {}

    def add(self, now: float, raw: Mapping[str, Mapping[str, float]]) -> None:
        """Adds raw scores by cluster, then by score name."""
        for cluster, scores in raw.items():
            for name, value in scores.items():
                times, values = self._samples.setdefault((name, cluster), ([], []))
                times.append(now)
                values.append(value)

    @property
    def span(self) -> tuple[int, int] | None:
        """The first whole second at which every series has a sample, and the last one; None if there is
        none.
        """
        if not self._samples:
            return None
        first = math.ceil(max(times[0] for times, _ in self._samples.values()))
        last = math.floor(min(times[-1] for times, _ in self._samples.values()))
        return (first, last) if first < last else None

    def answer(self) -> dict[str, Any]:
        """What /api/v1/query_range would answer, with a point every second."""
        rows = [
            {
                "metric": {"__name__": METRIC, SCORE_NAME_LABEL: name, CLUSTER_LABEL: cluster},
                "values": _points(times, values),
            }
            for (name, cluster), (times, values) in sorted(self._samples.items())
        ]
        return {"status": "success", "data": {"resultType": "matrix", "result": rows}}


def _points(times: list[float], values: list[float]) -> list[tuple[int, str]]:
    found = []
    for second in range(math.ceil(times[0]), math.floor(times[-1]) + 1):
        place = bisect.bisect_right(times, second) - 1
        if second - times[place] <= LOOKBACK_SECONDS:
            found.append((second, repr(values[place])))
    return found
