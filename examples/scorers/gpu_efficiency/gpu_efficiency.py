"""Tokens per joule: what GPU nodes deliver for the power they draw."""

from statistics import fmean

import msgspec

from dsf_scorer import Score, Series, batch_scorer


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``arguments`` of the DynamicScorer."""

    min_watts: float = 20.0
    """Nodes that draw less are asleep or their sensor is broken: no score."""


@batch_scorer(
    name="gpu-efficiency",
    # meta distinguishes the two, because aggregation drops the metric's name.
    query=(
        'label_replace(sum by (node) (rate(vllm:generation_tokens_total[5m])), "meta",'
        ' "throughput", "", "");'
        ' label_replace(sum by (node) (label_replace(DCGM_FI_DEV_POWER_USAGE, "node",'
        ' "$1", "Hostname",'
        ' "(.*)")), "meta", "power", "", "")'
    ),
    range_seconds=1800,
    step_seconds=60,
    interval_seconds=120,
)
def app(series: list[Series], arguments: Limits) -> list[Score]:
    """Generated tokens per joule of each GPU node; higher is better."""
    throughput = means(series, "throughput")
    power = means(series, "power")
    return [
        Score({"node": node}, throughput[node] / power[node])
        for node in sorted(throughput.keys() & power.keys())
        if power[node] >= arguments.min_watts
    ]


def means(series: list[Series], meta: str) -> dict[str, float]:
    """Mean of each node's finite samples, for one of the two queries."""
    found = {
        one.labels.get("node", ""): one.finite().values
        for one in series
        if one.labels.get("meta") == meta
    }
    return {node: fmean(values) for node, values in found.items() if values}
