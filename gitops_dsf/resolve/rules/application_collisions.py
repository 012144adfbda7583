"""Checks the names of the Applications that ApplicationSets generate.

One set must not generate a name twice, two sets must not generate one name, and no set the name of
an Application of rendered/argocd.

The set of a ScoredApplication generates APPLICATION-CLUSTER, and both names may have dashes. So
`shop` on the cluster `cluster-xx` and `shop-cluster` on the cluster `xx` both generate
`shop-cluster-xx`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes
from gitops_dsf.hub.names import OWN_APPLICATION
from gitops_dsf.repository.load import Document, FieldPath, texts_in, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawApplicationSet
from gitops_dsf.resolve.application_templates import ACTION, template_of
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.generated_applications import (
    NAME_PATH,
    NAMED_BY_CLUSTER,
    Generated,
    generated,
)
from gitops_dsf.resolve.generators import GENERATOR, GENERATORS, generators
from gitops_dsf.resolve.parameter_counts import is_filtered, known_count
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule

_FIXED_VALUE: Final = re.compile(r"\{\{-?\s*\.?values\.([\w-]+)\s*-?\}\}")
"""A value that the author wrote beside a generator."""
_OWN_PREFIX: Final = "gitops-dsf-"
_OWN_DIRECTORIES: Final = ("delivery", "platform", "reconciler", "works-00")
"""Directories of rendered/argocd with an Application. Those of works are numbered from 00."""


class _OnCluster(NamedTuple):
    """The Application of a set on one cluster."""

    applications: Generated
    cluster: str


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def applications_have_one_maker(context: Context) -> Iterator[Diagnostic]:
    """An Application stays with the set that created it, and the other set fails each time.

    Argo CD: "Object is already owned by another ApplicationSet controller"
    (applicationset/controllers/applicationset_controller.go of 3.1 to 3.4, SetControllerReference).
    """
    by_suffix: dict[str, list[Generated]] = defaultdict(list)
    for applications in generated(context):
        by_suffix[applications.suffix].append(applications)
    for alike in by_suffix.values():
        by_prefix: dict[str, list[Generated]] = defaultdict(list)
        for applications in alike:
            by_prefix[applications.prefix].append(applications)
        for same in by_prefix.values():
            yield from _same_prefix(same)
        yield from _longer_prefix(alike, by_prefix, context.inventory.clusters)


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet", *PLACEMENTS))
def applications_of_a_set_have_different_names(context: Context) -> Iterator[Diagnostic]:
    """Argo CD creates none of the Applications of a set that have one name.

    See applicationset/controllers/applicationset_controller.go of 3.6.1,
    validateGeneratedApplications.
    """
    for application_set in context.declared.application_sets:
        yield from _equal_names(context, application_set)


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def applications_of_the_tree_stay_ours(context: Context) -> Iterator[Diagnostic]:
    """Argo CD lets a set take over an Application without an owner, and writes its whole spec.

    The Applications of rendered/argocd have no owner. A set that generates the name of one replaces
    what Argo CD applies of the fleet repository.
    """
    for applications in generated(context):
        prefix = applications.prefix
        # Names are equal only if one prefix begins with the other. That spares most sets their
        # thousands of clusters.
        if not (prefix.startswith(_OWN_PREFIX) or _OWN_PREFIX.startswith(prefix)):
            continue
        names = map(applications.on, applications.clusters)
        own_name = min(filter(OWN_APPLICATION.fullmatch, names), default=None)
        if own_name is not None:
            yield _taken_over(applications.owner.name, own_name, applications.position)
    for application_set in context.declared.application_sets:
        for path, text in texts_in(application_set.document.data["spec"], ("spec",)):
            own_name = _may_become(text) if path[-3:] == NAME_PATH[-3:] else None
            if own_name is not None:
                position = application_set.at(*path)
                yield _taken_over(application_set.name, own_name, position)


def _equal_names(
    context: Context, application_set: Item[RawApplicationSet]
) -> Iterator[Diagnostic]:
    document = application_set.document
    counts: dict[tuple[str, FieldPath], int] = defaultdict(int)
    unsure: set[tuple[str, FieldPath]] = set()
    for generator in generators(document):
        template = template_of(document, generator)
        name = template.value("metadata", "name")
        # Generators inside a matrix or a merge are counted with it.
        is_nested = len(generator) > len(GENERATORS) + 2
        if is_nested or not isinstance(name, str) or not _is_fixed(document, generator, name):
            continue
        # A patch may give each Application another name.
        if not name or template.may_be_patched("metadata"):
            continue
        key = name, template.path_of("metadata", "name")
        count = known_count(context, document, generator)
        if count is None and generator[-1] == GENERATOR and not is_filtered(document, generator):
            # Only the hub has the sets from which a Placement without clusterSets chooses.
            unsure.add(key)
            count = len(context.inventory.clusters)
        counts[key] += count or 0
    is_go = value_at(document.data, ("spec", "goTemplate")) is True
    cluster = "{{.name}}" if is_go else "{{name}}"
    for (name, path), count in counts.items():
        if count > 1:
            yield codes.CONSTANT_NAME.at(
                document.at(path),
                f"{application_set.name} may generate {count} Applications, all named {name}: Argo"
                " CD creates none of them (duplicate name)",
                f"write the cluster into the name, such as {name}-{cluster}",
                severity=Severity.WARNING if (name, path) in unsure else None,
            )


def _is_fixed(document: Document, generator: FieldPath, name: str) -> bool:
    """Whether a name is the same for all parameters that a generator gives."""
    for key in _FIXED_VALUE.findall(name):
        value = value_at(document.data, (*generator, "values", key))
        if not isinstance(value, str) or "{{" in value:
            return False
    return "{{" not in _FIXED_VALUE.sub("", name)


def _may_become(text: str) -> str | None:
    """The Application of rendered/argocd that a name without a cluster may become.

    What an action gives is not known, so only a text that begins like our names is suspected.
    """
    if NAMED_BY_CLUSTER.fullmatch(text) or not text.startswith(_OWN_PREFIX):
        return None
    pattern = ".*".join(map(re.escape, ACTION.split(text)))
    for directory in _OWN_DIRECTORIES:
        if re.fullmatch(pattern, f"{_OWN_PREFIX}{directory}"):
            return f"{_OWN_PREFIX}{directory}"
    return None


def _taken_over(name: str, own_name: str, position: Position) -> Diagnostic:
    return codes.OWN_APPLICATION.at(
        position,
        f"{name} would generate the Application {own_name}, which is one of rendered/argocd: Argo"
        " CD would replace its source and project",
        "choose another name",
    )


def _same_prefix(same: Sequence[Generated]) -> Iterator[Diagnostic]:
    """Sets with one name that may be on one cluster."""
    if len(same) == 1:
        return
    first_on: dict[str, Generated] = {}
    for applications in same:
        if shared := applications.clusters & first_on.keys():
            # The first by name, so that each run names the same one.
            cluster = min(shared)
            first = _OnCluster(first_on[cluster], cluster)
            yield _equal_name(_OnCluster(applications, cluster), first)
        for cluster in applications.clusters:
            first_on.setdefault(cluster, applications)


def _longer_prefix(
    alike: Sequence[Generated],
    by_prefix: dict[str, list[Generated]],
    inventory: Iterable[str],
) -> Iterator[Diagnostic]:
    """Pairs of sets with prefixes that differ by the beginning of a cluster's name.

    Linear in sets and clusters: two names are equal only if the longer prefix begins with the
    shorter one, and its rest begins the name of a cluster.
    """
    pairs: list[tuple[Generated, Generated]] = []
    for longer in alike:
        for length in range(len(longer.prefix)):
            shorter_ones = by_prefix.get(longer.prefix[:length], ())
            for shorter in shorter_ones:
                pairs.append((shorter, longer))
    if not pairs:
        return
    splits = _splits(inventory, {longer.prefix[len(shorter.prefix) :] for shorter, longer in pairs})
    for shorter, longer in pairs:
        head = longer.prefix[len(shorter.prefix) :]
        for cluster, tail in splits.get(head, ()):
            if cluster in shorter.clusters and tail in longer.clusters:
                both = _OnCluster(shorter, cluster), _OnCluster(longer, tail)
                first, second = sorted(both, key=_position)
                yield _equal_name(second, first)
                # One cluster shows the mistake. The finding for the next would say the same.
                break


def _position(application: _OnCluster) -> Position:
    return application.applications.owner.position


def _splits(inventory: Iterable[str], heads: set[str]) -> dict[str, list[tuple[str, str]]]:
    """The clusters that begin with a head and go on with the name of another one, by head."""
    names = sorted(inventory)
    clusters = frozenset(names)
    lengths = sorted(set(map(len, heads)))
    splits: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in names:
        for length in lengths:
            if name[:length] in heads and name[length:] in clusters:
                splits[name[:length]].append((name, name[length:]))
    return splits


def _equal_name(later: _OnCluster, earlier: _OnCluster) -> Diagnostic:
    applications, cluster = later
    first, first_cluster = earlier
    return codes.APPLICATION_NAME.at(
        applications.position,
        f"{applications.owner.name} on cluster {cluster} and {first.owner.name} ({first.position})"
        f" on cluster {first_cluster} both generate the Application {applications.on(cluster)}: it"
        " stays with the first, and the other one never runs",
        "rename one of the two, or choose clusters that they do not share",
    )
