"""Plans which cluster gets which configuration, in which shard, and converts scorers to the wire format of a
spoke's ConfigMap, as no other module does. Pure; knows no YAML.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import msgspec

from dsf_wire import summary
from dsf_wire.clusters import FleetCluster
from dsf_wire.constants import DEFAULT_CLUSTERS_PER_REQUEST, RUNS_ON_HUB, default_ttl_seconds
from dsf_wire.summary import (
    FAIL,
    NEEDS_NEWER_AGENT,
    SCORED_BY_API,
    BasicAuth,
    ClientCertificate,
    EndpointAuth,
    Header,
    PublishRule,
    ScoreRange,
    Summary,
)
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.foreign import ManagedCluster
from gitops_dsf.repository.model.repository import Agent, Egress, OpenTelemetry
from gitops_dsf.repository.model.scorer import Auth, ClusterLabel, Publish
from gitops_dsf.resolve import Resolved
from gitops_dsf.resolve.credentials import credentials
from gitops_dsf.resolve.inventory import identity_of
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.targets import entries_of

_DEFAULT_PUBLISH = Publish()
WireT = TypeVar("WireT")


def summarise(scorer: EffectiveScorer) -> Summary:
    """A scorer's summary: upstream's sixteen fields, and ours if they differ from the agent's defaults."""
    spec, variant = scorer.spec, scorer.variant
    source, scoring, interval = spec.source, spec.scoring, spec.scoring.params.interval
    per_request = _unless(scoring.clusters_per_request, DEFAULT_CLUSTERS_PER_REQUEST)
    label = source.cluster_label if scorer.spec.on_hub else None
    asks = scorer.source_type == "Prometheus"
    basic = variant.basic_auth if variant is not None else None
    written = [header.model_dump() for header in variant.headers] if variant is not None else None
    return Summary(
        name=scorer.name,
        score_name=scorer.score_name,
        source_type=scorer.source_type,
        source_endpoint=scorer.source_endpoint,
        source_endpoint_auth_name=_secret(source.auth)[0],
        source_endpoint_auth_key=_secret(source.auth)[1],
        source_query=scorer.spec.source.params.query,
        source_range=scorer.spec.source.params.range,
        source_step=scorer.spec.source.params.step,
        scoring_endpoint=scorer.scoring_endpoint,
        scoring_interval=interval,
        scoring_endpoint_auth_name=_secret(scoring.auth, certificate=True)[0],
        scoring_endpoint_auth_key=_secret(scoring.auth, certificate=True)[1],
        location=spec.location,
        score_destination=spec.score_destination,
        score_dimension_format=scorer.dimension_format,
        scoring_arguments=dict(scoring.arguments) if scoring.arguments is not None else None,
        score_range=_wire(spec.score_range, ScoreRange),
        score_aggregation=_unless(spec.score_aggregation, "Last"),
        score_ttl_seconds=_unless(scorer.ttl_seconds, default_ttl_seconds(interval)),
        publish=_wire(_unless(spec.publish, _DEFAULT_PUBLISH), PublishRule),
        source_headers=msgspec.convert(written, tuple[Header, ...]) if written else None,
        source_basic_auth=_wire(basic.secret_ref, BasicAuth) if basic is not None else None,
        source_client_certificate=_certificate(source.auth),
        source_parameters=(scorer.source_parameters or None) if asks else None,
        source_on_partial=FAIL if asks and scorer.on_partial == FAIL else None,
        source_ref=source.ref,
        source_auth=_extra(source.auth),
        scoring_auth=_extra(scoring.auth),
        scoring_client_certificate=_certificate(scoring.auth),
        scoring_type=_unless(scorer.scoring_type, SCORED_BY_API),
        default_score=spec.default_score,
        runs_on=RUNS_ON_HUB if scorer.spec.on_hub else None,
        cluster_label=cluster_label(label) if label is not None else None,
        clusters_per_request=per_request if spec.on_hub else None,
    )


def cluster_label(authored: ClusterLabel) -> summary.ClusterLabel:
    return msgspec.convert(authored.model_dump(exclude_none=True), summary.ClusterLabel)


def _unless(value: WireT, default: WireT) -> WireT | None:
    return None if value == default else value


def _wire(authored: Authored | None, kind: type[WireT]) -> WireT | None:
    return None if authored is None else msgspec.convert(authored.model_dump(), kind)


def _secret(auth: Auth | None, *, certificate: bool = False) -> tuple[str, str]:
    """Name and key of the token Secret. ``certificate``: whether older agents know no certificate here."""
    if auth is None:
        return "", ""
    if auth.token_secret_ref is not None:
        return auth.token_secret_ref.name, auth.token_secret_ref.key
    if auth.oauth2 is not None:
        return auth.oauth2.client_secret_ref.name, NEEDS_NEWER_AGENT
    if (
        certificate
        and auth.client_certificate_secret_ref is not None
        and not auth.service_account_token
    ):
        return auth.client_certificate_secret_ref.name, NEEDS_NEWER_AGENT
    return "", ""


