"""Mean of each series: the smallest useful scorer."""

from statistics import fmean

from dsf_scorer import Series, scorer


@scorer(
    name="cpu-mean",
    query='100 * (1 - avg(rate(node_cpu_seconds_total{mode="idle"}[5m])))',
    range_seconds=3600,
    step_seconds=60,
    interval_seconds=60,
)
def app(series: Series) -> float | None:
    """Mean CPU use of the last hour in percent; lower is better."""
    values = series.finite().values
    return fmean(values) if values else None
