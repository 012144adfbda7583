"""Runs the stages in order, for the command line and tests.

    load -> declare -> context_of, findings -> plan -> check_limits -> render

Each stage is pure but the first. A stage runs only if the ones before it found no error, so `plan`
and `render` never see a mistake.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_dsf.diagnostics import Diagnostic, has_errors, in_order
from gitops_dsf.plan.fleet import CheckedFleet, plan
from gitops_dsf.render.limits import check_limits
from gitops_dsf.repository.load import Loaded, ParsedFiles
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.resolve import findings
from gitops_dsf.resolve.context import context_of

if TYPE_CHECKING:
    from gitops_dsf.render.tree import RenderedTree


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The findings of all checks of a repository, and the fleet if none of them is an error."""

    fleet: CheckedFleet | None
    """None when any finding is an error."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings, in order of position."""


@dataclass(frozen=True, kw_only=True)
class RenderResult(CheckResult):
    """The result of rendering a repository."""

    tree: "RenderedTree | None"
    """None when any finding is an error."""


def check(
    root: Path, *, known: ParsedFiles | None = None, also: Iterable[Diagnostic] = ()
) -> CheckResult:
    """Loads a repository and runs every check, including those of output sizes.

    `known` and `also` are as in `load`. Raises RepositoryError when the repository cannot be read.
    """
    return check_loaded(load(root, known=known, also=also))


def check_loaded(loaded: Loaded) -> CheckResult:
    """Runs every check on documents that are loaded already."""
    return check_declared(declare(loaded))


def check_declared(declared: Declared) -> CheckResult:
    """Runs every check on declared objects."""
    context = context_of(declared)
    diagnostics = findings(context)
    if has_errors(diagnostics):
        return CheckResult(fleet=None, diagnostics=tuple(diagnostics))
    fleet = plan(context)
    diagnostics = in_order((*diagnostics, *check_limits(fleet, declared)))
    if has_errors(diagnostics):
        return CheckResult(fleet=None, diagnostics=tuple(diagnostics))
    return CheckResult(fleet=fleet, diagnostics=tuple(diagnostics))


def produce(root: Path) -> RenderResult:
    """Renders a repository in memory. Raises RepositoryError when it cannot be read."""
    return produce_checked(check(root))


def produce_checked(checked: CheckResult) -> RenderResult:
    """Renders a repository that was checked already."""
    tree = None
    if checked.fleet is not None:
        # Most verbs render nothing, so they need not import what renders.
        from gitops_dsf.render.tree import render  # noqa: PLC0415

        tree = render(checked.fleet)
    return RenderResult(fleet=checked.fleet, tree=tree, diagnostics=checked.diagnostics)
