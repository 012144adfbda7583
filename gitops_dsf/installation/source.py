"""The parts of a fleet repository that `install` takes: settings, and objects that people apply."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.errors import RepositoryError
from gitops_dsf.output import Changes, compare, write
from gitops_dsf.packagedata import packaged
from gitops_dsf.pipeline import RenderResult, produce
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.render.tree import RenderedTree, bootstrap_objects
from gitops_dsf.repository.files import write_file
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.yamledit import YamlFile

Manifest = dict[str, Any]
HEALTH: Final = "argocd/install/argocd-cm-health.yaml"


@dataclass(frozen=True, kw_only=True)
class InstallSource:
    """A fleet repository without errors."""

    directory: Path
    settings: FleetRepository
    bootstrap: tuple[Manifest, ...]
    """The AppProjects and Applications of rendered/argocd."""
    tree: RenderedTree
    changes: Changes | None
    """The differences between rendered/ and the sources; None if it is on another branch."""
    new_settings: str | None = None
    """The text of gitops-dsf.yaml with another URL; None if the URL stays."""

    def health_checks(self) -> Manifest:
        """The health checks of OCM's kinds and ours, for Argo CD's ConfigMap."""
        documents = load_text(packaged(HEALTH).read_text("utf-8"), file=HEALTH).documents
        manifest: Manifest = documents[0].data
        # Argo CD reads the ConfigMap of its own namespace alone.
        manifest["metadata"]["namespace"] = self.settings.spec.argocd.namespace
        return manifest

    def save(self) -> None:
        """Writes gitops-dsf.yaml and rendered/ for the new URL. Raises RepositoryError."""
        if self.new_settings is not None:
            write_file(self.directory / SETTINGS_FILE, self.new_settings)
        if self.changes is not None:
            write(self.tree, self.directory / RENDERED, self.changes)


@dataclass(frozen=True, kw_only=True)
class CheckedSource:
    """A fleet repository that was read, with or without errors."""

    source: InstallSource | None
    """None if there are errors."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings."""


def read_source(directory: Path, *, url: str | None = None) -> CheckedSource:
    """Reads a repository, with another URL in spec.git.url if one is given.

    Raises RepositoryError when the repository cannot be read, or rendered/ is out of date: Argo CD
    would apply what is in git.
    """
    rendered = produce(directory)
    if rendered.tree is None or rendered.fleet is None:
        return CheckedSource(source=None, diagnostics=rendered.diagnostics)
    # In the other mode a pipeline renders, and this folder does not have the tree.
    if rendered.fleet.repository.spec.output.mode == "Directory":
        _check_rendered(rendered.tree, directory / RENDERED)
    new_settings = None
    if url is not None and url != rendered.fleet.repository.spec.git.url:
        new_settings = _with_url(directory, rendered.fleet.repository.metadata.name, url)
        with _copied(directory, new_settings) as copy:
            rendered = produce(copy)
    return CheckedSource(
        source=_source(directory, rendered, new_settings), diagnostics=rendered.diagnostics
    )


def _check_rendered(tree: RenderedTree, out: Path) -> None:
    changes = compare(tree, out)
    if changes.only_line_ends and set(changes.stale) == changes.only_line_ends:
        raise RepositoryError(f"{out}: {changes.line_ends}, commit and push")
    if not changes.is_clean:
        raise RepositoryError(
            f"{out} is out of date, and Argo CD applies it from git: run `gitops-dsf render`,"
            " commit and push"
        )


def _source(
    directory: Path, rendered: RenderResult, new_settings: str | None
) -> InstallSource | None:
    if rendered.tree is None or rendered.fleet is None:
        return None
    settings = rendered.fleet.repository
    changes = None
    if settings.spec.output.mode == "Directory":
        changes = compare(rendered.tree, directory / RENDERED)
    return InstallSource(
        directory=directory,
        settings=settings,
        bootstrap=tuple(bootstrap_objects(rendered.fleet)),
        tree=rendered.tree,
        changes=changes,
        new_settings=new_settings,
    )


def _with_url(directory: Path, name: str, url: str) -> str:
    """The text of gitops-dsf.yaml with another spec.git.url."""
    path = directory / SETTINGS_FILE
    try:
        file = YamlFile(path.read_bytes().decode())
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoryError(f"{path} cannot be read: {error}") from error
    document = file.find("FleetRepository", name)
    spec = None if document is None else document.get("spec")
    git = spec.get("git") if isinstance(spec, CommentedMap) else None
    if not isinstance(git, CommentedMap):
        raise RepositoryError(f"{path}: spec.git cannot be edited; write spec.git.url by hand")
    # Comments and the order of fields stay as people wrote them.
    git["url"] = url
    return file.text


@contextmanager
def _copied(directory: Path, settings: str) -> Iterator[Path]:
    """A copy of the sources with other settings: nothing changes before all checks passed."""
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-") as name:
        copy = Path(name)
        for folder in FOLDERS:
            # Links stay links, so that the copy is judged like the folder: none may lead out of it.
            if (directory / folder).is_dir():
                shutil.copytree(directory / folder, copy / folder, symlinks=True)
        (copy / SETTINGS_FILE).write_text(settings, encoding="utf-8", newline="")
        yield copy
