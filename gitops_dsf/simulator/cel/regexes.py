"""Regex functions (apiserver/pkg/cel/library/regex.go) with RE2, which has the same syntax and leftmost-first
rule as Go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from gitops_dsf.simulator.cel.function import CelFailure, CelUnsupported, Function, method

LONGEST_PATTERN = 10_000
"""Characters of a pattern. RE2 takes gigabytes for five times as many groups."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type stubs
    if len(pattern) > LONGEST_PATTERN:
        raise CelUnsupported(f"a regular expression beyond {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        detail = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise CelFailure(f"error parsing regexp: {detail}") from error


def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return str(found.group()) if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches = [str(found.group()) for found in _compiled(pattern).finditer(text)]
    if "" in matches:
        raise CelUnsupported(f"findAll with {pattern!r}, which matches the empty text")
    return matches if limit < 0 else matches[:limit]


def regex_error(pattern: str) -> str | None:
    """Why a pattern does not compile, or None. OCM compiles constant patterns of find and findAll in advance.

    Raises:
        CelUnsupported: it compiles here, but not in Go.
    """
    if "\\C" in pattern:
        raise CelUnsupported(f"the regular expression {pattern!r}: Go has no \\C")
    try:
        _compiled(pattern)
    except CelFailure as error:
        return str(error)
    return None


def functions() -> tuple[Function, ...]:
    texts = ("string", "string")
    found = "list(string)"
    return (
        method("find", _find, (*texts, "string")),
        method("findAll", _find_all, (*texts, found), (*texts, "int", found)),
    )
