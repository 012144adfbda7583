"""Runs the stages in order, for the command line and tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_dsf.diagnostics import Diagnostic, has_errors, in_order
from gitops_dsf.plan import Plan, build
from gitops_dsf.render.limits import check_limits
from gitops_dsf.repository.load import Known, Loaded
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.resolve import Resolved, resolve

if TYPE_CHECKING:
    from gitops_dsf.render.tree import RenderedTree


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A repository after all checks, without rendering it."""

    plan: Plan | None
    """None when any finding is an error."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings, in order of position."""

    @property
    def resolved(self) -> Resolved | None:
        """None when any finding is an error."""
        return None if self.plan is None else self.plan.resolved


def check(root: Path, *, known: Known | None = None, also: Iterable[Diagnostic] = ()) -> Checked:
    """Loads a repository and runs every check, including those of output sizes. `known` and `also` are as in
    `load`.

    Raises RepositoryError when the repository cannot be read.
    """
    return check_loaded(load(root, known=known, also=also))


def check_loaded(loaded: Loaded) -> Checked:
    """Runs every check on documents that are loaded already."""
    return check_declared(declare(loaded))


def check_declared(declared: Declared) -> Checked:
    """Runs every check on declared objects."""
    resolved, found = resolve(declared)
    if resolved is None:
        return Checked(plan=None, diagnostics=tuple(found))
    plan = build(resolved)
    diagnostics = tuple(in_order((*found, *check_limits(plan, declared))))
    if has_errors(diagnostics):
        return Checked(plan=None, diagnostics=diagnostics)
    return Checked(plan=plan, diagnostics=diagnostics)


@dataclass(frozen=True, kw_only=True)
class Rendered(Checked):
    """A repository after rendering."""

    tree: "RenderedTree | None"
    """None when any finding is an error."""


def produce(root: Path) -> Rendered:
    """Renders a repository in memory. Raises RepositoryError when it cannot be read."""
    checked = check(root)
    tree = None
    if checked.plan is not None:
        # Most verbs render nothing, so they need not import what renders.
        from gitops_dsf.render.tree import render  # noqa: PLC0415

        tree = render(checked.plan)
    return Rendered(plan=checked.plan, tree=tree, diagnostics=checked.diagnostics)
