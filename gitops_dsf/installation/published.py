"""Checks that the branch that Argo CD follows has the tree, before `install` waits for it.

It asks the remote with `git ls-remote` and compares with this clone. It fetches nothing, so the
content of commits that the clone lacks is unknown.
"""

import re
from dataclasses import dataclass
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.installation.source import InstallSource
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.git import Repository, RevisionError

REMOTE_SECONDS: Final = 20.0
"""The time that the remote may take to list its branch."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class PublishedState:
    """Whether Argo CD finds the tree; both texts are empty if it does."""

    missing: str = ""
    """The commits or files that must be pushed first."""
    unknown: str = ""
    """The reason why this is unknown here."""


def published_state(source: InstallSource) -> PublishedState:
    """Whether the branch that Argo CD follows has the tree of a source."""
    spec = source.settings.spec
    in_folder = spec.output.mode == "Directory"
    url = spec.git.url
    revision = spec.git.target_revision if in_folder else spec.output.branch
    # A remote lists branches and tags. Whether it has a commit is not known without fetching.
    if _COMMIT.fullmatch(revision):
        return PublishedState()
    repository = Repository(directory=source.directory)
    try:
        answer = repository.attempt(
            "ls-remote", "--quiet", "--", url, revision, seconds=REMOTE_SECONDS
        )
    except RevisionError as error:
        return PublishedState(unknown=f"cannot look whether {url} has the tree: {error}")
    if answer.returncode != 0:
        lines = answer.stderr.decode(errors="replace").strip().splitlines()
        # Argo CD has credentials of its own, and may be in another network.
        problem = lines[0].removeprefix("fatal: ") if lines else "git ls-remote failed"
        return PublishedState(
            unknown=f"cannot look whether {url} has the tree, and Argo CD may be able to"
            f" ({printable(problem, max_characters=200)})"
        )
    commit = _commit_of(answer.stdout.decode(errors="replace"), revision)
    if commit is None and in_folder:
        return PublishedState(
            missing=f"{url} has no branch {revision}: commit and push {RENDERED}/, and run install"
            " again"
        )
    if commit is None:
        return PublishedState(
            missing=f"{url} has no branch {revision}: let the pipeline publish it, or run"
            " `gitops-dsf ci publish`, and run install again"
        )
    # A pipeline renders that branch, so it may differ from this folder.
    if not in_folder:
        return PublishedState()
    if repository.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        return PublishedState(
            unknown=f"branch {revision} of {url} (commit {commit[:10]}) has commits that this clone"
            f" lacks, so {RENDERED}/ is not compared: git pull"
        )
    # `git diff` compares files that git tracks, so those that were never added are asked for, too.
    changed = repository.attempt("diff", "--quiet", commit, "--", RENDERED)
    added = repository.attempt("ls-files", "--others", "--", RENDERED)
    if changed.returncode == 1 or added.stdout.strip():
        return PublishedState(
            missing=f"branch {revision} of {url} (commit {commit[:10]}) has another {RENDERED}/"
            " than this folder: commit and push it, and run install again"
        )
    return PublishedState()


def _commit_of(listed: str, revision: str) -> str | None:
    """The commit of a branch, or of a tag, in what `git ls-remote` prints; None without one."""
    commits: dict[str, str] = {}
    for line in listed.splitlines():
        commit, _, ref = line.partition("\t")
        commits[ref] = commit
    return commits.get(f"refs/heads/{revision}") or next(iter(commits.values()), None)
