"""Judges documents that no kind of a fleet repository describes: misspelt kinds, and others.

A kind that is probably ours is an error, because its content would be lost. Others are warnings: a
folder may hold files of other programs.
"""

import re
from difflib import get_close_matches
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.base import DSF_API, PRODUCT_API
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.wording import did_you_mean

_ELSEWHERE: Final = {
    "List": "write each item as a document of its own, or run gitops-dsf import --from on the file",
    "Secret": (
        "tokens live on the spokes, in namespace dynamic-scoring; name them with tokenSecretRef"
    ),
    "ConfigMap": "the ConfigMaps that scoring and Argo CD need are rendered; remove it",
    "ManifestWork": "ManifestWorks are rendered from scorers/, config/ and clusters/; remove it",
    "AddOnPlacementScore": "scores are written by the agents; remove it",
    "Application": (
        "write a ScoredApplication or an ApplicationSet, or keep it in another repository"
    ),
    "Kustomization": "the sources of a fleet repository are read as they are; remove it",
}
"""Hints for objects of kinds that people know from elsewhere."""
_PASSED_OVER: Final = (
    "nothing is rendered for it: keep it in another repository, or in a folder that is not read"
)
_OUR_GROUPS: Final = tuple(f"{version.partition('/')[0]}/" for version in (DSF_API, PRODUCT_API))
_ALIKE: Final = 0.85
"""The similarity that a name must have, from 0 to 1.

DynamicScore, ManagedClustr and Placment have it.
"""


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
        return codes.UNKNOWN_KIND.at(
            document.at(("apiVersion",)),
            f"{document.kind} is not known in apiVersion {document.api_version}",
            f"write apiVersion: {version}",
            edits=(Edit(("apiVersion",), value=version),),
        )
    message = f"kind {document.kind} is not read in a fleet repository"
    meant = meant_kind(document.kind)
    hint = _ELSEWHERE.get(document.kind) or (f"did you mean {meant}?" if meant else "")
    is_name_of_kind = re.fullmatch("[A-Z][A-Za-z0-9]*", document.kind) is not None
    is_ours = document.api_version.startswith(_OUR_GROUPS)
    # A List has objects that would be lost; other kinds of Kubernetes belong to other programs.
    if meant or not is_name_of_kind or document.kind == "List" or is_ours:
        similar = did_you_mean(document.kind, [kind for _, kind in KINDS])
        hint = hint or similar or f"known kinds: {_known()}"
        return codes.UNKNOWN_KIND.at(document.at(("kind",)), message, hint)
    return _other(document, message, hint or _PASSED_OVER)


def meant_kind(kind: str) -> str:
    """The known kind that is misspelt here; empty for the name of another kind.

    PlacementBinding is one that is not meant to be a Placement.
    """
    if kind in _ELSEWHERE:
        return ""
    # A longer name that begins with one of ours is another kind, and no misspelling of ours.
    candidates = {name.lower(): name for _, name in KINDS if not re.match(f"{name}[A-Z]", kind)}
    close = get_close_matches(kind.lower(), sorted(candidates), n=1, cutoff=_ALIKE)
    return candidates[close[0]] if close else ""


def _is_object(document: Document) -> bool:
    """Whether a document could be ours without apiVersion and kind.

    A chart's Chart.yaml or values.yaml could not.
    """
    data = document.data
    ours = any(data.get("apiVersion") == version for version, _ in KINDS)
    return ours or any(field in data for field in ("kind", "metadata", "spec"))


def _other(document: Document, message: str, hint: str) -> Diagnostic:
    path = ("kind",) if "kind" in document.data else ("apiVersion",)
    return codes.UNKNOWN_KIND.at(document.at(path), message, hint, severity=Severity.WARNING)


def _known() -> str:
    return ", ".join(sorted(kind for _, kind in KINDS))