def _certificate(auth: Auth | None) -> ClientCertificate | None:
    return None if auth is None else _wire(auth.client_certificate_secret_ref, ClientCertificate)


def _extra(auth: Auth | None) -> EndpointAuth | None:
    found = _wire(auth, EndpointAuth)
    return None if found is None else _unless(found, EndpointAuth())


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
    """What the add-on of a cluster installs. Clusters that differ in it have different AddOnTemplates."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Everything that should exist on the hub, sorted by name."""

    resolved: Resolved
    works: tuple[ClusterWork, ...] = ()
    """Empty with delivery.mode UpstreamController."""
    hub_scoring: HubScoring | None = None
    """None if no scorer runs on the hub."""

    @property
    def placement_namespaces(self) -> tuple[str, ...]:
        """Namespaces of ScoredPlacements outside of the Argo CD namespace, sorted."""
        found = {placement.namespace for placement in self.resolved.placements}
        return tuple(sorted(found - {self.resolved.repository.spec.argocd.namespace}))


def build(resolved: Resolved) -> Plan:
    """Groups clusters by their scorers and variants of sources, and assigns each to a shard, by name."""
    if not resolved.repository.spec.delivers_works:
        return Plan(resolved=resolved)
    return Plan(resolved=resolved, works=_works(resolved), hub_scoring=_hub_scoring(resolved))


def shard_of(cluster: str, shards: int) -> int:
    """The works directory of a cluster: a hash of its name modulo output.shards, the same everywhere."""
    return int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8]) % shards


def _works(resolved: Resolved) -> tuple[ClusterWork, ...]:
    scorers = {scorer.name: scorer for scorer in resolved.scorers if not scorer.spec.on_hub}
    summary = cache(summarise)  # of each scorer and variant; the renderer reuses its bytes
    parts: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}
    """Of the scorers of a cluster, those on its agent and their MetricSources."""
    configurations: dict[tuple[tuple[str, ...], tuple[int | None, ...]], Configuration] = {}
    agent, shards = resolved.repository.spec.agent, resolved.repository.spec.output.shards
    works = []
    for cluster in resolved.clusters:
        name = cluster.metadata.name
        if name not in resolved.agents:
            continue
        targets = resolved.targets[name]
        if targets not in parts:
            names = tuple(scorer for scorer in targets if scorer in scorers)
            named = (scorers[scorer].metric_source for scorer in names)
            parts[targets] = (
                names,
                tuple(sorted({each.metadata.name for each in named if each is not None})),
            )
        names, sources = parts[targets]
        key = names, tuple(resolved.source_variants[source].get(name) for source in sources)
        configuration = configurations.get(key)
        if configuration is None:
            chosen = [resolved.on_cluster(scorers[scorer], name) for scorer in names]
            summaries, receiver = tuple(map(summary, chosen)), _receiver(chosen, agent)
            configuration = _configuration(
                chosen, summaries, agent.egress, receiver=receiver, proxies=_proxies(agent)
            )
            configurations[key] = configuration
        shard, addon = shard_of(name, shards), _addon_parts(agent, cluster, configuration)
        works.append(
            ClusterWork(cluster=name, shard=shard, configuration=configuration, addon=addon)
        )
    return tuple(works)


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


def _hub_scoring(resolved: Resolved) -> HubScoring | None:
    scorers = {scorer.name: scorer for scorer in resolved.scorers if scorer.spec.on_hub}
    if not scorers:
        return None
    # A source that is the same for all clusters, which a scorer on the hub has, is one variant.
    active = (scorer for scorer in scorers.values() if not scorer.spec.suspend)
    running = [scorer.variants[0] if scorer.variants else scorer for scorer in active]
    labels = (scorer.spec.source.cluster_label for scorer in running)
    identities = sorted(
        {cluster_label(label).identity for label in labels if label is not None} - {""}
    )
    clusters = []
    for cluster in resolved.clusters:
        targets = resolved.targets[cluster.metadata.name]
        values = ((identity, identity_of(cluster, identity)) for identity in identities)
        names = tuple(name for name in targets if name in scorers)
        known = {identity: value for identity, value in values if value is not None}
        clusters.append(FleetCluster(name=cluster.metadata.name, scorers=names, values=known))
    summaries, egress = tuple(map(summarise, running)), resolved.repository.spec.hub_scorer.egress
    return HubScoring(
        configuration=_configuration(running, summaries, egress), clusters=tuple(clusters)
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
