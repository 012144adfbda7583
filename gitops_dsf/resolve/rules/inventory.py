"""Fields of the inventory that OCM does not have: typing mistakes that would otherwise have no effect.

The inventory may be what `kubectl get -o yaml` prints, so everything that an API server adds is accepted. A
field that neither OCM nor Kubernetes knows is a warning, because a newer OCM may have it; a taint that OCM's
API server would refuse is an error. The fields are those of the OCM that `tests/hub/go.mod` pins.
"""

from collections.abc import Iterator
from typing import Any, Final

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean, names_text

TOP: Final = ("apiVersion", "kind", "metadata", "spec", "status")
OBJECT_META: Final = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""The fields of Kubernetes' ObjectMeta (meta/v1, Kubernetes 1.37)."""
_TAINTS: Final = ("spec", "taints")


@rule()
def inventory_fields_exist(context: Context) -> Iterator[Diagnostic]:
    """A field that does not exist, such as `metadata.label`, would be ignored without a word."""
    items: tuple[Item[Any], ...] = (*context.declared.clusters, *context.declared.cluster_sets)
    for item in items:
        yield from _unknown(item.document, (), TOP)
        yield from _unknown(item.document, ("metadata",), OBJECT_META)
        for problem in fields.problems(
            fields.inventory(item.document.kind), _schema_part(item.document)
        ):
            if problem.kind is fields.Kind.UNKNOWN:
                yield _unread(item.document, problem.path, problem.known)
            elif problem.path[:2] == _TAINTS:
                yield _taint(item.document, problem)


def _schema_part(document: Document) -> dict[str, Any]:
    """What the schema describes: everything but the metadata."""
    return {
        name: document.data[name]
        for name in ("spec", "status")
        if document.data.get(name) is not None
    }


def _unknown(document: Document, place: FieldPath, known: tuple[str, ...]) -> Iterator[Diagnostic]:
    holder = value_at(document.data, place)
    for name in holder if isinstance(holder, dict) else ():
        if name not in known:
            yield _unread(document, (*place, name), known)


def _unread(document: Document, path: FieldPath, known: tuple[str, ...]) -> Diagnostic:
    parent = dotted(path[:-1]) or f"a {document.kind}"
    hint = did_you_mean(str(path[-1]), known) or f"known here: {names_text(sorted(known), most=12)}"
    message = f"{path[-1]} is not a field of {parent}: nobody reads it"
    return codes.UNKNOWN_FIELD.at(document.key_at(path), message, hint, severity=Severity.WARNING)


def _taint(document: Document, problem: fields.Problem) -> Diagnostic:
    where = problem.path
    if problem.kind is fields.Kind.MISSING:
        message = f"{dotted(where)} is missing: OCM refuses the taint"
        return codes.MISSING_FIELD.at(document.at(where), message, f"add {where[-1]}")
    value = value_at(document.data, where)
    message = f"{dotted(where)} must be {problem.expected}; OCM refuses {value!r}"
    choices = problem.expected.removeprefix("one of ").split(", ")
    hint = did_you_mean(str(value), choices) if problem.expected.startswith("one of ") else ""
    return codes.BAD_VALUE.at(document.at(where), message, hint or f"write {problem.expected}")
