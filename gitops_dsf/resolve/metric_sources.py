"""Variants of MetricSources: each cluster uses the first one that selects it."""

from dataclasses import dataclass

from gitops_dsf.repository.load import FieldPath
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
    def path(self) -> FieldPath:
        """FieldPath of the variant in its document."""
        return ("spec", "variants", self.index)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class ResolvedSource:
    """A MetricSource with its variants."""

    declared: Item[MetricSource]
    variants: tuple[Variant, ...]
    lacking: frozenset[str]
    """Clusters that no variant selects."""

    @property
    def name(self) -> str:
        return self.declared.name


def resolve_source(source: Item[MetricSource], inventory: ClusterInventory) -> ResolvedSource:
    """Assigns each cluster to the first variant that selects it."""
    unassigned = inventory.all_clusters
    variants = []
    for index, variant in enumerate(source.value.spec.variants):
        # The first variant wins, so that a last one without a selector can serve all the others.
        users = unassigned & inventory.selected(variant.cluster_selector)
        variants.append(Variant(source=source, index=index, value=variant, clusters=users))
        unassigned -= users
    return ResolvedSource(declared=source, variants=tuple(variants), lacking=unassigned)
