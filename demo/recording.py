"""Keeps the raw scores that agents export, as a metric store would: a sample for each second."""

import math
from collections.abc import Mapping
from typing import Any

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL


class Recording:
    """Samples by score name and cluster, then by Unix second. Times never go back."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str], dict[int, float]] = {}

    def add(self, now: float, raw: Mapping[str, Mapping[str, float]]) -> None:
        """Adds raw scores by cluster, then by score name. Seconds without a look have the value before."""
        second = math.ceil(now)
        for cluster, scores in raw.items():
            for name, value in scores.items():
                samples = self._samples.setdefault((name, cluster), {})
                last = next(reversed(samples), second)
                samples |= dict.fromkeys(range(last + 1, second), samples.get(last, value))
                samples[second] = value

    @property
    def span(self) -> tuple[int, int]:
        """The first second at which every series has a sample, and the last one."""
        return (
            max(min(samples) for samples in self._samples.values()),
            min(max(samples) for samples in self._samples.values()),
        )

    def answer(self) -> dict[str, Any]:
        """What /api/v1/query_range would answer, with a point every second."""
        rows = [
            {
                "metric": {"__name__": METRIC, SCORE_NAME_LABEL: name, CLUSTER_LABEL: cluster},
                "values": [(second, repr(value)) for second, value in samples.items()],
            }
            for (name, cluster), samples in sorted(self._samples.items())
        ]
        return {"status": "success", "data": {"resultType": "matrix", "result": rows}}
