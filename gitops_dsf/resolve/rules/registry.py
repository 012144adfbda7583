"""Every rule, in the order of its codes. A rule that is not listed here does not run."""

from collections.abc import Callable, Iterable
from typing import Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules import completeness, dimensions, references, weights

Rule = Callable[[Context], Iterable[Diagnostic]]

RULES: Final[tuple[Rule, ...]] = (
    completeness.settings_are_there,
    completeness.scorers_are_complete,
    completeness.locks_are_there,
    references.scorers_exist,
    dimensions.dimensions_can_match,
    weights.weights_count,
    weights.stickiness_can_be_expressed,
)
