"""The values of a plan."""

from dataclasses import dataclass

from dsf_wire.clusters import FleetCluster
from dsf_wire.summary import Summary
from gitops_dsf.repository.model.repository import Egress, OpenTelemetry
from gitops_dsf.resolve.types import Resolved


@dataclass(frozen=True, kw_only=True, slots=True)
class Receiver:
    """The receiver for OpenTelemetry metrics of a group of clusters."""

    settings: OpenTelemetry
    history_seconds: int
    """How far back the scorers of these clusters look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """What the agents of a group of clusters run, or the hub scorer. Clusters with the same scorers and the
    same variants of their MetricSources share one, so that it is rendered once.
    """

    summaries: tuple[Summary, ...]
    """Sorted by name."""
    secrets: tuple[str, ...]
    """Secrets that the process must be able to read, sorted."""
    config_maps: tuple[str, ...]
    """ConfigMaps with private CAs, sorted."""
    egress: Egress | None = None
    """How the connections of the process are limited; None: not at all."""
    receiver: Receiver | None = None
    """The receiver beside the agent; None if no scorer asks it."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class AddOnParts:
    """What the add-on of a cluster installs: the settings of the agent, and what besides it. Clusters that
    differ in it have different AddOnTemplates.
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
    """All clusters of the fleet, sorted by name, also those that it does not score: it deletes the scores of
    a cluster that no scorer selects any more.
    """


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
