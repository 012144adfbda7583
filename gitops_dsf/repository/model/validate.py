"""Validates documents: kinds, fields and types. Reports each mistake at its line.

Each document is judged on its own. Fields that an API server adds, and fields without a value,
count as absent, as in Kubernetes.

Guaranteed: a mistake never raises, and the other documents are validated anyway. An object that
cannot be read is in `Declared.left_out`, so that no rule takes it for one that does not exist. A
place with a finding of the loader gets no second one. The number of findings of a document and of
all is bounded; the others are counted.

Not guaranteed: anything about several objects, except that no two of a kind have one name.
References, hosts and expressions are checked by `resolve.rules`.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

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

_UNREADABLE: Final = frozenset(
    {
        codes.ALIASES.id,
        codes.DEPTH.id,
        codes.ENCODING.id,
        codes.NOT_AN_OBJECT.id,
        codes.SIZE.id,
        codes.SYMLINK.id,
        codes.SYNTAX.id,
        codes.TAB.id,
    }
)
"""Findings about files whose objects are not known."""
_SERVER_OWNED: Final = frozenset[FieldPath](
    {
        ("status",),
        ("metadata", "creationTimestamp"),
        ("metadata", "deletionGracePeriodSeconds"),
        ("metadata", "deletionTimestamp"),
        ("metadata", "finalizers"),
        ("metadata", "generation"),
        ("metadata", "managedFields"),
        ("metadata", "ownerReferences"),
        ("metadata", "resourceVersion"),
        ("metadata", "selfLink"),
        ("metadata", "uid"),
    }
)
"""Fields that `kubectl get -o yaml` shows and people did not write: accepted and ignored."""
_NAMESPACED: Final = frozenset(
    {"ApplicationSet", "ManagedClusterSetBinding", "Placement", "ScoredPlacement"}
)
"""Kinds of which several namespaces can have an object of the same name."""


def declare(loaded: Loaded) -> Declared:
    """Validates every document on its own. Never raises for a user's mistake."""
    diagnostics = Listed()
    diagnostics.add(with_expected_types(loaded.diagnostics, loaded.documents))
    # Where the loader found a mistake, such as an ambiguous scalar, the model would find another
    # one of the same value.
    known_positions = {finding.position for finding in diagnostics.items}
    items: dict[str, dict[str, Item[Any]]] = defaultdict(dict)
    broken: list[Document] = []
    foreign: list[Document] = []
    left_out: set[tuple[str, str]] = set()
    for finding in loaded.diagnostics:
        if finding.code in _UNREADABLE:
            # Even if the file cannot be read, its folder shows of which kinds it is.
            left_out |= {(kind, "") for kind in _kinds_of(finding.position.file)}
    for document in loaded.documents:
        model = KINDS.get((document.api_version, document.kind))
        if model is None:
            unknown = unknown_kind(document)
            diagnostics.add([unknown])
            if unknown.severity is Severity.ERROR:
                left_out |= {(kind, _valid_name(document)) for kind in _meant_kinds(document)}
            else:
                foreign.append(document)
            continue
        diagnostics.add(_wrong_folder(document))
        value = _validate(model, document, known=known_positions, diagnostics=diagnostics)
        # An ambiguous value was read as text. That may be valid, and other readers see a number.
        if value is None or document.ambiguous:
            broken.append(document)
            left_out.add((document.kind, _valid_name(document)))
            continue
        _add(items[document.kind], Item(value, document), diagnostics)
    by_kind = {kind: _sorted_values(by_name) for kind, by_name in items.items()}
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
        foreign=tuple(foreign),
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
    data = document.data
    # Each field that is left out copies the object around it, so their number is limited.
    for mistake in errors[:MAX_OF_DOCUMENT]:
        if _is_ignored(mistake):
            data = _without(data, mistake["loc"])
    if data is not document.data:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
    diagnostics.add(_explained(errors, model, document, known=known))
    return None


