"""The query of a scorer for a metric store that has the metrics of many clusters.

Guaranteed: a series of the answer that names a cluster is computed from series of that cluster
alone. So the scores of one cluster never come from the data of another.

Not guaranteed: that the store has these metrics, or each of them once. Stores that merge replicas,
such as Thanos and Mimir, do.
"""

from dataclasses import dataclass

from dsf_wire.query import split
from dsf_wire.rawscores import CLUSTER_LABEL
from dsf_wire.summary import SCORED_BY_API
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import cluster_label as label_on_the_wire
from gitops_dsf.resolve.promql.mixing import keeps_apart
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreQuery:
    """The query to a store in place of the sources of a scorer."""

    text: str
    label: str
    """The label of the series that names the cluster."""
    clusters: tuple[tuple[str, str], ...]
    """Values of the label, and the clusters that they mean."""
    parameters: tuple[tuple[str, str], ...] = ()
    """URL parameters of the source."""
    fails_on_partial: bool = False
    """Whether the scorer refuses an answer with missing data."""


def store_query(
    scorer: EffectiveScorer, fleet: CheckedFleet, *, cluster_label: str
) -> StoreQuery | None:
    """The question that gives the scorer's raw scores; None if a store cannot give them.

    `cluster_label` names the cluster in series that agents read without it: each agent asks the
    source beside it, and the label is that of the store. A scorer on the hub says its own label.
    """
    # A scoring API cannot be asked for the past, nor by everybody.
    if scorer.scoring_type == SCORED_BY_API:
        return None
    if len(split(scorer.spec.source.params.query)) != 1:
        return None
    if scorer.spec.on_hub:
        return _of_hub_scorer(scorer, fleet)
    return _of_agents(scorer, fleet, cluster_label=cluster_label)


def _of_hub_scorer(scorer: EffectiveScorer, fleet: CheckedFleet) -> StoreQuery | None:
    label = scorer.spec.source.cluster_label
    hub = fleet.hub_scoring
    if label is None or hub is None:
        return None
    identity = label_on_the_wire(label).identity
    clusters: list[tuple[str, str]] = []
    for cluster in hub.clusters:
        if not identity:
            clusters.append((cluster.name, cluster.name))
        elif identity in cluster.values:
            clusters.append((cluster.values[identity], cluster.name))
    # A MetricSource has one variant for the hub scorer.
    variant = fleet.by_variant[scorer.name][0]
    return StoreQuery(
        text=scorer.spec.source.params.query,
        label=label.name,
        clusters=tuple(clusters),
        parameters=tuple(variant.source_parameters.items()),
        fails_on_partial=variant.on_partial == "Fail",
    )


def _of_agents(
    scorer: EffectiveScorer, fleet: CheckedFleet, *, cluster_label: str
) -> StoreQuery | None:
    # Only the raw scores that agents export have this label, and a large answer would be in vain.
    if cluster_label == CLUSTER_LABEL:
        return None
    variants = fleet.by_variant[scorer.name]
    for variant in variants:
        # Parameters can limit what a source answers, such as the namespace of OpenShift's, and say
        # nothing to another server.
        if variant.source_type != "Prometheus" or variant.source_parameters:
            return None
    # It is empty for another language than PromQL, which cannot be judged here.
    for part, parsed in scorer.parsed_query():
        if parsed.tree is None or not keeps_apart(part.text, parsed.tree, cluster_label):
            return None
        # There is one part: several were refused above.
        return StoreQuery(
            text=scorer.spec.source.params.query,
            label=cluster_label,
            clusters=tuple((name, name) for name in sorted(fleet.runs_on[scorer.name])),
            # One question serves all clusters, so the strictest of them counts.
            fails_on_partial=any(variant.on_partial == "Fail" for variant in variants),
        )
    return None
