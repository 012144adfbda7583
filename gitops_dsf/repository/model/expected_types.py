"""Hints for ambiguous scalars, made from the type that their field expects."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, get_args, get_origin

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import AmbiguousValue, Document, Path
from gitops_dsf.repository.model.field_model import field_at, scalar_types
from gitops_dsf.repository.model.kinds import KINDS

_SWITCHES = ("true", "false")
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
    if not hints:
        return list(diagnostics)
    return [
        replace(item, hint=hints[item.position])
        if item.code == codes.AMBIGUOUS.id and item.position in hints
        else item
        for item in diagnostics
    ]


def _hint(document: Document, item: AmbiguousValue) -> str:
    """What to write; empty if the field accepts any type."""
    model = KINDS.get((document.api_version, document.kind))
    expected = scalar_types(field_at(model, item.path)) if model is not None else frozenset()
    if expected == {str} or _is_text(item.path):
        return f'quote it: "{item.text}"'
    choices = [str(value) for kind in expected if get_origin(kind) is Literal for value in get_args(kind)]
    if choices and len(expected) == 1:
        return f"write {' or '.join(choices)}"
    if expected == {bool}:
        return f"write {item.instead}" if item.instead in _SWITCHES else f"write {' or '.join(_SWITCHES)}"
    if expected and expected <= {int, float}:
        return f"write {item.instead}" if item.instead and item.instead not in _SWITCHES else "write a number"
    return ""


def _is_text(path: Path) -> bool:
    """Whether Kubernetes expects text there, in documents whose fields no model declares."""
    parents = path[:-1]
    return (
        bool(parents and parents[-1] in _MAPS_OF_TEXT)
        or any(part in _LISTS_OF_TEXT for part in parents)
        or (any(part in _TAINTS for part in parents) and path[-1] in {"key", "value"})
    )
