"""Says what to write in place of a scalar that YAML parsers read differently.

Examples are `on` and `017`.

Examples are `on` and `017`.

The reader does not know which type a field takes, so its findings name every reading. Here the
model of the document narrows them to what the field accepts.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.repository.load import AmbiguousValue, Document, FieldPath
from gitops_dsf.repository.load.scalar import resolve_plain
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.field_model import field_at, scalar_types
from gitops_dsf.repository.model.mistake import wanted_text

_MAPS_OF_TEXT = frozenset({"annotations", "labels", "matchLabels"})

_LISTS_OF_TEXT = frozenset({"matchExpressions"})

_TAINTS = frozenset({"taints", "tolerations"})


def with_expected_types(
    diagnostics: Iterable[Diagnostic], documents: Iterable[Document]
) -> list[Diagnostic]:
    """The findings, with hints of ambiguous values narrowed to what their fields accept."""
    hints = {
        item.position: _hint(document, item)
        for document in documents
        for item in document.ambiguous
    }
    return [
        replace(item, **hints.get(item.position, {})) if item.code == codes.AMBIGUOUS.id else item
        for item in diagnostics
    ]


def _hint(document: Document, item: AmbiguousValue) -> dict[str, Any]:
    """The hint and edits of a finding, if the field does not accept any type."""
    model = KINDS.get((document.api_version, document.kind))
    expected = scalar_types(field_at(model, item.path)) if model is not None else frozenset()
    if (
        model is not None
        and expected == {str}
        and (wanted := wanted_text(model, item.path, item.text))
    ):
        return {"hint": wanted}
    if expected == {str} or _is_text(item.path):
        return {"hint": f'quote it: "{item.text}"', "edits": (Edit(item.path, value=item.text),)}
    choices = [
        str(value) for kind in expected if get_origin(kind) is Literal for value in get_args(kind)
    ]
    if choices and len(expected) == 1:
        return {"hint": f"write {' or '.join(choices)}"}
    is_switch, is_number = expected == {bool}, bool(expected) and expected <= {int, float}
    readings = [
        value for value in map(resolve_plain, item.readings) if isinstance(value, (int, float))
    ]
    if readings and all(is_switch if isinstance(value, bool) else is_number for value in readings):
        # What can mean two numbers is for its author to decide.
        edits = (Edit(item.path, value=readings[0]),) if len(readings) == 1 else ()
        return {"hint": f"write {' or '.join(item.readings)}", "edits": edits}
    return (
        {"hint": "write true or false"}
        if is_switch
        else {"hint": "write a number"}
        if is_number
        else {}
    )


def _is_text(path: FieldPath) -> bool:
    """Whether Kubernetes expects text there, in documents whose fields no model declares."""
    parents = path[:-1]
    return (
        bool(parents and parents[-1] in _MAPS_OF_TEXT)
        or any(part in _LISTS_OF_TEXT for part in parents)
        or (any(part in _TAINTS for part in parents) and path[-1] in {"key", "value"})
    )
