"""Validates documents: kinds, fields and types. Reports each mistake at its line."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gitops_dsf.diagnostics import Diagnostic, Edit, Position, Severity, codes
from gitops_dsf.diagnostics.listed import MAX_OF_DOCUMENT, Listed
from gitops_dsf.repository.load import AmbiguousValue, Document, Loaded, Path
from gitops_dsf.repository.load.discover import FOLDER_OF_KIND
from gitops_dsf.repository.load.scalar import resolve_plain
from gitops_dsf.repository.model.base import DNS_SUBDOMAIN, DSF_API, PRODUCT_API, Authored
from gitops_dsf.repository.model.declared import KINDS, Declared, Item
from gitops_dsf.repository.model.dialect import find_dialects
from gitops_dsf.repository.model.field_model import field_at, scalar_types
from gitops_dsf.repository.model.mistake import explain, wanted_text
from gitops_dsf.wording import did_you_mean

_ELSEWHERE = {
    "List": "write each item as a document of its own, or run gitops-dsf import --from on the file",
    "Secret": "tokens live on the spokes, in namespace dynamic-scoring; name them with tokenSecretRef",
    "ConfigMap": "the ConfigMaps that scoring and Argo CD need are rendered; remove it",
    "ManifestWork": "ManifestWorks are rendered from scorers/, config/ and clusters/; remove it",
    "AddOnPlacementScore": "scores are written by the agents; remove it",
    "Application": "write a ScoredApplication or an ApplicationSet, or keep it in another repository",
    "Kustomization": "the sources of a fleet repository are read as they are; remove it",
}
_PASSED_OVER = (
    "nothing is rendered for it: keep it in another repository, or in a folder that is not read"
)
_OUR_GROUPS = tuple(f"{version.partition('/')[0]}/" for version in (DSF_API, PRODUCT_API))
_ALIKE = 0.85
"""How similar a name must be, from 0 to 1. DynamicScore, ManagedClustr and Placment are."""


def unknown_kind(document: Document) -> Diagnostic:
    """The finding for a document that no model describes: an error if its content would be lost."""
    if not _is_object(document):
        fields = "kind" if "apiVersion" in document.data else "apiVersion and kind"
        message = f"a document without {fields} is not read in a fleet repository"
        return _other(document, message, _PASSED_OVER)
    for field in ("apiVersion", "kind"):
        value = document.data.get(field)
        if value is None:
            hint = f"add {field}; known kinds: {_known()}"
            return codes.MISSING_FIELD.at(document.at((field,)), f"{field} is missing", hint)
        if not isinstance(value, str):
            hint = "write it as text, in quotes if need be"
            return codes.WRONG_TYPE.at(document.at((field,)), f"{field} must be text", hint)
    version = next((version for version, kind in KINDS if kind == document.kind), None)
    if version is not None:
        message = f"{document.kind} is not known in apiVersion {document.api_version}"
        position, edits = document.at(("apiVersion",)), (Edit(("apiVersion",), value=version),)
        return codes.UNKNOWN_KIND.at(position, message, f"write apiVersion: {version}", edits=edits)
    message = f"kind {document.kind} is not read in a fleet repository"
    meant = meant_kind(document.kind)
    hint = _ELSEWHERE.get(document.kind) or (f"did you mean {meant}?" if meant else "")
    is_a_kind = re.fullmatch("[A-Z][A-Za-z0-9]*", document.kind) is not None
    if (
        meant
        or not is_a_kind
        or document.kind == "List"
        or document.api_version.startswith(_OUR_GROUPS)
    ):
        hint = (
            hint
            or did_you_mean(document.kind, [kind for _, kind in KINDS])
            or f"known kinds: {_known()}"
        )
        return codes.UNKNOWN_KIND.at(document.at(("kind",)), message, hint)
    return _other(document, message, hint or _PASSED_OVER)


def meant_kind(kind: str) -> str:
    """The known kind that is misspelt here; empty for the name of another, such as PlacementBinding."""
    if kind in _ELSEWHERE:
        return ""
    known = {name.lower(): name for _, name in KINDS if not re.match(f"{name}[A-Z]", kind)}
    close = get_close_matches(kind.lower(), sorted(known), n=1, cutoff=_ALIKE)
    return known[close[0]] if close else ""


def _is_object(document: Document) -> bool:
    """Whether it could be ours without apiVersion and kind, unlike a chart's Chart.yaml or values.yaml."""
    data = document.data
    ours = any(data.get("apiVersion") == version for version, _ in KINDS)
    return ours or any(field in data for field in ("kind", "metadata", "spec"))


def _other(document: Document, message: str, hint: str) -> Diagnostic:
    path = ("kind",) if "kind" in document.data else ("apiVersion",)
    return codes.UNKNOWN_KIND.at(document.at(path), message, hint, severity=Severity.WARNING)


def _known() -> str:
    return ", ".join(sorted(kind for _, kind in KINDS))


_OF_A_DOCUMENT = (codes.SYNTAX, codes.TAB, codes.DEPTH, codes.ALIASES, codes.NOT_AN_OBJECT)
_UNREADABLE = {code.id for code in (*_OF_A_DOCUMENT, codes.ENCODING, codes.SIZE, codes.SYMLINK)}

_SERVER_METADATA = (
    "creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generation managedFields"
    " ownerReferences resourceVersion selfLink uid"
)
_SERVER_OWNED = frozenset[Path](
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
    """The object, or None after an error. Leaves out mistakes where the loader found one already."""
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


def _without(value: Any, path: Path) -> Any:  # noqa: ANN401 - whatever YAML holds
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
    """Adds an object by kind and name; by namespace, too, if the kind can be rendered into several."""
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


_MAPS_OF_TEXT = frozenset({"annotations", "labels", "matchLabels"})
_LISTS_OF_TEXT = frozenset({"matchExpressions"})
_TAINTS = frozenset({"taints", "tolerations"})


def with_expected_types(
    diagnostics: Iterable[Diagnostic], documents: Iterable[Document]
) -> list[Diagnostic]:
    """Returns the findings, with the hint of each ambiguous value narrowed to what its field accepts."""
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


def _is_text(path: Path) -> bool:
    """Whether Kubernetes expects text there, in documents whose fields no model declares."""
    parents = path[:-1]
    return (
        bool(parents and parents[-1] in _MAPS_OF_TEXT)
        or any(part in _LISTS_OF_TEXT for part in parents)
        or (any(part in _TAINTS for part in parents) and path[-1] in {"key", "value"})
    )
