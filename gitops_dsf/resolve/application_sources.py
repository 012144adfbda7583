"""The repositories from which Argo CD deploys: the sources of applications and ApplicationSets."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.resolve.application_templates import template_paths
from gitops_dsf.resolve.generators import generators


@dataclass(frozen=True, kw_only=True, slots=True)
class RepositorySource:
    """A place that names a repository."""

    document: Document
    path: FieldPath
    fields: Mapping[str, Any]
    """The fields as they are written."""

    def text(self, name: str) -> str:
        """The text of a field; empty if there is none."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def at(self, *names: str) -> Position:
        return self.document.at((*self.path, *names))


def sources(declared: Declared) -> Iterator[RepositorySource]:
    """Every source of every application, and the repositories that generators read."""
    for application in declared.applications:
        yield from _sources_at(application.document, places_of(application))
    for application_set in declared.application_sets:
        document = application_set.document
        yield from _sources_at(document, _places_of_a_set(document))


def places_of(application: Item[ScoredApplication]) -> list[FieldPath]:
    """The paths of the sources of a ScoredApplication."""
    return [path for path, _ in application.value.spec.application.placed_sources]


def sources_of_a_template(document: Document, template: FieldPath) -> list[FieldPath]:
    """The paths of `source`, and of each of `sources`, of a template in an ApplicationSet."""
    spec = (*template, "spec")
    return [(*spec, "source"), *document.items(*spec, "sources")]


def _places_of_a_set(document: Document) -> Iterator[FieldPath]:
    for template in template_paths(document):
        yield from sources_of_a_template(document, template)
        # Argo CD reads what is rendered into the hydrated branch from this repository.
        yield (*template, "spec", "sourceHydrator", "drySource")
    for generator in generators(document):
        # The git generator has repoURL and revision among its own fields, as a source has them.
        if generator[-1] == "git":
            yield generator


def _sources_at(document: Document, paths: Iterable[FieldPath]) -> Iterator[RepositorySource]:
    """The sources at those of the places that have one."""
    for path in paths:
        fields = value_at(document.data, path)
        if isinstance(fields, dict):
            yield RepositorySource(document=document, path=path, fields=fields)
