"""What a receiver for OpenTelemetry metrics holds, as far as doctor needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Final

LEAST_SAMPLES: Final = 8
_RATIO: Final = 4
"""How many times as far apart neighbours must be as samples with one between them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Receiver:
    """The receiver of one cluster."""

    cluster: str
    url: str
    series: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """Metric names, and values of the last minutes in order of time: of each metric that scorers read, the
    series with the most samples.
    """
    failure: str = ""
    """Why it could not be read."""


def alternates(values: Sequence[float]) -> bool:
    """Whether a series jumps between two courses at every sample. So it looks if two collectors each push a
    part of it: the samples of either are close to each other, and far from those of the other.
    """
    if len(values) < LEAST_SAMPLES or not all(map(isfinite, values)):
        return False
    neighbours = sum(abs(after - before) for before, after in pairwise(values))
    others = sum(abs(after - before) for before, after in zip(values, values[2:], strict=False))
    return neighbours > 0 and others * _RATIO <= neighbours
