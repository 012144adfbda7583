"""Validates documents: kinds, fields and types. Reports each mistake at its line."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gitops_dsf.diagnostics import Diagnostic, Position, Severity, codes
from gitops_dsf.diagnostics.listed import MAX_OF_DOCUMENT, Listed
from gitops_dsf.repository.load import Document, FieldPath, Loaded
from gitops_dsf.repository.load.paths import FOLDER_OF_KIND
from gitops_dsf.repository.model.ambiguous import with_expected_types
from gitops_dsf.repository.model.base import DNS_SUBDOMAIN, Authored
from gitops_dsf.repository.model.declared import KINDS, Declared, Item
from gitops_dsf.repository.model.dialect import find_dialects
from gitops_dsf.repository.model.mistake import explain
from gitops_dsf.repository.model.unknown_kind import meant_kind, unknown_kind

_OF_A_DOCUMENT = (codes.SYNTAX, codes.TAB, codes.DEPTH, codes.ALIASES, codes.NOT_AN_OBJECT)
_UNREADABLE = {code.id for code in (*_OF_A_DOCUMENT, codes.ENCODING, codes.SIZE, codes.SYMLINK)}

_SERVER_METADATA = (
    "creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generation"
    " managedFields ownerReferences resourceVersion selfLink uid"
)
_SERVER_OWNED = frozenset[FieldPath](
    {("status",), *(("metadata", name) for name in _SERVER_METADATA.split())}
)
"""Fields that `kubectl get -o yaml` shows and people did not write: accepted and ignored."""


def declare(loaded: Loaded) -> Declared:
    """Validates every document on its own. Never raises for a user's mistake."""
    diagnostics = Listed()
    diagnostics.add(with_expected_types(loaded.diagnostics, loaded.documents))
    known = {item.position for item in diagnostics.items}
    items: dict[str, dict[str, Item[Any]]] = defaultdict(dict)
    broken: list[Document] = []
    unreadable = {item.position.file for item in loaded.diagnostics if item.code in _UNREADABLE}
    left_out = {(kind, "") for file in unreadable for kind in _kinds_of(file)}
    for document in loaded.documents:
        model = KINDS.get((document.api_version, document.kind))
        if model is None:
            unknown = unknown_kind(document)
            diagnostics.add([unknown])
            if unknown.severity is Severity.ERROR:
                left_out |= {(kind, _name(document)) for kind in _meant(document)}
            continue
        diagnostics.add(_wrong_folder(document))
        value = _validate(model, document, known=known, diagnostics=diagnostics)
        if value is None or document.ambiguous:
            broken.append(document)
            left_out.add((document.kind, _name(document)))
            continue
        _add(items[document.kind], Item(value, document), diagnostics)
    by_kind = {kind: tuple(found[key] for key in sorted(found)) for kind, found in items.items()}
    return Declared(
        repository=next(iter(by_kind.get("FleetRepository", ())), None),
        scorers=by_kind.get("DynamicScorer", ()),
        metric_sources=by_kind.get("MetricSource", ()),
        scoring_configs=by_kind.get("DynamicScoringConfig", ()),
        clusters=by_kind.get("ManagedCluster", ()),
        cluster_sets=by_kind.get("ManagedClusterSet", ()),
        locks=by_kind.get("ScorerLock", ()),
        applications=by_kind.get("ScoredApplication", ()),
        scored_placements=by_kind.get("ScoredPlacement", ()),
        placements=by_kind.get("Placement", ()),
        bindings=by_kind.get("ManagedClusterSetBinding", ()),
        application_sets=by_kind.get("ApplicationSet", ()),
        score_tests=by_kind.get("ScoreTest", ()),
        maintenance=by_kind.get("Maintenance", ()),
        left_out=frozenset(left_out),
        broken=tuple(broken),
        diagnostics=tuple(diagnostics.all()),
    )


