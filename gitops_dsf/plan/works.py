"""Groups clusters by their scorers and variants of sources, and assigns each to a shard.

Clusters that run the same scorers with the same variants share one `Configuration`, which is then
rendered once for all of them.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dsf_wire.clusters import FleetCluster
from dsf_wire.summary import Summary
from gitops_dsf.plan.summaries import cluster_label, summarise
from gitops_dsf.repository.model.foreign import ManagedCluster
from gitops_dsf.repository.model.repository import Agent, Egress, FleetRepositorySpec, OpenTelemetry
from gitops_dsf.resolve.credentials import credentials
from gitops_dsf.resolve.inventory import identity_of
from gitops_dsf.resolve.rollout import entries_of
from gitops_dsf.resolve.scorer import EffectiveScorer

SourceVariants = Mapping[str, Mapping[str, int]]
"""By MetricSource and cluster, the index of the variant that the cluster uses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Receiver:
    """The receiver for OpenTelemetry metrics of a group of clusters."""

    settings: OpenTelemetry
    history_seconds: int
    """How far back the scorers of these clusters look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """What agents or the hub scorer run. Clusters with the same scorers and variants share one."""

    summaries: tuple[Summary, ...]
    """Sorted by name."""
    secrets: tuple[str, ...]
    """Secrets that the process must be able to read, sorted."""
    config_maps: tuple[str, ...]
    """ConfigMaps with private CAs, sorted."""
    egress: Egress | None = None
    """How the connections of the process are limited; None: not at all."""
    proxies: tuple[str, ...] = ()
    """URLs of the proxies that the process may use."""
    receiver: Receiver | None = None
    """The receiver beside the agent; None if no scorer asks it."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class AddOnParts:
    """What the add-on of a cluster installs.

    Clusters that differ in it have different AddOnTemplates.
    """

    receiver: bool = False
    """Whether the receiver for OpenTelemetry metrics runs in the agent's pod."""
    service_monitor: bool = False
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
    """What the hub scorer runs."""

    configuration: Configuration
    clusters: tuple[FleetCluster, ...]
    """All clusters by name: the scores of one that no scorer selects any more are deleted, too."""


def shard_of(cluster: str, shards: int) -> int:
    """The works directory of a cluster: a hash of its name modulo output.shards.

    It depends on nothing else, so another cluster never moves this one to another directory.
    """
    return int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8]) % shards


def on_cluster(
    scorer: EffectiveScorer,
    cluster: str,
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]],
    source_variants: SourceVariants,
) -> EffectiveScorer:
    """A scorer with the variant that a cluster uses.

    The scorer itself without source.ref, and where no variant selects the cluster.

    The scorer itself without source.ref, and where no variant selects the cluster.
    """
    if scorer.spec.source.ref is None:
        return scorer
    index = source_variants[scorer.spec.source.ref].get(cluster)
    return scorer if index is None else by_variant[scorer.name][index]


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
    on_spokes = {scorer.name: scorer for scorer in scorers if not scorer.spec.on_hub}
    summary = cache(summarise)  # Of each scorer and variant. The renderer reuses the bytes of each.
    agent = settings.agent

    @cache
    def run_by_agent(targeted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in targeted if name in on_spokes)

    @cache
    def sources_of(names: tuple[str, ...]) -> tuple[str, ...]:
        sources = {on_spokes[name].spec.source.ref for name in names}
        return tuple(sorted(source for source in sources if source is not None))

    configurations: dict[tuple[tuple[str, ...], tuple[int | None, ...]], Configuration] = {}
    works = []
    for cluster in clusters:
        name = cluster.metadata.name
        names = run_by_agent(targets[name])
        variants = tuple(source_variants[source].get(name) for source in sources_of(names))
        configuration = configurations.get((names, variants))
        if configuration is None:
            running = [
                on_cluster(on_spokes[scorer], name, by_variant, source_variants) for scorer in names
            ]
            configuration = _configuration(
                running,
                tuple(map(summary, running)),
                agent.egress,
                receiver=_receiver(running, agent),
                proxies=_proxies(agent),
            )
            configurations[names, variants] = configuration
        works.append(
            ClusterWork(
                cluster=name,
                shard=shard_of(name, settings.output.shards),
                configuration=configuration,
                addon=_addon_parts(agent, cluster, configuration),
            )
        )
    return tuple(works)


