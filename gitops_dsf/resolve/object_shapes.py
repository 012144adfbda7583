"""Fields of copied objects that an API server with Argo CD's and OCM's CRDs would refuse or drop.

The objects are plain data: anything may be there, and each mistake is a finding.
"""

import re
from collections.abc import Iterator

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.wording import did_you_mean


def misfits(document: Document, schema: fields.Schema, *place: str | int) -> Iterator[Diagnostic]:
    """Every field at or below a path that does not fit the schema."""
    for problem in fields.problems(schema, value_at(document.data, place), place):
        path = problem.path
        if problem.kind is fields.ProblemKind.WRONG:
            yield _wrong(document, problem)
        elif problem.kind is fields.ProblemKind.UNKNOWN:
            name = str(path[-1])
            message = f"{name} is not a field of {dotted(path[:-1])}"
            hint = did_you_mean(name, problem.known)
            if not hint:
                hint = f"known here: {', '.join(sorted(problem.known))}"
            yield codes.UNKNOWN_FIELD.at(document.key_at(path), message, hint)
        else:
            message = f"{dotted(path)} is missing: the API server refuses the object"
            yield codes.MISSING_FIELD.at(document.at(path), message, f"add {path[-1]}")


def _wrong(document: Document, problem: fields.SchemaProblem) -> Diagnostic:
    """The finding about a value that the API server refuses."""
    hint, edits = _correction(document, problem)
    return codes.PLACEMENT_SHAPE.at(
        document.at(problem.path),
        f"{dotted(problem.path)} must be {problem.expected}",
        hint,
        edits=edits,
    )


def _correction(document: Document, problem: fields.SchemaProblem) -> tuple[str, tuple[Edit, ...]]:
    """The correction, and its edits where it is certain."""
    path: FieldPath = problem.path
    text = document.written(path)
    # A number with a leading zero is octal to YAML 1.1, so it is left to its author. 18 digits
    # always fit into an int64, the largest integer of the API server.
    if problem.wanted_type == "integer" and re.fullmatch(r"0|[1-9][0-9]{0,17}", text):
        return "remove the quotes", (Edit(path, value=int(text)),)
    if problem.wanted_type == "string" and text and value_at(document.data, path) is not None:
        return f'quote it: "{text}"', (Edit(path, value=text),)
    # Only the author knows whether one entry was meant, or several in one text: no edit.
    if problem.wanted_type == "array" and text:
        return f"write [{text}]", ()
    if problem.choices:
        return did_you_mean(str(value_at(document.data, path)), problem.choices), ()
    if problem.known:
        return f"its fields are {', '.join(sorted(problem.known))}", ()
    return "", ()
