"""The distance of a cluster from the endpoints that its applications talk to.

The blackbox exporter measures it.
"""

from statistics import fmean

import msgspec

from dsf_scorer import Score, Series, batch_scorer


class Endpoints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``arguments`` of the DynamicScorer."""

    weights: dict[str, float] = {}
    """Importance by endpoint (label ``instance`` of the probe); others count 1. Weight 0 leaves one
    out.
    """
    timeout_seconds: float = 10.0
    """What a failed probe counts as."""


@batch_scorer(
    name="endpoint-latency",
    # meta distinguishes the two, because aggregation drops the metric's name.
    query=(
        'label_replace(avg by (instance) (probe_duration_seconds{job="blackbox"}),'
        ' "meta", "seconds", "",'
        ' ""); label_replace(avg by (instance) (probe_success{job="blackbox"}), "meta",'
        ' "success", "", "")'
    ),
    range_seconds=900,
    step_seconds=60,
    interval_seconds=120,
)
def app(series: list[Series], arguments: Endpoints) -> list[Score]:
    """Weighted mean time to reach the endpoints in milliseconds; lower is better.

    A failure counts as the timeout.
    """
    seconds = means(series, "seconds")
    success = means(series, "success")
    total = weights = 0.0
    for endpoint in seconds.keys() | success.keys():
        available = min(max(success.get(endpoint, 1.0), 0.0), 1.0)
        reached = min(seconds.get(endpoint, arguments.timeout_seconds), arguments.timeout_seconds)
        weight = max(arguments.weights.get(endpoint, 1.0), 0.0)
        total += weight * (available * reached + (1.0 - available) * arguments.timeout_seconds)
        weights += weight
    return [Score({}, 1000.0 * total / weights)] if weights else []


def means(series: list[Series], meta: str) -> dict[str, float]:
    """Mean of each endpoint's finite samples, for one of the two queries."""
    found = {
        one.labels.get("instance", ""): one.finite().values
        for one in series
        if one.labels.get("meta") == meta
    }
    return {endpoint: fmean(values) for endpoint, values in found.items() if values}
