"""Checks the names of the Applications that ApplicationSets generate: one set must not generate a name twice,
two sets must not generate one name, and no set the name of an Application of rendered/argocd.

The set of a ScoredApplication generates APPLICATION-CLUSTER, and both names may have dashes. So `shop` on the
cluster `cluster-xx` and `shop-cluster` on the cluster `xx` both generate `shop-cluster-xx`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes
from gitops_dsf.hub.names import OWN_APPLICATION
from gitops_dsf.repository.load import Document, Path, texts_in, value_at
from gitops_dsf.repository.model.apps import ScoredApplication
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawApplicationSet
from gitops_dsf.resolve.application_templates import ACTION, GENERATORS, generators, template_of
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.application_sets import followed_by, followed_placements
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule
from gitops_dsf.resolve.rules.target_clusters import choosable, eligible
from gitops_dsf.resolve.rules.templates import GENERATOR

_BY_CLUSTER: Final = re.compile(r"([^{}]*)\{\{\s*\.?(?:name|clusterName)\s*\}\}([^{}]*)")
_FIXED_VALUE: Final = re.compile(r"\{\{-?\s*\.?values\.([\w-]+)\s*-?\}\}")
"""A value that the author wrote beside a generator."""
_NAME: Final[Path] = ("spec", "template", "metadata", "name")
_OWN_PREFIX: Final = "gitops-dsf-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """The Applications of one set: one for each cluster, named prefix + cluster + suffix."""

    item: Item[ScoredApplication] | Item[RawApplicationSet]
    prefix: str
    suffix: str
    clusters: frozenset[str]
    """The clusters of the inventory that a decision may contain."""

    @property
    def position(self) -> Position:
        """Where the name of the Applications is written. It is looked up only for a finding."""
        return (
            self.item.at(*_NAME)
            if self.item.document.kind == "ApplicationSet"
            else self.item.position
        )

    def on(self, cluster: str) -> str:
        """The name of the Application on a cluster."""
        return f"{self.prefix}{cluster}{self.suffix}"


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def applications_have_one_maker(context: Context) -> Iterator[Diagnostic]:
    """An Application stays with the set that created it, and the other set fails at each look.

    Argo CD: "Object is already owned by another ApplicationSet controller"
    (applicationset/controllers/applicationset_controller.go of 3.1 to 3.4, SetControllerReference).
    """
    by_suffix: dict[str, list[Generated]] = defaultdict(list)
    for made in generated(context):
        by_suffix[made.suffix].append(made)
    for alike in by_suffix.values():
        yield from _same_prefix(alike)
        yield from _longer_prefix(alike, context.inventory.clusters)


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet", *PLACEMENTS))
def applications_of_a_set_have_different_names(context: Context) -> Iterator[Diagnostic]:
    """Argo CD creates none of the Applications of a set that have one name
    (applicationset/controllers/applicationset_controller.go of 3.6.1, validateGeneratedApplications).
    """
    for item in context.declared.application_sets:
        document = item.document
        counts: dict[tuple[str, Path], int] = defaultdict(int)
        unsure = set[tuple[str, Path]]()
        for place in generators(document):
            template = template_of(document, place)
            name = template.value("metadata", "name")
            is_nested = len(place) > len(GENERATORS) + 2
            if is_nested or not isinstance(name, str) or not _is_fixed(document, place, name):
                continue
            if not name or template.may_be_patched("metadata"):
                continue
            key = name, template.place("metadata", "name")
            count = _known_count(context, document, place)
            if count is None and place[-1] == GENERATOR and not _is_filtered(document, place):
                # Which sets a Placement without clusterSets chooses from is known on the hub only.
                unsure.add(key)
                count = len(context.inventory.clusters)
            counts[key] += count or 0
        for key, count in counts.items():
            name, where = key
            if count > 1:
                message = (
                    f"{item.name} may generate {count} Applications, all named {name}: Argo CD creates none"
                    " of them (duplicate name)"
                )
                go = value_at(document.data, ("spec", "goTemplate")) is True
                hint = f"write the cluster into the name, such as {name}-{'{{.name}}' if go else '{{name}}'}"
                severity = Severity.WARNING if key in unsure else None
                yield codes.CONSTANT_NAME.at(document.at(where), message, hint, severity=severity)


def _is_filtered(document: Document, generator: Path) -> bool:
    """Whether a selector lets only some of a generator's parameters through."""
    return bool(value_at(document.data, (*generator[:-1], "selector")))


