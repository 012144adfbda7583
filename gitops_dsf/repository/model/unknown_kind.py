"""Documents of a kind or version that is not read, and what was probably meant."""

from gitops_dsf import codes
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.kinds import KINDS
from gitops_dsf.repository.model.suggestion import did_you_mean

_ELSEWHERE = {
    "List": "write each item as a document of its own, or run gitops-dsf import --from on the file",
    "Secret": "tokens live on the spokes, in namespace dynamic-scoring; name them with tokenSecretRef",
    "ConfigMap": "the ConfigMaps that scoring and Argo CD need are rendered; remove it",
    "ManagedClusterSetBinding": "bindings are rendered for every set that an application or Placement uses; remove it",
    "ManifestWork": "ManifestWorks are rendered from scorers/, config/ and clusters/; remove it",
    "AddOnPlacementScore": "scores are written by the agents; remove it",
    "Application": "write a ScoredApplication or an ApplicationSet, or keep it in another repository",
    "Kustomization": "the sources of a fleet repository are read as they are; remove it",
}


def unknown_kind(document: Document) -> Diagnostic:
    """The finding for a document that no model describes."""
    for field in ("apiVersion", "kind"):
        value = document.data.get(field)
        if value is None:
            return codes.MISSING_FIELD.at(document.at((field,)), f"{field} is missing", f"add {field}; known kinds: {_known()}")
        if not isinstance(value, str):
            return codes.WRONG_TYPE.at(document.at((field,)), f"{field} must be text", "write it as text, in quotes if need be")
    versions = [version for version, kind in KINDS if kind == document.kind]
    if versions:
        message = f"{document.kind} is not known in apiVersion {document.api_version}"
        return codes.UNKNOWN_KIND.at(document.at(("apiVersion",)), message, f"write apiVersion: {versions[0]}")
    message = f"kind {document.kind} is not read in a fleet repository"
    hint = _ELSEWHERE.get(document.kind) or did_you_mean(document.kind, [kind for _, kind in KINDS]) or f"known kinds: {_known()}"
    return codes.UNKNOWN_KIND.at(document.at(("kind",)), message, hint)


def _known() -> str:
    return ", ".join(sorted(kind for _, kind in KINDS))
