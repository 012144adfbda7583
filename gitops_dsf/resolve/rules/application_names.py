"""Reports Application names that two ApplicationSets generate, because both cannot own one Application.

A ScoredApplication generates APPLICATION-CLUSTER. So `web` on the cluster `eu-1` and `web-eu` on the cluster
`1` both generate `web-eu-1`. Argo CD gives the Application to the set that created it first; the other set
fails in each reconciliation.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.delivery import RawApplicationSet, RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.candidates import choosable, eligible
from gitops_dsf.resolve.rules.templates import GENERATOR

_NAME = re.compile(r"([^{}]*)\{\{\s*\.?(?:name|clusterName)\s*\}\}([^{}]*)")
_PLACEMENT_LABELS = ("labelSelector", "matchLabels", PLACEMENT_LABEL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Maker:
    """An ApplicationSet that generates one Application per cluster, named prefix + cluster + suffix."""

    item: Item[ScoredApplication] | Item[RawApplicationSet]
    prefix: str
    suffix: str
    clusters: frozenset[str]
    """The clusters of the inventory that a decision may contain."""

    @property
    def name(self) -> str:
        """Name of the ScoredApplication or ApplicationSet."""
        return self.item.name

    @property
    def position(self) -> Position:
        """The position of the Application name. It is looked up only for a finding."""
        return (
            self.item.at("spec", "template", "metadata", "name")
            if self.item.document.kind == "ApplicationSet"
            else self.item.position
        )


def applications_have_one_maker(context: Context) -> Iterator[Diagnostic]:
    """Reports every pair of sets whose names can collide on clusters of the inventory."""
    by_suffix: dict[str, list[Maker]] = defaultdict(list)
    for maker in sorted((*_scored(context), *_raw(context)), key=_order):
        by_suffix[maker.suffix].append(maker)
    for makers in by_suffix.values():
        yield from _same_prefix(makers)
        yield from _longer_prefix(makers, context.inventory.clusters)


def _scored(context: Context) -> Iterator[Maker]:
    for item in context.declared.applications:
        yield Maker(item=item, prefix=f"{item.name}-", suffix="", clusters=_followed(context, item))


def _raw(context: Context) -> Iterator[Maker]:
    """Returns makers for fully known sets: one generator, a name of fixed text and the cluster, and a
    Placement of this repository.
    """
    rankings = {
        item.name: item
        for item in context.declared.rankings
        if context.namespace_of(item) == context.argocd_namespace
    }
    placements = {item.name: item for item in context.declared.placements}
    for item in context.declared.application_sets:
        spec = item.value.spec
        name, generators = value_at(spec, ("template", "metadata", "name")), spec.get("generators")
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None or not isinstance(generators, list) or len(generators) != 1:
            continue
        followed = value_at(generators, (0, GENERATOR, *_PLACEMENT_LABELS))
        if not isinstance(followed, str):
            continue
        clusters = (
            eligible(context, rankings[followed])
            if followed in rankings
            else _chosen(context, placements.get(followed))
        )
        yield Maker(item=item, prefix=found[1], suffix=found[2], clusters=clusters)


def _order(maker: Maker) -> Position:
    return maker.item.position


def _followed(context: Context, item: Item[ScoredApplication]) -> frozenset[str]:
    """Clusters that the decision of an application may contain; none if it refers to nothing."""
    ranking = context.ranking_of(item)
    return frozenset() if ranking is None else eligible(context, ranking)


def _chosen(context: Context, placement: Item[RawPlacement] | None) -> frozenset[str]:
    """Clusters that a raw Placement may choose; empty if they are not certain."""
    clusters = choosable(context, placement) if placement is not None else None
    return clusters if clusters is not None else frozenset()


def _same_prefix(makers: Sequence[Maker]) -> Iterator[Diagnostic]:
    by_prefix: dict[str, list[Maker]] = defaultdict(list)
    for maker in makers:
        by_prefix[maker.prefix].append(maker)
    for alike in by_prefix.values():
        taken: dict[str, Maker] = {}
        for maker in alike if len(alike) > 1 else ():
            shared = maker.clusters & taken.keys()
            if shared:
                cluster = min(shared)
                yield _finding(maker, cluster, taken[cluster], cluster)
            for cluster in maker.clusters:
                taken.setdefault(cluster, maker)


def _longer_prefix(makers: Sequence[Maker], inventory: Iterable[str]) -> Iterator[Diagnostic]:
    """Yields candidates for a collision. Linear in makers and clusters: names collide only if one prefix
    starts with another, and the rest starts a cluster's name.
    """
    by_prefix: dict[str, list[Maker]] = defaultdict(list)
    for maker in makers:
        by_prefix[maker.prefix].append(maker)
    pairs = [
        (shorter, longer)
        for longer in makers
        for length in range(len(longer.prefix))
        for shorter in by_prefix.get(longer.prefix[:length], ())
    ]
    if not pairs:
        return
    splits = _splits(inventory, {longer.prefix[len(shorter.prefix) :] for shorter, longer in pairs})
    for shorter, longer in pairs:
        for whole, tail in splits.get(longer.prefix[len(shorter.prefix) :], ()):
            if whole in shorter.clusters and tail in longer.clusters:
                first, second = sorted(((shorter, whole), (longer, tail)), key=lambda item: _order(item[0]))
                yield _finding(*second, *first)
                break


def _splits(inventory: Iterable[str], heads: set[str]) -> dict[str, list[tuple[str, str]]]:
    """For each head, the clusters that start with it and continue with another cluster's name."""
    names = sorted(inventory)
    known = frozenset(names)
    lengths = sorted({len(head) for head in heads})
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in names:
        for length in lengths:
            if name[:length] in heads and name[length:] in known:
                found[name[:length]].append((name, name[length:]))
    return found


def _finding(maker: Maker, cluster: str, first: Maker, other: str) -> Diagnostic:
    name = f"{maker.prefix}{cluster}{maker.suffix}"
    message = (
        f"{maker.name} on cluster {cluster} and {first.name} ({first.position}) on cluster {other} both make"
        f" the Application {name}: Argo CD leaves it to the first, and the other never runs there"
    )
    return codes.APPLICATION_NAME.at(
        maker.position, message, "rename one of the two, or choose clusters that they do not share"
    )