def _validate(
    model: type[Authored], document: Document, *, known: set[Position], diagnostics: Listed
) -> Authored | None:
    """The object, or None after an error.

    Leaves out mistakes where the loader found one already.
    """
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        if diagnostics.is_full:
            diagnostics.count(error.error_count(), at=document.position)
            return None
        errors = error.errors(include_url=False)
    whole = data = document.data
    # Each field that is left out copies the object around it, so their number is limited.
    for item in errors[:MAX_OF_DOCUMENT]:
        empty = item["input"] is None and item["type"] not in {"missing", "extra_forbidden"}
        if empty or (item["type"] == "extra_forbidden" and item["loc"] in _SERVER_OWNED):
            data = _without(data, item["loc"])
    if data is not whole:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
    diagnostics.add(_explained(errors, model, document, known=known))
    return None


def _explained(
    errors: Sequence[ErrorDetails],
    model: type[Authored],
    document: Document,
    *,
    known: set[Position],
) -> list[Diagnostic]:
    """The mistakes of a document in words, as many as are listed."""
    dialects = find_dialects(document)
    listed = Listed(MAX_OF_DOCUMENT)
    listed.add(
        found for each in dialects if (found := each.finding(document)).position not in known
    )
    for number, found in enumerate(
        explain(errors, model=model, document=document, dialects=dialects)
    ):
        if listed.is_full:
            # To put one into words takes longer the more fields the document has.
            listed.count(len(errors) - number, at=found.position)
            break
        listed.add([found] if found.position not in known else [])
    return listed.all()


def _without(value: Any, path: FieldPath) -> Any:  # noqa: ANN401 - whatever YAML holds
    """A copy without the field at this path; the same value if there is none."""
    if isinstance(value, dict) and path[0] in value:
        rest = {key: item for key, item in value.items() if key != path[0]}
        return {**value, path[0]: _without(value[path[0]], path[1:])} if path[1:] else rest
    if isinstance(value, list) and isinstance(path[0], int) and path[0] < len(value) and path[1:]:
        return [*value[: path[0]], _without(value[path[0]], path[1:]), *value[path[0] + 1 :]]
    return value


def _name(document: Document) -> str:
    """The value of metadata.name; empty if it is not a valid name."""
    return document.name if re.fullmatch(DNS_SUBDOMAIN, document.name) else ""


def _meant(document: Document) -> list[str]:
    """Known kinds that a document of an unknown kind was probably meant to be."""
    if any(kind == document.kind for _, kind in KINDS):
        return [document.kind]
    own = _kinds_of(document.file)
    return own if not document.kind or meant_kind(document.kind) in own else []


def _kinds_of(file: str) -> list[str]:
    """Kinds that belong in the folder of a file."""
    return [
        kind
        for kind, folder in FOLDER_OF_KIND.items()
        if file == folder or file.startswith(f"{folder}/")
    ]


def _wrong_folder(document: Document) -> list[Diagnostic]:
    expected = FOLDER_OF_KIND[document.kind]
    if document.file == expected or document.file.startswith(f"{expected}/"):
        return []
    where = expected if expected.endswith(".yaml") else f"{expected}/"
    message = f"{document.kind} belongs in {where}: folders decide who reviews a change"
    return [
        codes.WRONG_FOLDER.at(document.key_at(("kind",)), message, f"move the document to {where}")
    ]


def _add(found: dict[str, Item[Any]], item: Item[Any], diagnostics: Listed) -> None:
    """Adds an object by kind and name, and by namespace if the kind can be in several."""
    metadata = item.document.data["metadata"]
    key = item.name
    namespaced = {"Placement", "ManagedClusterSetBinding", "ApplicationSet", "ScoredPlacement"}
    if item.document.kind in namespaced and metadata.get("namespace"):
        key = f"{key}\0{metadata['namespace']}"
    if item.document.kind == "FleetRepository":
        key = ""
    first = found.setdefault(key, item)
    if first is not item:
        message = f"{item.document.kind} {item.name} exists already at {first.position}"
        if key == "":
            message = f"a repository has one FleetRepository; the first is at {first.position}"
        hint = "rename one of them, or remove it"
        diagnostics.add([codes.DUPLICATE_OBJECT.at(item.position, message, hint)])
