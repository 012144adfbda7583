"""Looks with git whether the branch that Argo CD follows has the tree, before anything waits for it."""

import re
from pathlib import Path
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.installation.source import Source
from gitops_dsf.render.argocd import RENDERED
from gitops_dsf.repository.revision import Repository, RevisionError

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
        said = answer.stderr.decode(errors="replace").strip().splitlines() or ["git ls-remote failed"]
        why = printable(said[0].removeprefix("fatal: "), most=200)
        return "", f"cannot look whether {url} has the tree, and Argo CD may be able to ({why})"
    pairs = (line.split("\t") for line in answer.stdout.decode(errors="replace").splitlines())
    commits = {ref: commit for commit, ref in pairs}
    commit = commits.get(f"refs/heads/{revision}") or next(iter(commits.values()), None)
    if commit is None:
        do = (
            f"commit and push {RENDERED}/"
            if in_folder
            else "let the pipeline publish it, or run `gitops-dsf ci publish`"
        )
        return f"{url} has no branch {revision}: {do}, and run install again", ""
    if in_folder and _differs(source.directory, commit):
        return (
            f"branch {revision} of {url} (commit {commit[:10]}) has another {RENDERED}/ than this folder:"
            " commit and push it, and run install again"
        ), ""
    return "", ""


def _differs(directory: Path, commit: str) -> bool:
    """Whether rendered/ of the folder is not that of a commit. A commit that this clone lacks is newer."""
    repository = Repository(directory=directory)
    if repository.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        return False
    changed = repository.attempt("diff", "--quiet", commit, "--", RENDERED)
    added = repository.attempt("ls-files", "--others", "--", RENDERED)
    return changed.returncode == 1 or bool(added.stdout.strip())
