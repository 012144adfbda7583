"""The work of each cluster: its scorers as a configuration, its add-on, and the shard of its files.

Clusters that run the same scorers with the same variants of their sources share one
`Configuration`. In a fleet of thousands they are few, which makes rendering fast.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dsf_wire.clusters import FleetCluster
from gitops_dsf.plan.configurations import (
    Configuration,
    agent_configuration,
    hub_configuration,
)
from gitops_dsf.plan.summaries import cluster_label, summarise
from gitops_dsf.repository.model.agent import Agent, AgentServiceMonitor
from gitops_dsf.repository.model.foreign import ManagedCluster
from gitops_dsf.repository.model.remote_write import RemoteWrite
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.resolve.inventory import identity_of
from gitops_dsf.resolve.rollout import entries_of
from gitops_dsf.resolve.scorer import EffectiveScorer

SourceVariants = Mapping[str, Mapping[str, int]]
"""The index of the variant that a cluster uses, by MetricSource and cluster."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class AddOnParts:
    """The parts that the add-on of a cluster installs.

    Clusters that differ in them have different AddOnTemplates.
    """

    receiver: bool = False
    """Whether the receiver for OpenTelemetry metrics runs in the agent's pod."""
    service_monitor: bool = False
    remote_write: bool = False
    """Whether Prometheus in agent mode sends the raw scores to a central store."""
    rollout: tuple[int, ...] = ()
    """Indexes of the entries of spec.agent.rollout that count on the cluster, sorted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterWork:
    """The objects of one cluster: its ManifestWork and its ManagedClusterAddOn."""

    cluster: str
    shard: int
    configuration: Configuration
    addon: AddOnParts = AddOnParts()


@dataclass(frozen=True, kw_only=True, slots=True)
class HubScoring:
    """The scorers and the settings of the hub scorer."""

    configuration: Configuration
    clusters: tuple[FleetCluster, ...]
    """All clusters by name: the scores of one that no scorer selects any more are deleted, too."""


def shard_of(cluster: str, shards: int) -> int:
    """The works directory of a cluster: a hash of its name modulo output.shards.

    It depends on nothing else, so another cluster never moves this one to another directory.
    """
    # Not hash(): that of a text differs from process to process.
    return int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8]) % shards


def on_cluster(
    scorer: EffectiveScorer,
    cluster: str,
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]],
    source_variants: SourceVariants,
) -> EffectiveScorer:
    """A scorer with the variant that a cluster uses.

    The scorer itself without source.ref, and where no variant selects the cluster.
    """
    if scorer.spec.source.ref is None:
        return scorer
    index = source_variants[scorer.spec.source.ref].get(cluster)
    if index is None:
        return scorer
    return by_variant[scorer.name][index]


def cluster_works(
    *,
    settings: FleetRepositorySpec,
    scorers: Sequence[EffectiveScorer],
    clusters: Iterable[ManagedCluster],
    targets: Mapping[str, tuple[str, ...]],
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]],
    source_variants: SourceVariants,
) -> tuple[ClusterWork, ...]:
    """The objects of each of these clusters, which have an agent.

    `targets` are the scorers by cluster.
    """
    # The hub scorer runs the others, and two writers of one score would overwrite each other.
    on_spokes = {scorer.name: scorer for scorer in scorers if not scorer.spec.on_hub}
    # One summary for each scorer and variant. The renderer keeps the bytes of a summary by its
    # identity.
    summary_of = cache(summarise)

    # Most clusters have equal tuples of scorers, so these two compute little.
    @cache
    def run_by_agent(targeted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(filter(on_spokes.__contains__, targeted))

    @cache
    def sources_of(names: tuple[str, ...]) -> tuple[str, ...]:
        sources: set[str] = set()
        for name in names:
            ref = on_spokes[name].spec.source.ref
            if ref is not None:
                sources.add(ref)
        return tuple(sorted(sources))

    configurations: dict[tuple[tuple[str, ...], tuple[int | None, ...]], Configuration] = {}
    works: list[ClusterWork] = []
    for cluster in clusters:
        cluster_name = cluster.metadata.name
        names = run_by_agent(targets[cluster_name])
        variants = tuple(source_variants[source].get(cluster_name) for source in sources_of(names))
        configuration = configurations.get((names, variants))
        if configuration is None:
            running: list[EffectiveScorer] = []
            for name in names:
                scorer = on_spokes[name]
                running.append(on_cluster(scorer, cluster_name, by_variant, source_variants))
            summaries = list(map(summary_of, running))
            configuration = agent_configuration(running, summaries, settings.agent)
            configurations[names, variants] = configuration
        work = ClusterWork(
            cluster=cluster_name,
            shard=shard_of(cluster_name, settings.output.shards),
            configuration=configuration,
            addon=_addon_parts(settings.agent, cluster, configuration),
        )
        works.append(work)
    return tuple(works)


def hub_scoring(
    *,
    settings: FleetRepositorySpec,
    scorers: Sequence[EffectiveScorer],
    clusters: Iterable[ManagedCluster],
    targets: Mapping[str, tuple[str, ...]],
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]],
) -> HubScoring | None:
    """The scoring of the hub scorer; None if no scorer runs on the hub.

    `targets` are the scorers by cluster.
    """
    on_hub = {scorer.name: scorer for scorer in scorers if scorer.spec.on_hub}
    if not on_hub:
        return None
    # The source of a scorer on the hub is the same for all clusters, so it has one variant at most.
    running: list[EffectiveScorer] = []
    for name, scorer in on_hub.items():
        if not scorer.spec.suspend:
            running.append(by_variant[name][0])
    identities = _identities(running)
    fleet: list[FleetCluster] = []
    for cluster in clusters:
        targeted = targets[cluster.metadata.name]
        entry = FleetCluster(
            name=cluster.metadata.name,
            scorers=tuple(filter(on_hub.__contains__, targeted)),
            values=_values(cluster, identities),
        )
        fleet.append(entry)
    summaries = list(map(summarise, running))
    return HubScoring(
        configuration=hub_configuration(running, summaries, settings.hub_scorer.egress),
        clusters=tuple(fleet),
    )


def _identities(scorers: Iterable[EffectiveScorer]) -> list[str]:
    """The labels and claims by which the answers of these scorers' sources name clusters."""
    identities: set[str] = set()
    for scorer in scorers:
        label = scorer.spec.source.cluster_label
        if label is not None:
            identities.add(cluster_label(label).identity)
    identities.discard("")
    return sorted(identities)


def _values(cluster: ManagedCluster, identities: Iterable[str]) -> dict[str, str]:
    """The labels that identify a cluster in the answers of sources, without those that it lacks."""
    values: dict[str, str] = {}
    for identity in identities:
        value = identity_of(cluster, identity)
        if value is not None:
            values[identity] = value
    return values


def _addon_parts(agent: Agent, cluster: ManagedCluster, configuration: Configuration) -> AddOnParts:
    labels = cluster.metadata.labels
    return AddOnParts(
        receiver=configuration.receiver is not None,
        service_monitor=_selects(agent.service_monitor, labels),
        remote_write=_selects(agent.remote_write, labels),
        rollout=entries_of(agent, labels),
    )


def _selects(part: AgentServiceMonitor | RemoteWrite | None, labels: dict[str, str]) -> bool:
    """Whether a cluster with these labels gets a part of the add-on that names its clusters."""
    if part is None:
        return False
    return part.cluster_selector is None or part.cluster_selector.matches(labels)
