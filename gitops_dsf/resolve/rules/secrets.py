"""Secrets that were written into the repository."""

import re
from collections.abc import Iterator
from typing import Any

from gitops_dsf import codes
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.model.mistake import dotted
from gitops_dsf.resolve.context import Context

_NAME = re.compile(r"(?i)(^|[^a-z])(api[-_]?key|token|password|passwd|secret|bearer|private[-_]?key|access[-_]?key|credentials?)$")
_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|^Bearer\s+\S{8,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."  # a JSON Web Token
    r"|\b(ghp|gho|ghs|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
)


def repository_holds_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """Arguments and annotations of scorers go to every spoke and into git history."""
    for item in context.declared.scorers:
        document = item.document
        for path, value in _strings(document.data.get("spec"), ("spec",)):
            if path[:3] == ("spec", "scoring", "arguments"):
                suspect = bool(_NAME.search(_words(str(path[-1])))) and len(value) >= 4
            else:
                suspect = False
            if suspect or _VALUE.search(value):
                message = f"{dotted(path)} looks like a secret"
                hint = "put it into a Secret on the spoke and name it with auth.tokenSecretRef, or let the scoring API hold it"
                yield codes.SECRET_IN_YAML.at(item.at(*path), message, hint)


def _words(name: str) -> str:
    """A camelCase name as words, so that openaiApiKey ends in Api_Key and monkey in no key."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)


def _strings(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:  # noqa: ANN401 - whatever YAML holds
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, (*path, index))
