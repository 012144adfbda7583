"""The templates by which ApplicationSets make Applications.

The template of a generator is laid over that of its ApplicationSet, field by field: fields that it
leaves empty come from there (applicationset/generators/generator_spec_processor.go of Argo CD
3.6.1, mergeGeneratorTemplate). The templates of generators inside a matrix or a merge are not read.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.resolve.generators import GENERATORS, generators

TEMPLATE: Final[FieldPath] = ("spec", "template")
ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
"""An action of a template, in either language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """The template by which a generator's parameters become Applications."""

    document: Document
    places: tuple[FieldPath, ...]
    """The generator's own template, if it has one, and that of the ApplicationSet."""

    def value(self, *names: str | int) -> Any:  # noqa: ANN401 - plain data
        """The value of a field: the first that is not empty."""
        return value_at(self.document.data, self.path_of(*names))

    def path_of(self, *names: str | int) -> FieldPath:
        """The path of the value of a field.

        If it is written nowhere, it is the path in the template of the ApplicationSet.
        """
        for template in self.places:
            path = (*template, *names)
            if value_at(self.document.data, path):
                return path
        return (*self.places[-1], *names)

    def may_be_patched(self, *words: str) -> bool:
        """Whether spec.templatePatch may write a field with one of these names."""
        # The patch is a template, and becomes YAML only when Argo CD renders it for a cluster
        # (3.6.1). So its text is searched.
        patch = value_at(self.document.data, ("spec", "templatePatch"))
        return isinstance(patch, str) and any(word in patch for word in words)


def template_of(document: Document, generator: FieldPath) -> Template:
    """The template for a generator at the first level."""
    own = (*generator, "template")
    places = (own, TEMPLATE) if value_at(document.data, own) else (TEMPLATE,)
    return Template(document=document, places=places)


def template_paths(document: Document) -> list[FieldPath]:
    """The paths of an ApplicationSet's possible templates: its own, and one of each generator."""
    paths = [TEMPLATE]
    for generator in generators(document):
        paths.append((*generator, "template"))
    return paths


def templates(document: Document) -> tuple[Template, ...]:
    """Every template by which an ApplicationSet makes Applications, once."""
    by_places: dict[tuple[FieldPath, ...], Template] = {}
    for generator in generators(document):
        if len(generator) == len(GENERATORS) + 2:  # an index and a kind: not inside of another one
            template = template_of(document, generator)
            by_places[template.places] = template
    # A set without a generator makes nothing yet, but mistakes in its template show all the same.
    return tuple(by_places.values()) or (Template(document=document, places=(TEMPLATE,)),)
