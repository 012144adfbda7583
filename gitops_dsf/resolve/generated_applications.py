"""The names of the Applications that ApplicationSets generate.

The set of a ScoredApplication generates APPLICATION-CLUSTER, if its template has no name. Copied
sets name theirs by a template.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load import FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawApplicationSet
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import choosable, eligible
from gitops_dsf.resolve.generators import followed_placements

NAME_PATH: Final[FieldPath] = ("spec", "template", "metadata", "name")
# {{name}} in the plain language of Argo CD's templates, {{.name}} in that of Go.
NAMED_BY_CLUSTER: Final = re.compile(r"([^{}]*)\{\{\s*\.?(?:name|clusterName)\s*\}\}([^{}]*)")
"""A name that is fixed text around the cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """The Applications of one set: one for each cluster, named prefix + cluster + suffix."""

    owner: Item[ScoredApplication] | Item[RawApplicationSet]
    """The object whose set generates them."""
    prefix: str
    suffix: str
    clusters: frozenset[str]
    """The clusters of the inventory that a decision may contain."""

    @property
    def position(self) -> Position:
        """The position of the name of the Applications. It is looked up only for a finding."""
        path = NAME_PATH
        if self.owner.document.kind == "ScoredApplication":
            path = ("spec", "application", "template", "name")
        return self.owner.at(*path) if self.owner.document.has(path) else self.owner.position

    def on(self, cluster: str) -> str:
        """The name of the Application on a cluster."""
        return f"{self.prefix}{cluster}{self.suffix}"


def generated(context: Context) -> list[Generated]:
    """The Applications of all sets, in order of their files."""
    everything = (*_of_scored(context), *_of_copied(context))
    return sorted(everything, key=lambda applications: applications.owner.position)


def _of_scored(context: Context) -> Iterator[Generated]:
    for application in context.declared.applications:
        ranking = context.ranking_of(application)
        # Another rule reports an application whose Placement does not exist.
        clusters = frozenset[str]() if ranking is None else eligible(context, ranking)
        prefix = f"{application.name}-"
        suffix = ""
        template_name = application.value.spec.application.template.name
        match = NAMED_BY_CLUSTER.fullmatch(template_name or "")
        if match is not None:
            prefix = match[1]
            suffix = match[2]
        yield Generated(owner=application, prefix=prefix, suffix=suffix, clusters=clusters)


def _of_copied(context: Context) -> Iterator[Generated]:
    """The Applications of copied sets that name them by fixed text and the cluster."""
    # Argo CD reads decisions in its own namespace only.
    home = context.argocd_namespace
    rankings = {
        ranking.name: ranking
        for ranking in context.declared.rankings
        if context.namespace_of(ranking) == home
    }
    placements = {
        placement.name: placement
        for placement in context.declared.placements
        if context.namespace_of(placement) == home
    }
    for application_set in context.declared.application_sets:
        name = value_at(application_set.document.data, NAME_PATH)
        match = NAMED_BY_CLUSTER.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            continue
        clusters: set[str] = set()
        for _, followed in followed_placements(application_set.document):
            if followed in rankings:
                clusters |= eligible(context, rankings[followed])
            elif followed in placements:
                # Where the clusters of a Placement are not known, nothing is said about names.
                clusters |= choosable(context, placements[followed]) or frozenset()
        yield Generated(
            owner=application_set, prefix=match[1], suffix=match[2], clusters=frozenset(clusters)
        )
