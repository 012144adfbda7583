"""The stages, composed once: for the command line, the Argo CD plugin and tests."""

from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.load import Limits, load
from gitops_dsf.model.validate import declare
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