def _is_fixed(document: Document, generator: Path, name: str) -> bool:
    """Whether a name is the same for all parameters that a generator gives."""
    for key in _FIXED_VALUE.findall(name):
        value = value_at(document.data, (*generator, "values", key))
        if not isinstance(value, str) or "{{" in value:
            return False
    return "{{" not in _FIXED_VALUE.sub("", name)


def _known_count(context: Context, document: Document, generator: Path) -> int | None:
    """The most sets of parameters that a generator gives; None if that depends on what is not in git."""
    content, kind = value_at(document.data, generator), generator[-1]
    if _is_filtered(document, generator):
        return None
    if kind == "list":
        elements = content.get("elements")
        return (
            None if content.get("elementsYaml") or not isinstance(elements, list) else len(elements)
        )
    if kind == GENERATOR:
        return _chosen(context, document, generator)
    inner = generators(document, (*generator, "generators"), depth=1)
    direct = [place for place in inner if len(place) == len(generator) + 3]
    counts = [_known_count(context, document, place) for place in direct]
    if kind == "merge":
        return counts[0] if counts else None
    if kind == "matrix" and any(counts):
        # A generator of which nothing is known gives one set of parameters at least, or there is nothing.
        return prod(1 if count is None else count for count in counts)
    return None


def _chosen(context: Context, document: Document, generator: Path) -> int | None:
    """The most clusters that the decisions which a generator follows can have together; None if the sets of
    a Placement, or its expressions, hide them.
    """
    followed = {name for _, name in followed_by(document, generator)}
    home = context.argocd_namespace
    chosen: list[tuple[frozenset[str] | None, object]] = [
        (eligible(context, item), item.value.spec.placement.number_of_clusters)
        for item in context.declared.rankings
        if item.name in followed and context.namespace_of(item) == home
    ]
    chosen += [
        (choosable(context, item), item.value.spec.get("numberOfClusters"))
        for item in context.declared.placements
        if item.name in followed and context.namespace_of(item) == home
    ]
    count = 0
    for clusters, number in chosen:
        limits = [] if clusters is None else [len(clusters)]
        limits += [number] if isinstance(number, int) else []
        if not limits:
            return None
        count += min(limits)
    return count


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def applications_of_the_tree_stay_ours(context: Context) -> Iterator[Diagnostic]:
    """Argo CD lets a set take over an Application without an owner, and writes its whole spec.

    The Applications of rendered/argocd have no owner. A set that generates the name of one replaces what Argo
    CD applies of the fleet repository.
    """
    for made in generated(context):
        if not (made.prefix.startswith(_OWN_PREFIX) or _OWN_PREFIX.startswith(made.prefix)):
            continue
        if name := min(
            filter(OWN_APPLICATION.fullmatch, map(made.on, made.clusters)), default=None
        ):
            yield _taken_over(made.item.name, name, made.position)
    for item in context.declared.application_sets:
        for place, text in texts_in(item.document.data["spec"], ("spec",)):
            if place[-3:] == _NAME[-3:] and (name := _may_become(text)):
                yield _taken_over(item.name, name, item.at(*place))


def _may_become(text: str) -> str:
    """The Application of rendered/argocd that a name without a cluster may become; empty if it is none.

    What an action gives is not known, so only a text that begins like our names is suspected.
    """
    if _BY_CLUSTER.fullmatch(text) or not text.startswith(_OWN_PREFIX):
        return ""
    pattern = ".*".join(map(re.escape, ACTION.split(text)))
    names = (
        f"{_OWN_PREFIX}{directory}"
        for directory in ("delivery", "platform", "reconciler", "works-00")
    )
    return next((name for name in names if re.fullmatch(pattern, name)), "")


def _taken_over(name: str, taken: str, position: Position) -> Diagnostic:
    message = (
        f"{name} would generate the Application {taken}, which is one of rendered/argocd: Argo CD would"
        " replace its source and project"
    )
    return codes.OWN_APPLICATION.at(position, message, "choose another name")


