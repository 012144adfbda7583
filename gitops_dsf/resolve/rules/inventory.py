"""Finds fields of the inventory that OCM does not have: typing mistakes that would have no effect.

The inventory may be what `kubectl get -o yaml` prints, so everything that an API server adds is
accepted. A field that neither OCM nor Kubernetes knows is a warning, because a newer OCM may have
it; a taint that OCM's API server would refuse is an error. The fields are those of the OCM that
`tests/hub/go.mod` pins.
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

_TOP: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_OBJECT_META: Final = (
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
_TAINTS: Final[FieldPath] = ("spec", "taints")


@rule()
def inventory_fields_exist(context: Context) -> Iterator[Diagnostic]:
    """A field that does not exist, such as `metadata.label`, would be silently ignored."""
    members: tuple[Item[Any], ...] = (*context.declared.clusters, *context.declared.cluster_sets)
    for member in members:
        document = member.document
        yield from _unknown(document, (), _TOP)
        yield from _unknown(document, ("metadata",), _OBJECT_META)
        schema = fields.inventory(document.kind)
        for problem in fields.problems(schema, _described_by_schema(document)):
            if problem.kind is fields.ProblemKind.UNKNOWN:
                yield _unread(document, problem.path, problem.known)
            # The model has checked the other fields that count here. To it a taint is plain data.
            elif problem.path[:2] == _TAINTS:
                yield _taint(document, problem)


def _described_by_schema(document: Document) -> dict[str, Any]:
    """The part that the schema describes: everything but the metadata."""
    described = {}
    for name in ("spec", "status"):
        if document.data.get(name) is not None:
            described[name] = document.data[name]
    return described


def _unknown(document: Document, place: FieldPath, known: tuple[str, ...]) -> Iterator[Diagnostic]:
    holder = value_at(document.data, place)
    for name in holder if isinstance(holder, dict) else ():
        if name not in known:
            yield _unread(document, (*place, name), known)


def _unread(document: Document, path: FieldPath, known: tuple[str, ...]) -> Diagnostic:
    name = str(path[-1])
    parent = dotted(path[:-1]) or f"a {document.kind}"
    hint = did_you_mean(name, known)
    return codes.UNKNOWN_FIELD.at(
        document.key_at(path),
        f"{name} is not a field of {parent}, so it has no effect",
        hint or f"known here: {names_text(sorted(known), max_names=12)}",
        severity=Severity.WARNING,
    )


def _taint(document: Document, problem: fields.SchemaProblem) -> Diagnostic:
    path = problem.path
    if problem.kind is fields.ProblemKind.MISSING:
        return codes.MISSING_FIELD.at(
            document.at(path),
            f"{dotted(path)} is missing: OCM refuses the taint",
            f"add {path[-1]}",
        )
    value = value_at(document.data, path)
    return codes.BAD_VALUE.at(
        document.at(path),
        f"{dotted(path)} must be {problem.expected}; OCM refuses {value!r}",
        did_you_mean(str(value), problem.choices) or f"write {problem.expected}",
    )
