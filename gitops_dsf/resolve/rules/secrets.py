"""Finds secrets that are written into the repository."""

import re
from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, FieldPath, texts_in
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.secret_names import names_a_secret
from gitops_dsf.resolve.url_parameters import url_parameters

_SECRET_VALUE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|^Bearer\s+\S{8,}"
    # A JSON Web Token, found by its second part: a search for the first may read a text often.
    r"|(?<=[A-Za-z0-9_-]{13})\.eyJ[A-Za-z0-9_-]{10,}\."
    r"|\b(ghp|gho|ghs|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
)
"""Texts that are secrets by their form, whatever their field is called."""
_MIN_ARGUMENT: Final = 4
"""Characters of an argument that is suspected for its name: `token: yes` is not a secret."""


@rule()
def repository_holds_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """Arguments go to every cluster, annotations and applications to the hub, and all into git."""
    declared = context.declared
    repository = () if declared.repository is None else (declared.repository,)
    objects = (
        *declared.scorers,
        *declared.applications,
        *declared.scored_placements,
        *declared.application_sets,
        *declared.locks,
        *declared.metric_sources,
        *repository,
    )
    # A document with another mistake may hold a secret, too.
    documents = [declared_object.document for declared_object in objects]
    for document in (*documents, *declared.broken):
        for path, value in texts_in(document.data):
            # The value is not in the message, because findings end up in logs of pipelines.
            if _is_suspect(path, value) or _SECRET_VALUE.search(value):
                yield codes.SECRET_IN_YAML.at(
                    document.at(path), f"{dotted(path)} looks like a secret", _hint(document)
                )


@rule()
def headers_hold_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """A plain header must not be one that holds a credential."""
    for variant in context.source_variants:
        for index, header in enumerate(variant.value.headers):
            if header.value is not None and _holds_a_credential(header.name):
                path = (*variant.path, "headers", index, "value")
                yield codes.SECRET_IN_YAML.at(
                    variant.source.at(*path),
                    f"{dotted(path)} looks like a secret: {header.name} is a header of credentials",
                    "put it into a Secret on the spoke and name it with secretRef",
                )
    writing = context.settings.agent.remote_write
    for name in writing.headers if writing is not None else ():
        if _holds_a_credential(name):
            path = ("spec", "agent", "remoteWrite", "headers", name)
            yield codes.SECRET_IN_YAML.at(
                context.repository.at(*path),
                f"{dotted(path)} looks like a secret: {name} is a header of credentials",
                "put a token into a Secret on the spoke and name it with auth.tokenSecretRef",
            )


@rule()
def parameters_hold_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """A URL parameter must not hold a credential: URLs are in git, and in logs of servers."""
    for owner, holder, parameters in url_parameters(context):
        for name, value in parameters.items():
            if value and names_a_secret(name):
                path = (*holder, name)
                yield codes.SECRET_IN_YAML.at(
                    owner.at(*path),
                    f"{dotted(path)} looks like a secret: {name} is a parameter of credentials",
                    "put it into a Secret on the spoke and name it with auth.tokenSecretRef, or"
                    " with headers[].secretRef of a MetricSource",
                )


def _hint(document: Document) -> str:
    if document.kind in {"DynamicScorer", "MetricSource", "ScorerLock"}:
        return (
            "put it into a Secret on the spoke and name it with auth.tokenSecretRef, or let the"
            " scoring API hold it"
        )
    return "put it into a Secret that the application reads on its cluster"


def _holds_a_credential(header: str) -> bool:
    # A cookie is a credential, whatever its name in the header says.
    return names_a_secret(header) or header.lower() == "cookie"


def _is_suspect(path: FieldPath, value: str) -> bool:
    """Whether a field holds a secret by its name: an argument, or a token without a reference."""
    name = str(path[-1])
    if path[:3] == ("spec", "scoring", "arguments"):
        return len(value) >= _MIN_ARGUMENT and names_a_secret(name)
    if len(path) >= 2 and path[-2] in {"auth", "oauth2"}:
        return names_a_secret(name) and name != "serviceAccountToken"
    return name == "value" and "tokenSecretRef" in path
