"""Time series as a test writes them down, and their spelling in the OpenMetrics text format."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, order=True)
class SeriesKey:
    """A metric name with its labels, sorted by name: what identifies a series."""

    name: str
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, name: str, labels: Mapping[str, str]) -> Self:
        return cls(name, tuple(sorted(labels.items())))

    def __str__(self) -> str:
        if not self.labels:
            return self.name
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in self.labels)
        return f"{self.name}{{{labels}}}"


@dataclass(frozen=True, kw_only=True)
class Series:
    """One series with its past: samples are (seconds since the epoch, value), oldest first."""

    key: SeriesKey
    samples: Sequence[tuple[float, float]]


def past(
    name: str, labels: Mapping[str, str], values: Sequence[float], *, end: float, step: float = 15.0
) -> Series:
    """`values` spaced by `step` seconds, the last one at `end` (seconds since the epoch)."""
    first = end - step * (len(values) - 1)
    samples = tuple((first + step * index, value) for index, value in enumerate(values))
    return Series(key=SeriesKey.of(name, labels), samples=samples)


def open_metrics(series: Iterable[Series]) -> str:
    """The text that `promtool tsdb create-blocks-from openmetrics` reads."""
    lines = [sample_line(one.key, value, at) for one in series for at, value in one.samples]
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


def sample_line(key: SeriesKey, value: float, at: float | None = None) -> str:
    return f"{key} {value!r}" if at is None else f"{key} {value!r} {at:.3f}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
