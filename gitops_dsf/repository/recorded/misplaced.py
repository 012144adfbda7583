"""Finds a spec.git.path that is not the folder of the fleet in its repository."""

import posixpath
from collections.abc import Iterator
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.forge.address import names_same_repository
from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.load import Document, value_at
from gitops_dsf.repository.recorded.entries import decoded


def misplaced(root: Path, top: Path, settings: Document) -> Iterator[Diagnostic]:
    """A finding if spec.git.path is not the folder of the fleet in its repository.

    `top` is the root of its working tree. A clone of another repository than spec.git.url names,
    such as a mirror, says nothing about that.
    """
    git = value_at(settings.data, ("spec", "git"))
    if not isinstance(git, dict):
        return
    url = git.get("url")
    path = git.get("path") or ""
    if not isinstance(url, str) or not isinstance(path, str):
        return
    folder = root.resolve().relative_to(top).as_posix()
    # `fleet/`, `./fleet` and `fleet` mean the same folder.
    if posixpath.normpath(path.strip("/") or ".") == folder or not _is_clone_of(root, url):
        return
    is_root = folder == "."
    location = "at the root" if is_root else f"in the folder {folder}"
    yield codes.ELSEWHERE.at(
        settings.at(("spec", "git", "path") if "path" in git else ("spec", "git", "url")),
        f"spec.git.path is {path or 'empty'}, and this fleet is {location} of the repository:"
        " Argo CD looks for rendered/ where it is not",
        "remove path" if is_root else f"write path: {folder}",
    )


def _is_clone_of(root: Path, url: str) -> bool:
    """Whether a remote of the repository has this URL. False if git does not say."""
    try:
        completed = Repository(directory=root).attempt(
            "config", "--get-regexp", r"^remote\..*\.url$"
        )
    except RevisionError:
        return False
    remotes = [decoded(line).partition(" ")[2] for line in completed.stdout.splitlines()]
    return any(names_same_repository(url, remote) for remote in remotes)
