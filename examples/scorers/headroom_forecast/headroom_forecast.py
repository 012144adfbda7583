"""How much of the CPU will be free: a trend through the last hours, carried on to a horizon."""

from statistics import fmean
from typing import Literal

import msgspec

from dsf_scorer import Series, scorer

MIN_SAMPLES = 3
"""Samples below which there is no trend to speak of."""


class Forecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``arguments`` of the DynamicScorer."""

    horizon_seconds: float = 1800.0
    """How far ahead."""
    method: Literal["LeastSquares", "Holt"] = "LeastSquares"
    """LeastSquares is calm: all samples count alike. Holt follows: recent ones count more."""
    level_weight: float = 0.5
    """Holt's smoothing of the level, 0 to 1."""
    trend_weight: float = 0.2
    """Holt's smoothing of the trend, 0 to 1."""


@scorer(
    name="cpu-headroom-forecast",
    query='100 * (1 - avg(rate(node_cpu_seconds_total{mode="idle"}[5m])))',
    range_seconds=7200,
    step_seconds=60,
    interval_seconds=120,
)
def app(series: Series, arguments: Forecast) -> float | None:
    """CPU that will be free at the horizon, in percent; higher is better."""
    samples = series.finite()
    if len(samples.values) < MIN_SAMPLES or samples.timestamps[0] == samples.timestamps[-1]:
        return None
    used = (
        least_squares(samples, arguments)
        if arguments.method == "LeastSquares"
        else holt(samples, arguments)
    )
    return min(max(100.0 - used, 0.0), 100.0)


def least_squares(series: Series, forecast: Forecast) -> float:
    """The straight line through all samples, at the horizon."""
    end = series.timestamps[-1]
    ages = [when - end for when in series.timestamps]
    mean_age, mean_value = fmean(ages), fmean(series.values)
    spread = sum((age - mean_age) ** 2 for age in ages)
    slope = (
        sum(
            (age - mean_age) * (value - mean_value)
            for age, value in zip(ages, series.values, strict=True)
        )
        / spread
    )
    return mean_value + slope * (forecast.horizon_seconds - mean_age)


def holt(series: Series, forecast: Forecast) -> float:
    """Holt's double exponential smoothing.

    Its trend is per second, so that gaps between samples do no harm.
    """
    first, second = series.timestamps[0], series.timestamps[1]
    level = series.values[0]
    trend = (series.values[1] - level) / (second - first) if second > first else 0.0
    before = first
    for when, value in zip(series.timestamps[1:], series.values[1:], strict=True):
        gap = when - before
        if gap <= 0:
            continue
        expected = level + trend * gap
        smoothed = forecast.level_weight * value + (1 - forecast.level_weight) * expected
        trend = (
            forecast.trend_weight * (smoothed - level) / gap + (1 - forecast.trend_weight) * trend
        )
        level, before = smoothed, when
    return level + trend * forecast.horizon_seconds
