"""Hints for scalars that YAML parsers read differently.

Examples are `on` and `017`. The reader does not know which type a field takes, so its findings name
every reading. Here the model of the document narrows them to those that the field accepts.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Literal, get_args, get_origin

from gitops_dsf.diagnostics import Diagnostic, Edit, Position, codes
from gitops_dsf.repository.load import AmbiguousValue, Document, FieldPath
from gitops_dsf.repository.load.scalar import resolve_plain
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.field_model import field_at, scalar_types
from gitops_dsf.repository.model.mistake import wanted_text

_MAPS_OF_TEXT: Final = frozenset({"annotations", "labels", "matchLabels"})
_LISTS_OF_TEXT: Final = frozenset({"matchExpressions"})
_TAINTS: Final = frozenset({"taints", "tolerations"})


def with_expected_types(
    diagnostics: Iterable[Diagnostic], documents: Iterable[Document]
) -> list[Diagnostic]:
    """The findings, with hints of ambiguous values narrowed to what their fields accept."""
    changes: dict[Position, dict[str, Any]] = {}
    for document in documents:
        for ambiguous in document.ambiguous:
            changes[ambiguous.position] = _hint(document, ambiguous)
    narrowed = []
    for finding in diagnostics:
        if finding.code == codes.AMBIGUOUS.id:
            narrowed.append(replace(finding, **changes.get(finding.position, {})))
        else:
            narrowed.append(finding)
    return narrowed


def _hint(document: Document, ambiguous: AmbiguousValue) -> dict[str, Any]:
    """The hint and edits of a finding; none if the field accepts any type."""
    path = ambiguous.path
    model = KINDS.get((document.api_version, document.kind))
    # Kinds of other programs, and free-form parts of ours, have no types here.
    expected = scalar_types(field_at(model, path)) if model is not None else frozenset()
    if model is not None and expected == {str}:
        wanted = wanted_text(model, path, ambiguous.text)
        if wanted:
            # In quotes the text would be the next mistake.
            return {"hint": wanted}
    if expected == {str} or _is_text(path):
        edit = Edit(path, value=ambiguous.text)
        return {"hint": f'quote it: "{ambiguous.text}"', "edits": (edit,)}
    if len(expected) == 1:
        (kind,) = expected
        if get_origin(kind) is Literal:
            return {"hint": f"write {' or '.join(map(str, get_args(kind)))}"}
    is_switch = expected == {bool}
    is_number = bool(expected) and expected <= {int, float}
    values = list(map(resolve_plain, ambiguous.readings))
    readings = [value for value in values if isinstance(value, (int, float))]
    if readings and all(is_switch if isinstance(value, bool) else is_number for value in readings):
        # If a value can mean two numbers, only its author can decide.
        edits = (Edit(path, value=readings[0]),) if len(readings) == 1 else ()
        return {"hint": f"write {' or '.join(ambiguous.readings)}", "edits": edits}
    if is_switch:
        return {"hint": "write true or false"}
    return {"hint": "write a number"} if is_number else {}


def _is_text(path: FieldPath) -> bool:
    """Whether Kubernetes expects text there, in documents whose fields no model declares."""
    parents = path[:-1]
    return (
        bool(parents and parents[-1] in _MAPS_OF_TEXT)
        or any(part in _LISTS_OF_TEXT for part in parents)
        or (any(part in _TAINTS for part in parents) and path[-1] in {"key", "value"})
    )
