"""Bounds the number of equal findings about many files."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.wording import plural

_MAX_NAMED: Final = 20
"""Findings of one kind that name a file each. One more counts the rest."""


def bounded(findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The first findings, and one that counts the rest.

    A sparse checkout or an attribute of all files concerns thousands of files for one reason.
    """
    in_order = sorted(findings, key=lambda finding: finding.position)
    yield from in_order[:_MAX_NAMED]
    rest = in_order[_MAX_NAMED:]
    if len(rest) == 1:
        yield rest[0]
    elif rest:
        files = plural(len(rest) - 1, "more file")
        yield replace(rest[0], message=f"{rest[0].message}; the same holds for {files}")
