"""Reads documents that are copied into the output. Any shape is possible, and a wrong one is a finding."""

from collections.abc import Collection, Iterator

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.wording import did_you_mean


def misfits(document: Document, schema: fields.Schema, *place: str | int) -> Iterator[Diagnostic]:
    """What an API server with the CRDs of Argo CD and OCM would refuse or drop, at any depth."""
    for problem in fields.problems(schema, value_at(document.data, place), place):
        where = problem.path
        if problem.kind is fields.Kind.WRONG:
            yield _wrong(document, where, problem.expected, problem.known)
        elif problem.kind is fields.Kind.UNKNOWN:
            name = str(where[-1])
            hint = did_you_mean(name, problem.known) or f"known here: {', '.join(sorted(problem.known))}"
            message = f"{name} is not a field of {dotted(where[:-1])}"
            yield codes.UNKNOWN_FIELD.at(document.key_at(where), message, hint)
        else:
            message = f"{dotted(where)} is missing: the API server refuses the object"
            yield codes.MISSING_FIELD.at(document.at(where), message, f"add {where[-1]}")


def _wrong(document: Document, place: Path, expected: str, known: Collection[str]) -> Diagnostic:
    hint, written = "", document.written(place)
    edits: tuple[Edit, ...] = ()
    if expected == "a whole number" and written.isdigit():
        hint, edits = "remove the quotes", (Edit(place, value=int(written)),)
    elif expected == "text" and written and value_at(document.data, place) is not None:
        hint, edits = f'quote it: "{written}"', (Edit(place, value=written),)
    elif expected == "a list" and written:
        hint = f"write [{written}]"
    elif known:
        hint = f"its fields are {', '.join(sorted(known))}"
    message = f"{dotted(place)} must be {expected}"
    return codes.PLACEMENT_SHAPE.at(document.at(place), message, hint, edits=edits)


def resources_ranked_by(document: Document) -> Iterator[tuple[Path, str]]:
    """The AddOnPlacementScores that the prioritizers of a raw Placement read, and where they are named."""
    for place in indexes(document, "spec", "prioritizerPolicy", "configurations"):
        where = (*place, "scoreCoordinate", "addOn", "resourceName")
        name = value_at(document.data, where)
        if isinstance(name, str):
            yield where, name


def indexes(document: Document, *place: str | int) -> Iterator[Path]:
    """The paths of the items of a list; none if there is no list."""
    found = value_at(document.data, place)
    yield from ((*place, index) for index in range(len(found) if isinstance(found, list) else 0))
