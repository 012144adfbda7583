"""Checks scorers that run on the hub: whether the series of each cluster can be recognised."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.inventory import identity_of
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import names_text

MAX_NAMED: Final = 3
"""Clusters that a finding names."""
_LABEL: Final[FieldPath] = ("spec", "source", "clusterLabel")


@rule()
def hub_scorers_know_their_clusters(context: Context) -> Iterator[Diagnostic]:
    """A central store has the series of all clusters, so a label must tell them apart."""
    for scorer in context.scorers.values():
        declared = scorer.declared
        # Another rule reports a source that is not a central store.
        if not declared.value.spec.on_hub or scorer.source_type != "Prometheus":
            continue
        # The names of clusters in a store are the choice of its administrator, so there is no
        # default.
        if not declared.document.has(_LABEL):
            yield codes.NO_CLUSTER_LABEL.at(
                declared.document.at(_LABEL),
                "a scorer that runs on the hub must say which label of a series names its cluster",
                "write source.clusterLabel: {name: cluster}, with the label that your store has",
            )


@rule()
def settings_fit_where_it_runs(context: Context) -> Iterator[Diagnostic]:
    """The hub scorer asks a central store. An agent has the series of one cluster only."""
    for scorer in context.scorers.values():
        if not scorer.spec.on_hub:
            continue
        document = scorer.declared.document
        reference: FieldPath = ("spec", "source", "ref")
        source = context.source_of(scorer)
        if source is not None and not _serves_all_clusters(scorer, context):
            yield codes.WRONG_PLACE.at(
                document.key_at(reference),
                f"MetricSource {source.name} depends on the cluster, and the hub scorer asks one"
                " store for all clusters",
                "name a MetricSource with one variant and no clusterSelector, or write runsOn:"
                " Spokes",
            )
            continue
        # Its MetricSource has one variant, or it has none: there is one form of the scorer.
        form = context.variants[scorer.name][0]
        source_type = PUSHED if form.is_pushed else form.source_type
        if source_type != "Prometheus" and not context.waits_for_lock(scorer):
            has_reference = scorer.spec.source.ref is not None
            yield codes.WRONG_PLACE.at(
                document.key_at(reference) if has_reference else form.at("source.type"),
                f"source.type {source_type} gives no series of a central store, and this scorer"
                " runs on the hub",
                "write a query and the host of the central store, or runsOn: Spokes",
            )


@rule()
def clusters_have_identities(context: Context) -> Iterator[Diagnostic]:
    """Each target cluster needs a value of its own for the claim or label that series have."""
    for name, clusters in sorted(context.target_clusters.items()):
        scorer = context.scorers[name].declared
        label = scorer.value.spec.source.cluster_label
        if not scorer.value.spec.on_hub or label is None or scorer.value.spec.suspend:
            continue
        key = label.claim or label.label
        if key is None:
            continue  # series are compared with the names of clusters
        kind = "claim" if label.claim is not None else "label"
        owners: dict[str | None, list[str]] = {}
        for cluster in sorted(clusters):
            value = identity_of(context.inventory.clusters[cluster], f"{kind}:{key}")
            owners.setdefault(value, []).append(cluster)
        position = scorer.at(*_LABEL, kind)
        if without := owners.pop(None, []):
            them = "it" if len(without) == 1 else "them"
            yield codes.NO_IDENTITY.at(
                position,
                f"the {kind} {key} is missing on {_clusters(without)}: {scorer.name} cannot score"
                f" {them}",
                "run gitops-dsf import again, which takes this claim or label from the hub, or"
                f" exclude {them} with clusterSelector",
            )
        for value, names in sorted(owners.items()):
            if len(names) > 1:
                yield codes.SAME_IDENTITY.at(
                    position,
                    f"{_clusters(names)} have the same value {value} of the {kind} {key}",
                    "correct the inventory, or compare with a claim or label that differs between"
                    " clusters",
                )


def _serves_all_clusters(scorer: EffectiveScorer, context: Context) -> bool:
    """Whether the MetricSource of a scorer has one variant, for all clusters."""
    source = context.source_of(scorer)
    if source is None:
        return True
    selectors = [variant.value.cluster_selector for variant in source.variants]
    return selectors == [None]


def _clusters(names: list[str]) -> str:
    noun = "cluster" if len(names) == 1 else "clusters"
    return f"{noun} {names_text(names, max_names=MAX_NAMED)}"
