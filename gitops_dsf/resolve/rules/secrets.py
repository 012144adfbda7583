"""Reports secrets that are written into the repository."""

import re
from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, Path, texts_in
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context

_NAME = re.compile(
    r"(?i)(^|[^a-z])(api[-_]?key|token|password|passwd|secret|bearer|private[-_]?key|access[-_]?key|credentials?)$"
)
_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|^Bearer\s+\S{8,}"
    # A JSON Web Token, found by its second part: a search for the first one may read the same text often.
    r"|(?<=[A-Za-z0-9_-]{13})\.eyJ[A-Za-z0-9_-]{10,}\."
    r"|\b(ghp|gho|ghs|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
)


def repository_holds_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """Arguments go to every cluster, annotations and applications to the hub, and all into git."""
    for document in (*_documents(context), *context.declared.broken):
        hint = "put it into a Secret that the application reads on its cluster"
        if document.kind in {"DynamicScorer", "MetricSource", "ScorerLock"}:
            hint = (
                "put it into a Secret on the spoke and name it with auth.tokenSecretRef, or let the scoring"
                " API hold it"
            )
        for path, value in texts_in(document.data):
            if _is_suspect(path, value) or _VALUE.search(value):
                yield codes.SECRET_IN_YAML.at(document.at(path), f"{dotted(path)} looks like a secret", hint)


def _documents(context: Context) -> Iterator[Document]:
    declared = context.declared
    for item in (
        *declared.scorers,
        *declared.applications,
        *declared.scored_placements,
        *declared.application_sets,
        *declared.locks,
        *declared.metric_sources,
        *(() if declared.repository is None else (declared.repository,)),
    ):
        yield item.document


def _is_suspect(path: Path, value: str) -> bool:
    """Whether a field holds a secret by its name: an argument, or a token in place of its reference."""
    name = str(path[-1])
    if path[:3] == ("spec", "scoring", "arguments"):
        return len(value) >= 4 and names_a_secret(name)
    if len(path) >= 2 and path[-2] in {"auth", "oauth2"}:
        return names_a_secret(name) and name != "serviceAccountToken"
    return name == "value" and "tokenSecretRef" in path


def headers_hold_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """A plain header must not be one that holds a credential."""
    for item in context.declared.metric_sources:
        for index, variant in enumerate(item.value.spec.variants):
            for place, header in enumerate(variant.headers):
                suspect = names_a_secret(header.name) or header.name.lower() == "cookie"
                if header.value is not None and suspect:
                    path = ("spec", "variants", index, "headers", place, "value")
                    message = f"{dotted(path)} looks like a secret: {header.name} is a header of credentials"
                    hint = "put it into a Secret on the spoke and name it with secretRef"
                    yield codes.SECRET_IN_YAML.at(item.at(*path), message, hint)


def names_a_secret(name: str) -> bool:
    """Whether a field of this name usually holds a secret, such as apiKey, access_token or password."""
    # A camelCase name is split, so that openaiApiKey ends in Api_Key, and monkey does not end in key.
    return _NAME.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)) is not None
