"""Hints for ambiguous scalars, made from the type that their field expects."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.repository.load import AmbiguousValue, Document, Path
from gitops_dsf.repository.load.scalar import resolve_plain
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.field_model import field_at, scalar_types

_MAPS_OF_TEXT = frozenset({"annotations", "labels", "matchLabels"})
_LISTS_OF_TEXT = frozenset({"matchExpressions"})
_TAINTS = frozenset({"taints", "tolerations"})


def with_expected_types(diagnostics: Iterable[Diagnostic], documents: Iterable[Document]) -> list[Diagnostic]:
    """Returns the findings, with the hint of each ambiguous value narrowed to what its field accepts."""
    hints = {
        item.position: hint
        for document in documents
        for item in document.ambiguous
        if (hint := _hint(document, item))
    }
    return [
        replace(item, **hints[item.position])
        if item.code == codes.AMBIGUOUS.id and item.position in hints
        else item
        for item in diagnostics
    ]


def _hint(document: Document, item: AmbiguousValue) -> dict[str, Any]:
    """The hint and edits of a finding, if the field does not accept any type."""
    model = KINDS.get((document.api_version, document.kind))
    expected = scalar_types(field_at(model, item.path)) if model is not None else frozenset()
    instead = resolve_plain(item.instead) if item.instead else None
    if expected == {str} or _is_text(item.path):
        return {"hint": f'quote it: "{item.text}"', "edits": (Edit(item.path, value=item.text),)}
    choices = [str(value) for kind in expected if get_origin(kind) is Literal for value in get_args(kind)]
    if choices and len(expected) == 1:
        return {"hint": f"write {' or '.join(choices)}"}
    is_switch, is_number = expected == {bool}, bool(expected) and expected <= {int, float}
    if isinstance(instead, (int, float)) and (is_switch if isinstance(instead, bool) else is_number):
        return {"hint": f"write {item.instead}", "edits": (Edit(item.path, value=instead),)}
    return {"hint": "write true or false"} if is_switch else {"hint": "write a number"} if is_number else {}


def _is_text(path: Path) -> bool:
    """Whether Kubernetes expects text there, in documents whose fields no model declares."""
    parents = path[:-1]
    return (
        bool(parents and parents[-1] in _MAPS_OF_TEXT)
        or any(part in _LISTS_OF_TEXT for part in parents)
        or (any(part in _TAINTS for part in parents) and path[-1] in {"key", "value"})
    )
