"""Which variant of a MetricSource each cluster uses. The first variant whose selector matches counts."""

from dataclasses import dataclass

from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.metric_source import MetricSource, MetricSourceVariant
from gitops_dsf.resolve.inventory import ClusterInventory


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Variant:
    """One variant, and where it is written."""

    source: Item[MetricSource]
    index: int
    value: MetricSourceVariant
    clusters: frozenset[str]
    """The clusters of the inventory that use it."""

    @property
    def path(self) -> Path:
        """Path of the variant in its document."""
        return ("spec", "variants", self.index)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class ResolvedSource:
    """A MetricSource with its variants."""

    item: Item[MetricSource]
    variants: tuple[Variant, ...]
    lacking: frozenset[str]
    """Clusters that no variant selects."""

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.item.name


def resolve_source(item: Item[MetricSource], inventory: ClusterInventory) -> ResolvedSource:
    """Assigns each cluster to the first variant that selects it."""
    left = inventory.all_clusters
    variants = []
    for index, variant in enumerate(item.value.spec.variants):
        users = left & inventory.selected(variant.cluster_selector)
        variants.append(Variant(source=item, index=index, value=variant, clusters=users))
        left -= users
    return ResolvedSource(item=item, variants=tuple(variants), lacking=left)