def generated(context: Context) -> list[Generated]:
    """The Applications of all sets, in order of their files."""
    return sorted((*_of_scored(context), *_of_copied(context)), key=lambda made: made.item.position)


def _of_scored(context: Context) -> Iterator[Generated]:
    for item in context.declared.applications:
        ranking = context.ranking_of(item)
        clusters = frozenset[str]() if ranking is None else eligible(context, ranking)
        yield Generated(item=item, prefix=f"{item.name}-", suffix="", clusters=clusters)


def _of_copied(context: Context) -> Iterator[Generated]:
    """Of copied sets whose Applications are named by fixed text and the cluster."""
    home = context.argocd_namespace
    rankings = {
        item.name: item for item in context.declared.rankings if context.namespace_of(item) == home
    }
    placements = {
        item.name: item
        for item in context.declared.placements
        if context.namespace_of(item) == home
    }
    for item in context.declared.application_sets:
        name = value_at(item.document.data, _NAME)
        named = _BY_CLUSTER.fullmatch(name) if isinstance(name, str) else None
        if named is None:
            continue
        clusters = set[str]()
        for _, followed in followed_placements(item.document):
            if followed in rankings:
                clusters |= eligible(context, rankings[followed])
            elif followed in placements:
                clusters |= choosable(context, placements[followed]) or frozenset()
        yield Generated(item=item, prefix=named[1], suffix=named[2], clusters=frozenset(clusters))


def _same_prefix(alike: Sequence[Generated]) -> Iterator[Diagnostic]:
    by_prefix: dict[str, list[Generated]] = defaultdict(list)
    for made in alike:
        by_prefix[made.prefix].append(made)
    for same in by_prefix.values():
        taken: dict[str, Generated] = {}
        for made in same if len(same) > 1 else ():
            if shared := made.clusters & taken.keys():
                cluster = min(shared)
                yield _meeting((made, cluster), (taken[cluster], cluster))
            for cluster in made.clusters:
                taken.setdefault(cluster, made)


def _longer_prefix(alike: Sequence[Generated], inventory: Iterable[str]) -> Iterator[Diagnostic]:
    """Linear in sets and clusters: two names are equal only if the longer prefix begins with the shorter one,
    and its rest begins the name of a cluster.
    """
    by_prefix: dict[str, list[Generated]] = defaultdict(list)
    for made in alike:
        by_prefix[made.prefix].append(made)
    pairs = [
        (shorter, longer)
        for longer in alike
        for length in range(len(longer.prefix))
        for shorter in by_prefix.get(longer.prefix[:length], ())
    ]
    if not pairs:
        return
    splits = _splits(inventory, {longer.prefix[len(shorter.prefix) :] for shorter, longer in pairs})
    for shorter, longer in pairs:
        for whole, tail in splits.get(longer.prefix[len(shorter.prefix) :], ()):
            if whole in shorter.clusters and tail in longer.clusters:
                first, second = sorted(
                    ((shorter, whole), (longer, tail)), key=lambda pair: pair[0].item.position
                )
                yield _meeting(second, first)
                break


def _splits(inventory: Iterable[str], heads: set[str]) -> dict[str, list[tuple[str, str]]]:
    """For each head, the clusters that begin with it and go on with the name of another cluster."""
    names = sorted(inventory)
    known = frozenset(names)
    lengths = sorted({len(head) for head in heads})
    splits: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in names:
        for length in lengths:
            if name[:length] in heads and name[length:] in known:
                splits[name[:length]].append((name, name[length:]))
    return splits


def _meeting(later: tuple[Generated, str], earlier: tuple[Generated, str]) -> Diagnostic:
    (made, cluster), (first, other) = later, earlier
    message = (
        f"{made.item.name} on cluster {cluster} and {first.item.name} ({first.position}) on cluster {other}"
        f" both generate the Application {made.on(cluster)}: it stays with the first, and the other one never"
        " runs"
    )
    hint = "rename one of the two, or choose clusters that they do not share"
    return codes.APPLICATION_NAME.at(made.position, message, hint)
