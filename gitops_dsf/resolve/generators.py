"""The generators of ApplicationSets, and the Placements whose decisions they follow."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.repository.load import Document, FieldPath, texts_in, value_at

GENERATORS: Final[FieldPath] = ("spec", "generators")
GENERATOR: Final = "clusterDecisionResource"
"""The generator that reads decisions of Placements."""
NESTING: Final = ("matrix", "merge")
"""Generators that have generators inside."""


def generators(
    document: Document, place: FieldPath = GENERATORS, depth: int = 0
) -> Iterator[FieldPath]:
    """The paths of all generators of an ApplicationSet, also of those inside of others."""
    for listed in document.items(*place):
        entry = value_at(document.data, listed)
        for kind, content in entry.items() if isinstance(entry, dict) else ():
            # A selector stands beside the generator, and lets only some of its parameters through.
            if isinstance(content, dict) and kind != "selector":
                yield (*listed, kind)
                # Argo CD 3.6.1 has three levels: what a nested matrix combines combines nothing.
                if kind in NESTING and depth < 2:
                    yield from generators(document, (*listed, kind, "generators"), depth + 1)


def decision_generators(document: Document) -> Iterator[FieldPath]:
    """The paths of the generators that read decisions."""
    return (generator for generator in generators(document) if generator[-1] == GENERATOR)


def followed_placements(document: Document) -> Iterator[tuple[FieldPath, str]]:
    """The Placements that the generators of an ApplicationSet name, each with its path."""
    for generator in decision_generators(document):
        yield from followed_by(document, generator)


def followed_by(document: Document, generator: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """The Placements that one generator names, each with its path."""
    selector = (*generator, "labelSelector")
    named = (*selector, "matchLabels", PLACEMENT_LABEL)
    yield from texts_in(value_at(document.data, named), named)
    for term in document.items(*selector, "matchExpressions"):
        key = value_at(document.data, (*term, "key"))
        operator = value_at(document.data, (*term, "operator"))
        if (key, operator) == (PLACEMENT_LABEL, "In"):
            values = (*term, "values")
            yield from texts_in(value_at(document.data, values), values)
