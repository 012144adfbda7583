"""Regular expressions in CEL: `find` and `findAll` (apiserver/pkg/cel/library/regex.go).

RE2 has the syntax and the leftmost-first rule of Go's package regexp, so both find the same texts.
"""

from functools import lru_cache
from typing import Any

import re2

from gitops_dsf.simulator.cel.function import (
    CelFailure,
    CelFunction,
    CelUnsupported,
    method,
)

MAX_PATTERN_CHARACTERS = 10_000
"""Characters of a pattern. RE2 takes gigabytes for five times as many groups."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type stubs
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise CelUnsupported(f"a regular expression beyond {MAX_PATTERN_CHARACTERS} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise CelFailure(f"error parsing regexp: {_detail(error)}") from error


def _detail(error: Exception) -> str:
    # The binding passes RE2's message on as bytes.
    if error.args and isinstance(error.args[0], bytes):
        return error.args[0].decode()
    return str(error)


def _find(text: str, pattern: str) -> str:
    match = _compiled(pattern).search(text)
    if not match:
        return ""
    return str(match.group())


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches = [str(match.group()) for match in _compiled(pattern).finditer(text)]
    # Go and RE2 disagree on where empty matches begin.
    if "" in matches:
        raise CelUnsupported(f"findAll with {pattern!r}, which matches the empty text")
    if limit < 0:
        return matches
    return matches[:limit]


def regex_error(pattern: str) -> str | None:
    """The mistake in a constant pattern for OCM; None if there is none.

    Raises CelUnsupported if only Go refuses it.
    """
    if "\\C" in pattern:
        raise CelUnsupported(f"the regular expression {pattern!r}: Go has no \\C")
    try:
        _compiled(pattern)
    except CelFailure as error:
        return str(error)
    return None


def functions() -> tuple[CelFunction, ...]:
    """The functions as CEL declares them."""
    strings = "list(string)"
    return (
        method("find", _find, ("string", "string", "string")),
        method(
            "findAll",
            _find_all,
            ("string", "string", strings),
            ("string", "string", "int", strings),
        ),
    )
