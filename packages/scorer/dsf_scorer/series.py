"""The time series that scoring functions take."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Labels and samples of one series, oldest first; timestamps are seconds since 1970.

    Both are doubles in one block, so ``numpy.asarray(values)`` shares the memory. ``finite()``
    removes NaN and infinities.
    """

    labels: Mapping[str, str]
    timestamps: "array[float]"
    values: "array[float]"

    @property
    def name(self) -> str:
        """The metric's name (label ``__name__``).

        It is empty for computed series, whose name Prometheus drops.
        """
        return self.labels.get("__name__", "")

    @property
    def last(self) -> float | None:
        """The newest value; None without samples."""
        if not self.values:
            return None
        return self.values[-1]

    def finite(self) -> Self:
        """The series without NaN and infinite samples. Returns itself if there are none."""
        if all(map(math.isfinite, self.values)):
            return self
        timestamps = array("d")
        values = array("d")
        for timestamp, value in zip(self.timestamps, self.values, strict=True):
            if math.isfinite(value):
                timestamps.append(timestamp)
                values.append(value)
        return type(self)(labels=self.labels, timestamps=timestamps, values=values)
