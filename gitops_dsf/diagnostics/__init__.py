"""Mistakes of users as values: a stable code, a position, what is wrong and what to write instead."""

from gitops_dsf.diagnostics.diagnostic import (
    Diagnostic,
    Edit,
    Position,
    Severity,
    has_errors,
    has_mistakes,
    in_order,
)

__all__ = ["Diagnostic", "Edit", "Position", "Severity", "has_errors", "has_mistakes", "in_order"]
