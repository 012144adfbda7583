"""The stages, composed once: for the command line, the Argo CD plugin and tests."""

from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic, has_errors, in_order
from gitops_dsf.load import Limits, load
from gitops_dsf.model.validate import declare
from gitops_dsf.plan import Plan, build
from gitops_dsf.render import RenderedTree, render
from gitops_dsf.render.limits import check_limits
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.types import Resolved


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A repository after every check that needs no rendering."""

    resolved: Resolved | None
    """None when any finding is an error."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings, in order of place."""


def check(root: Path, *, limits: Limits | None = None) -> Checked:
    """Loads, declares and resolves a repository. Raises RepositoryError when it cannot be read at all."""
    loaded = load(root, limits=limits or Limits())
    resolved, diagnostics = resolve(declare(loaded))
    return Checked(resolved=resolved, diagnostics=tuple(diagnostics))


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """A repository after rendering; resolved, plan and tree are None when any finding is an error."""

    resolved: Resolved | None
    plan: Plan | None
    tree: RenderedTree | None
    diagnostics: tuple[Diagnostic, ...]
    """All findings, in order of place."""


def produce(root: Path, *, limits: Limits | None = None) -> Rendered:
    """Renders a repository in memory. Raises RepositoryError when it cannot be read at all."""
    checked = check(root, limits=limits)
    if checked.resolved is None:
        return Rendered(resolved=None, plan=None, tree=None, diagnostics=checked.diagnostics)
    plan = build(checked.resolved)
    tree = render(plan)
    diagnostics = tuple(in_order((*checked.diagnostics, *check_limits(plan, tree))))
    if has_errors(diagnostics):
        return Rendered(resolved=None, plan=None, tree=None, diagnostics=diagnostics)
    return Rendered(resolved=checked.resolved, plan=plan, tree=tree, diagnostics=diagnostics)
