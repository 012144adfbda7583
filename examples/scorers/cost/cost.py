"""The price of a vCPU per hour in a cluster.

It comes from the cluster's instance types and a price table in the DynamicScorer.
"""

import msgspec

from dsf_scorer import RefusedError, Score, Series, batch_scorer

TYPE_LABEL = "label_node_kubernetes_io_instance_type"


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """``arguments`` of the DynamicScorer; prices are cents per vCPU and hour."""

    prices: dict[str, float]
    """By instance type."""
    default_price: float | None = None
    """For types that the table lacks; without it they are an error, so that none passes as free."""


@batch_scorer(
    name="vcpu-cost",
    query=(
        f'sum by ({TYPE_LABEL}) (kube_node_status_capacity{{resource="cpu"}} * on (node) group_left'
        f" ({TYPE_LABEL}) kube_node_labels)"
    ),
    range_seconds=600,
    step_seconds=60,
    interval_seconds=600,
)
def app(series: list[Series], arguments: Prices) -> list[Score]:
    """Average price of a vCPU hour in cents, weighted by vCPUs; lower is better."""
    total = cpus = 0.0
    for one in series:
        count = one.finite().last
        if count is None or count <= 0:
            continue
        instance_type = one.labels.get(TYPE_LABEL, "")
        price = arguments.prices.get(instance_type, arguments.default_price)
        if price is None:
            msg = (
                f"there is no price for instance type {instance_type!r} ({count:g}"
                " vCPUs); add it to"
                " arguments.prices or set defaultPrice"
            )
            raise RefusedError(msg)
        total += price * count
        cpus += count
    return [Score({}, total / cpus)] if cpus else []
