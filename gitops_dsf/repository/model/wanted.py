"""What to write for a value that readers of YAML disagree about: that depends on what is wanted at
its place.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, get_args, get_origin

from gitops_dsf import codes
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.load import Disputed, Document, Path
from gitops_dsf.repository.model.field_model import field_at, scalar_types
from gitops_dsf.repository.model.kinds import KINDS

_SWITCHES = ("true", "false")
_MAPS_OF_TEXT = frozenset({"annotations", "labels", "matchLabels"})
_LISTS_OF_TEXT = frozenset({"matchExpressions"})
_TAINTS = frozenset({"taints", "tolerations"})


def with_wanted(diagnostics: Iterable[Diagnostic], documents: Iterable[Document]) -> list[Diagnostic]:
    """The findings, the hint of each ambiguous value narrowed to what its field takes."""
    hints = {
        item.position: hint
        for document in documents
        for item in document.disputed
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


def _hint(document: Document, item: Disputed) -> str:
    """What to write there; empty where anything may be wanted."""
    model = KINDS.get((document.api_version, document.kind))
    wanted = scalar_types(field_at(model, item.path)) if model is not None else frozenset()
    if wanted == {str} or _is_text(item.path):
        return f'quote it: "{item.text}"'
    choices = [str(value) for kind in wanted if get_origin(kind) is Literal for value in get_args(kind)]
    if choices and len(wanted) == 1:
        return f"write {' or '.join(choices)}"
    if wanted == {bool}:
        return f"write {item.instead}" if item.instead in _SWITCHES else f"write {' or '.join(_SWITCHES)}"
    if wanted and wanted <= {int, float}:
        return f"write {item.instead}" if item.instead and item.instead not in _SWITCHES else "write a number"
    return ""


def _is_text(path: Path) -> bool:
    """Whether Kubernetes takes text there, in documents of which no model knows the fields."""
    parents = path[:-1]
    return (
        bool(parents and parents[-1] in _MAPS_OF_TEXT)
        or any(part in _LISTS_OF_TEXT for part in parents)
        or (any(part in _TAINTS for part in parents) and path[-1] in {"key", "value"})
    )
