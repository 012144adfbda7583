"""Which variant of a MetricSource each cluster uses. The first variant whose selector matches counts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.metric_source import MetricSource, MetricSourceVariant
from gitops_dsf.resolve.inventory import ClusterInventory

ADDRESS: Final = ("host", "path", "auth", "basicAuth", "clientCertificate", "headers")
"""Fields of a source that say where it is and how the agent proves who it is. They have no effect where the
source is in the agent's own pod, or is its API server.
"""


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Variant:
    """One variant, and where it is written."""

    source: Item[MetricSource]
    index: int

    @property
    def value(self) -> MetricSourceVariant:
        """The variant itself."""
        return self.source.value.spec.variants[self.index]

    @property
    def path(self) -> Path:
        """Path of the variant in its document."""
        return ("spec", "variants", self.index)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class ResolvedSource:
    """A MetricSource with its variants, and the clusters that use each of them."""

    item: Item[MetricSource]
    variants: tuple[Variant, ...]
    clusters: tuple[frozenset[str], ...]
    """For each variant, the clusters of the inventory that use it."""
    lacking: frozenset[str]
    """Clusters that no variant selects."""

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.item.name

    @property
    def is_one_for_all(self) -> bool:
        """Whether every cluster uses the same variant, whatever its labels are."""
        return len(self.variants) == 1 and self.variants[0].value.cluster_selector is None

    def used_on(self, clusters: Collection[str]) -> tuple[Variant, ...]:
        """The variants that these clusters use."""
        return tuple(
            variant
            for variant, users in zip(self.variants, self.clusters, strict=True)
            if not users.isdisjoint(clusters)
        )

    def by_cluster(self) -> Mapping[str, int]:
        """The index of the variant that each cluster uses."""
        return {cluster: index for index, users in enumerate(self.clusters) for cluster in users}


def resolve_source(item: Item[MetricSource], inventory: ClusterInventory) -> ResolvedSource:
    """Assigns each cluster to the first variant that selects it."""
    left = inventory.all_clusters
    clusters: list[frozenset[str]] = []
    for variant in item.value.spec.variants:
        users = left & inventory.selected(variant.cluster_selector)
        clusters.append(users)
        left -= users
    variants = tuple(Variant(source=item, index=index) for index in range(len(clusters)))
    return ResolvedSource(item=item, variants=variants, clusters=tuple(clusters), lacking=left)
