"""What `install` takes from a fleet repository: its settings, and the objects that people apply; and whether
the branch that Argo CD follows has the tree, before anything waits for it.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.errors import RepositoryError
from gitops_dsf.output import Changes, compare, write
from gitops_dsf.packagedata import packaged
from gitops_dsf.pipeline import produce
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.render.tree import RenderedTree, bootstrap_objects
from gitops_dsf.repository.files import write_file
from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.yamledit import YamlFile

Object = dict[str, Any]
HEALTH: Final = "argocd/install/argocd-cm-health.yaml"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A fleet repository without errors."""

    directory: Path
    settings: FleetRepository
    bootstrap: tuple[Object, ...]
    """The AppProjects and Applications of rendered/argocd."""
    tree: RenderedTree
    changes: Changes | None
    """How rendered/ differs from the sources; None if it is on another branch."""
    new_settings: str | None = None
    """The text of gitops-dsf.yaml with another URL; None if the URL stays."""

    def health_checks(self) -> Object:
        """The health checks of OCM's kinds and ours, for Argo CD's ConfigMap."""
        item: Object = load_text(packaged(HEALTH).read_text("utf-8"), file=HEALTH).documents[0].data
        item["metadata"]["namespace"] = self.settings.spec.argocd.namespace
        return item

    def save(self) -> None:
        """Writes gitops-dsf.yaml and rendered/ for the new URL. Raises RepositoryError."""
        if self.new_settings is not None:
            write_file(self.directory / SETTINGS_FILE, self.new_settings)
        if self.changes is not None:
            write(self.tree, self.directory / RENDERED, self.changes)


def read_source(
    directory: Path, *, url: str | None = None
) -> "tuple[Source | None, tuple[Diagnostic, ...]]":
    """Reads a repository, with another URL in spec.git.url if one is given. Returns no source if there are
    errors, and all findings.

    Raises RepositoryError when it cannot be read, or rendered/ is not what its sources say.
    """
    rendered = produce(directory)
    tree, fleet = rendered.tree, rendered.fleet
    if tree is None or fleet is None:
        return None, rendered.diagnostics
    out = directory / RENDERED
    in_folder = fleet.repository.spec.output.mode == "Directory"
    before = compare(tree, out) if in_folder else None
    if before is not None and before.only_line_ends and set(before.stale) == before.only_line_ends:
        raise RepositoryError(f"{out}: {before.line_ends}, commit and push")
    if before is not None and not before.is_clean:
        raise RepositoryError(
            f"{out} is not what the sources render to, and Argo CD applies it from git: run `gitops-dsf"
            " render`, commit and push"
        )
    new_settings = None
    if url is not None and url != fleet.repository.spec.git.url:
        new_settings = _with_url(directory, fleet.repository.metadata.name, url)
        with _copied(directory, new_settings) as copy:
            rendered = produce(copy)
        tree, fleet = rendered.tree, rendered.fleet
        if tree is None or fleet is None:
            return None, rendered.diagnostics
    return Source(
        directory=directory,
        settings=fleet.repository,
        bootstrap=tuple(bootstrap_objects(fleet)),
        tree=tree,
        changes=compare(tree, out) if in_folder else None,
        new_settings=new_settings,
    ), rendered.diagnostics


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
    git["url"] = url
    return file.text


@contextmanager
def _copied(directory: Path, settings: str) -> Iterator[Path]:
    """A copy of the sources with other settings, so that nothing changes before all checks passed."""
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-") as name:
        copy = Path(name)
        for folder in FOLDERS:
            if (directory / folder).is_dir():
                shutil.copytree(directory / folder, copy / folder, symlinks=True)
        (copy / SETTINGS_FILE).write_text(settings, encoding="utf-8", newline="")
        yield copy


SECONDS: Final = 20.0
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def unpublished(source: Source) -> tuple[str, str]:
    """What must be pushed first, and a note if that cannot be told from here; empty if nothing is wrong."""
    spec = source.settings.spec
    in_folder = spec.output.mode == "Directory"
    url, revision = spec.git.url, spec.git.target_revision if in_folder else spec.output.branch
    if _COMMIT.fullmatch(revision):
        return "", ""
    try:
        answer = Repository(directory=source.directory).attempt(
            "ls-remote", "--quiet", "--", url, revision, seconds=SECONDS
        )
    except RevisionError as error:
        return "", f"cannot look whether {url} has the tree: {error}"
    if answer.returncode != 0:
        said = answer.stderr.decode(errors="replace").strip().splitlines() or [
            "git ls-remote failed"
        ]
        why = printable(said[0].removeprefix("fatal: "), most=200)
        return "", f"cannot look whether {url} has the tree, and Argo CD may be able to ({why})"
    pairs = (line.split("\t") for line in answer.stdout.decode(errors="replace").splitlines())
    commits = {ref: commit for commit, ref in pairs}
    commit = commits.get(f"refs/heads/{revision}") or next(iter(commits.values()), None)
    if commit is None:
        do = f"commit and push {RENDERED}/"
        if not in_folder:
            do = "let the pipeline publish it, or run `gitops-dsf ci publish`"
        return f"{url} has no branch {revision}: {do}, and run install again", ""
    if not in_folder:
        return "", ""
    where = f"branch {revision} of {url} (commit {commit[:10]})"
    repository = Repository(directory=source.directory)
    if repository.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        return (
            "",
            f"{where} has commits that this clone lacks, so {RENDERED}/ is not compared: git pull",
        )
    changed = repository.attempt("diff", "--quiet", commit, "--", RENDERED)
    added = repository.attempt("ls-files", "--others", "--", RENDERED)
    if changed.returncode == 1 or added.stdout.strip():
        do = "commit and push it, and run install again"
        return f"{where} has another {RENDERED}/ than this folder: {do}", ""
    return "", ""