def _is_ignored(mistake: ErrorDetails) -> bool:
    """Whether an error is about a field that counts as absent.

    A field without a value is null in YAML, and Kubernetes reads null as absent.
    """
    if mistake["type"] == "extra_forbidden":
        return mistake["loc"] in _SERVER_OWNED
    return mistake["input"] is None and mistake["type"] != "missing"


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
    spellings = [dialect.finding(document) for dialect in dialects]
    listed.add(finding for finding in spellings if finding.position not in known)
    findings = explain(errors, model=model, document=document, dialects=dialects)
    for number, finding in enumerate(findings):
        if listed.is_full:
            # To put one into words takes longer the more fields the document has.
            listed.count(len(errors) - number, at=finding.position)
            break
        if finding.position not in known:
            listed.add([finding])
    return listed.all()


def _without(value: Any, path: FieldPath) -> Any:  # noqa: ANN401 - whatever YAML holds
    """A copy without the field at this path; the same value if there is none."""
    part, *rest = path
    if isinstance(value, dict) and part in value:
        if rest:
            return {**value, part: _without(value[part], tuple(rest))}
        return {key: field for key, field in value.items() if key != part}
    if isinstance(value, list) and isinstance(part, int) and part < len(value) and rest:
        return [*value[:part], _without(value[part], tuple(rest)), *value[part + 1 :]]
    return value


def _sorted_values(by_name: Mapping[str, Item[Any]]) -> tuple[Item[Any], ...]:
    return tuple(by_name[name] for name in sorted(by_name))


def _valid_name(document: Document) -> str:
    """The value of metadata.name; empty if it is not a valid name."""
    return document.name if re.fullmatch(DNS_SUBDOMAIN, document.name) else ""


def _meant_kinds(document: Document) -> list[str]:
    """Known kinds that a document of an unknown kind was probably meant to be."""
    if any(kind == document.kind for _, kind in KINDS):
        return [document.kind]
    kinds_of_folder = _kinds_of(document.file)
    if not document.kind or meant_kind(document.kind) in kinds_of_folder:
        return kinds_of_folder
    return []


def _kinds_of(file: str) -> list[str]:
    """Kinds that belong in the folder of a file."""
    return [kind for kind, path in FOLDER_OF_KIND.items() if _is_in(file, path)]


def _is_in(file: str, path: str) -> bool:
    """Whether a path is that of this file, or of a folder that it is in."""
    return file == path or file.startswith(f"{path}/")


def _wrong_folder(document: Document) -> list[Diagnostic]:
    path = FOLDER_OF_KIND[document.kind]
    if _is_in(document.file, path):
        return []
    # Settings belong into one file; all other kinds into a folder.
    destination = path if path.endswith(".yaml") else f"{path}/"
    message = f"{document.kind} belongs in {destination}: folders decide who reviews a change"
    hint = f"move the document to {destination}"
    return [codes.WRONG_FOLDER.at(document.key_at(("kind",)), message, hint)]


def _add(by_name: dict[str, Item[Any]], item: Item[Any], diagnostics: Listed) -> None:
    """Adds an object by its name, and by its namespace if the kind can be in several."""
    kind = item.document.kind
    metadata = item.document.data["metadata"]
    key = item.name
    # No name has a NUL, so that no name and namespace look like another pair.
    if kind in _NAMESPACED and metadata.get("namespace"):
        key = f"{key}\0{metadata['namespace']}"
    if kind == "FleetRepository":
        # A repository has one, whatever its name.
        key = ""
    first = by_name.setdefault(key, item)
    if first is not item:
        message = f"{kind} {item.name} exists already at {first.position}"
        if key == "":
            message = f"a repository has one FleetRepository; the first is at {first.position}"
        hint = "rename one of them, or remove it"
        diagnostics.add([codes.DUPLICATE_OBJECT.at(item.position, message, hint)])