def hub_scoring(
    *,
    settings: FleetRepositorySpec,
    scorers: Sequence[EffectiveScorer],
    clusters: Iterable[ManagedCluster],
    targets: Mapping[str, tuple[str, ...]],
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]],
) -> HubScoring | None:
    """What the hub scorer runs; None if no scorer runs on the hub.

    `targets` are the scorers by cluster.
    """
    on_hub = {scorer.name: scorer for scorer in scorers if scorer.spec.on_hub}
    if not on_hub:
        return None
    # The source of a scorer on the hub must be the same for all clusters, so it has one variant at
    # most.
    running = [by_variant[name][0] for name, scorer in on_hub.items() if not scorer.spec.suspend]
    labels = (scorer.spec.source.cluster_label for scorer in running)
    identities = {cluster_label(label).identity for label in labels if label is not None} - {""}
    return HubScoring(
        configuration=_configuration(
            running, tuple(map(summarise, running)), settings.hub_scorer.egress
        ),
        clusters=tuple(
            FleetCluster(
                name=cluster.metadata.name,
                scorers=tuple(name for name in targets[cluster.metadata.name] if name in on_hub),
                values=_values(cluster, sorted(identities)),
            )
            for cluster in clusters
        ),
    )


def _values(cluster: ManagedCluster, identities: Iterable[str]) -> dict[str, str]:
    """What identifies a cluster in the answers of sources, without what it does not have."""
    values = {}
    for identity in identities:
        value = identity_of(cluster, identity)
        if value is not None:
            values[identity] = value
    return values


def _proxies(agent: Agent) -> tuple[str, ...]:
    named = () if agent.proxy is None else (agent.proxy.http_proxy, agent.proxy.https_proxy)
    return tuple(dict.fromkeys(filter(None, named)))


def _receiver(scorers: list[EffectiveScorer], agent: Agent) -> Receiver | None:
    histories = [scorer.history_seconds for scorer in scorers if scorer.is_pushed]
    if not histories or agent.open_telemetry is None:
        return None
    return Receiver(settings=agent.open_telemetry, history_seconds=max(histories))


def _addon_parts(agent: Agent, cluster: ManagedCluster, configuration: Configuration) -> AddOnParts:
    monitor, labels = agent.service_monitor, cluster.metadata.labels
    selector = None if monitor is None else monitor.cluster_selector
    return AddOnParts(
        receiver=configuration.receiver is not None,
        service_monitor=monitor is not None and (selector is None or selector.matches(labels)),
        rollout=entries_of(agent, labels),
    )


def _configuration(
    chosen: Sequence[EffectiveScorer],
    summaries: tuple[Summary, ...],
    egress: Egress,
    *,
    receiver: Receiver | None = None,
    proxies: tuple[str, ...] = (),
) -> Configuration:
    secrets, config_maps = {""}, set[str]()
    for scorer in chosen:
        source, scoring = scorer.spec.source.auth, scorer.spec.scoring.auth
        secrets |= {
            item.secret for item in (*credentials(source, scorer.variant), *credentials(scoring))
        }
        for auth in filter(None, (source, scoring)):
            refs = (each.ca_config_map_ref for each in (auth, auth.oauth2) if each is not None)
            config_maps |= {ref.name for ref in refs if ref is not None}
    return Configuration(
        summaries=summaries,
        secrets=tuple(sorted(secrets - {""})),
        config_maps=tuple(sorted(config_maps)),
        egress=egress if egress.mode == "Limited" else None,
        proxies=proxies,
        receiver=receiver,
    )
