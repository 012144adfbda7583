"""A finding as JSON: one shape for every verb that prints findings.

The names of the fields are what users read with `-o json`, so they never change.
"""

from typing import Self

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.diagnostics import Diagnostic, Severity


class FindingOutput(Struct, frozen=True, kw_only=True):
    """A finding of `validate`. Line and column count from 1."""

    code: str
    severity: Severity | UnsetType = UNSET
    """Left out where all findings are errors."""
    message: str
    hint: str
    file: str
    line: int
    column: int

    @classmethod
    def of(cls, finding: Diagnostic) -> Self:
        """The finding with its severity."""
        return cls(
            code=finding.code,
            severity=finding.severity,
            message=finding.message,
            hint=finding.hint,
            file=finding.position.file,
            line=finding.position.line,
            column=finding.position.column,
        )

    @classmethod
    def of_error(cls, finding: Diagnostic) -> Self:
        """The finding in a list of errors, without its severity."""
        return cls(
            code=finding.code,
            message=finding.message,
            hint=finding.hint,
            file=finding.position.file,
            line=finding.position.line,
            column=finding.position.column,
        )
