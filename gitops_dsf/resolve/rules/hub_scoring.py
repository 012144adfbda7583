"""Checks scorers that run on the hub: whether each cluster's series can be recognised."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scorer import ClusterLabel, DynamicScorer
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.inventory import identity_of
from gitops_dsf.wording import names_text

NAMED = 3
"""Clusters that a finding names at most."""
_LABEL: Path = ("spec", "source", "clusterLabel")


def hub_scorers_know_their_clusters(context: Context) -> Iterator[Diagnostic]:
    """A central store has the series of all clusters, so a label must tell them apart."""
    for scorer in context.scorers.values():
        item = scorer.declared
        if item.value.spec.on_hub and scorer.source_type == "Prometheus" and not item.document.has(_LABEL):
            message = "a scorer that runs on the hub must say which label of a series names its cluster"
            hint = "write source.clusterLabel: {name: cluster}, with the label that your store has"
            yield codes.NO_CLUSTER_LABEL.at(item.document.at(_LABEL), message, hint)


def settings_fit_where_it_runs(context: Context) -> Iterator[Diagnostic]:
    """The hub scorer asks a central store. An agent has the series of one cluster only."""
    for scorer in context.scorers.values():
        if not scorer.spec.on_hub:
            continue
        item, ref = scorer.declared, scorer.spec.source.ref
        source = context.source_of(scorer)
        if source is not None and [each.value.cluster_selector for each in source.variants] != [None]:
            message = (
                f"MetricSource {source.name} depends on the cluster, and the hub scorer asks one store for"
                " all clusters"
            )
            hint = "name a MetricSource with one variant and no clusterSelector, or write runsOn: Spokes"
            yield codes.WRONG_PLACE.at(item.document.key_at(("spec", "source", "ref")), message, hint)
            continue
        asked = context.variants[item.name][0]
        kind = PUSHED if asked.is_pushed else asked.source_type
        if kind != "Prometheus" and not context.waits_for_lock(scorer):
            place = ("spec", "source", "ref")
            position = asked.at("source.type") if ref is None else item.document.key_at(place)
            message = (
                f"source.type {kind} gives no series of a central store, and this scorer runs on the hub"
            )
            hint = "write a query and the host of the central store, or runsOn: Spokes"
            yield codes.WRONG_PLACE.at(position, message, hint)


def clusters_have_identities(context: Context) -> Iterator[Diagnostic]:
    """Each target cluster needs the claim or label that series are compared with, and its own value."""
    for name, clusters in sorted(context.target_clusters.items()):
        item = context.scorers[name].declared
        label = item.value.spec.source.cluster_label
        if not item.value.spec.on_hub or label is None or item.value.spec.suspend:
            continue
        if label.claim is None and label.label is None:
            continue
        yield from _identities(context, item, label, sorted(clusters))


def _identities(
    context: Context, item: Item[DynamicScorer], label: ClusterLabel, clusters: list[str]
) -> Iterator[Diagnostic]:
    kind, key = ("claim", label.claim) if label.claim is not None else ("label", label.label)
    field = f"{kind}:{key}"
    without: list[str] = []
    owners: dict[str, list[str]] = {}
    for cluster in clusters:
        value = identity_of(context.inventory.clusters[cluster], field)
        if value is None:
            without.append(cluster)
        else:
            owners.setdefault(value, []).append(cluster)
    position = item.at(*_LABEL, kind)
    if without:
        message = f"{_named(without)} without the {kind} {key}: {item.name} cannot score {_them(without)}"
        hint = "run gitops-dsf import again, which takes this claim or label from the hub, or exclude "
        yield codes.NO_IDENTITY.at(position, message, hint + _them(without) + " with clusterSelector")
    for value, names in sorted(owners.items()):
        if len(names) > 1:
            message = f"{_named(names)} have the same value {value} of the {kind} {key}"
            hint = "correct the inventory, or compare with a claim or label that differs between clusters"
            yield codes.SAME_IDENTITY.at(position, message, hint)


def _named(clusters: list[str]) -> str:
    return f"{'cluster' if len(clusters) == 1 else 'clusters'} {names_text(clusters, most=NAMED)}"


def _them(clusters: list[str]) -> str:
    return "it" if len(clusters) == 1 else "them"
