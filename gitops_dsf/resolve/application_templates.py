"""What becomes an Application: the templates of ApplicationSets, and the sources that they and
ScoredApplications name.

The template of a generator is laid over that of its ApplicationSet, field by field: what it leaves empty
comes from there (applicationset/generators/generator_spec_processor.go of Argo CD 3.6.1,
mergeGeneratorTemplate). The templates of generators inside of a matrix or a merge are not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.apps import ScoredApplication
from gitops_dsf.repository.model.declared import Declared, Item

GENERATORS: Final[Path] = ("spec", "generators")
TEMPLATE: Final[Path] = ("spec", "template")
NESTING: Final = ("matrix", "merge")
ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
"""An action of a template, in either language."""


def generators(document: Document, place: Path = GENERATORS, depth: int = 0) -> Iterator[Path]:
    """The places of all generators of an ApplicationSet, also of those inside of others."""
    for listed in document.items(*place):
        written = value_at(document.data, listed)
        for kind, content in written.items() if isinstance(written, dict) else ():
            if isinstance(content, dict) and kind != "selector":
                yield (*listed, kind)
                if kind in NESTING and depth < 2:
                    yield from generators(document, (*listed, kind, "generators"), depth + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """The template by which a generator's parameters become Applications."""

    document: Document
    places: tuple[Path, ...]
    """The generator's own template, if it has one, and that of the ApplicationSet."""

    def value(self, *names: str | int) -> Any:  # noqa: ANN401 - plain data
        """The value of a field: the first that is not empty."""
        return value_at(self.document.data, self.place(*names))

    def place(self, *names: str | int) -> Path:
        """Where the value of a field is written; in the ApplicationSet's template if it is nowhere."""
        written = ((*place, *names) for place in self.places)
        return next(
            (path for path in written if value_at(self.document.data, path)),
            (*self.places[-1], *names),
        )

    def may_be_patched(self, *words: str) -> bool:
        """Whether spec.templatePatch may write a field with one of these names."""
        patch = value_at(self.document.data, ("spec", "templatePatch"))
        return isinstance(patch, str) and any(word in patch for word in words)


def template_of(document: Document, generator: Path) -> Template:
    """The template for a generator at the first level."""
    own = (*generator, "template")
    places = (own, TEMPLATE) if value_at(document.data, own) else (TEMPLATE,)
    return Template(document=document, places=places)


def templates(document: Document) -> tuple[Template, ...]:
    """Every template by which an ApplicationSet makes Applications, once."""
    first = (place for place in generators(document) if len(place) == len(GENERATORS) + 2)
    found = {found.places: found for found in (template_of(document, place) for place in first)}
    return tuple(found.values()) or (Template(document=document, places=(TEMPLATE,)),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A place that names a repository."""

    document: Document
    place: Path
    fields: Mapping[str, Any]
    """As they are written."""

    def text(self, name: str) -> str:
        """The text of a field; empty if there is none."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def at(self, *names: str) -> Position:
        return self.document.at((*self.place, *names))


def sources(declared: Declared) -> Iterator[Source]:
    """Every source of every application, and the repositories that generators read."""
    for application in declared.applications:
        yield from _written(application.document, places_of(application))
    for carried in declared.application_sets:
        yield from _written(carried.document, [*_of_a_set(carried.document)])


def _of_a_set(document: Document) -> Iterator[Path]:
    found = [*generators(document)]
    for template in (TEMPLATE, *((*place, "template") for place in found)):
        yield from sources_of_a_template(document, template)
        yield (*template, "spec", "sourceHydrator", "drySource")
    yield from (place for place in found if place[-1] == "git")


def sources_of_a_template(document: Document, template: Path) -> list[Path]:
    """The places of `source` and of each of `sources`."""
    spec = (*template, "spec")
    return [(*spec, "source"), *document.items(*spec, "sources")]


def _written(document: Document, places: list[Path]) -> Iterator[Source]:
    for place in places:
        fields = value_at(document.data, place)
        if isinstance(fields, dict):
            yield Source(document=document, place=place, fields=fields)


def places_of(item: Item[ScoredApplication]) -> list[Path]:
    """The places of the sources of a ScoredApplication."""
    return [place for place, _ in item.value.spec.application.placed_sources]
