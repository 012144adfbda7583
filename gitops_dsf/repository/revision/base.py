"""Chooses the commit that a change is compared with."""

import re
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.repository.revision.git import Repository, RevisionError

_OBJECT_ID = re.compile(r"[0-9a-f]{7,64}")
SHORT = 10


@dataclass(frozen=True, kw_only=True)
class Base:
    """A commit, and how it was chosen."""

    repository: Repository
    commit: str
    revision: str
    """The revision as the user wrote it."""
    note: str = ""
    """A note about the choice for people; empty if the commit is the revision itself."""

    @property
    def title(self) -> str:
        """For people: `main (3f2a1c9d0e)`."""
        short = self.commit[:SHORT]
        return short if self.commit.startswith(self.revision) else f"{self.revision} ({short})"


def find_base(directory: Path, revision: str, *, head: str = "HEAD") -> Base:
    """Returns the merge base of a revision and the head, as pull requests use, so that later commits of the
    other branch do not count as part of the change.

    If the history is too short, returns the revision itself. Raises RevisionError when the revision is not in
    this clone.
    """
    if not revision:
        raise RevisionError(
            "the revision to compare with is empty; name a commit, branch or tag, and look whether its"
            " variable is set"
        )
    repository = Repository(directory=directory)
    commit = repository.commit(revision)
    if commit is None:
        raise RevisionError(_not_here(repository, revision))
    if repository.commit(head) is None:
        return Base(repository=repository, commit=commit, revision=revision)
    done = repository.attempt("merge-base", "--end-of-options", commit, head)
    found = done.stdout.decode().split()
    if done.returncode == 0 and found:
        meanwhile = (
            ""
            if found[0] == commit
            else f"compared with the merge base {found[0][:SHORT]} of {revision} and {head}"
        )
        return Base(repository=repository, commit=found[0], revision=revision, note=meanwhile)
    why = "this clone is shallow" if repository.is_shallow else "they have no common history"
    note = (
        f"no merge base of {revision} and {head} ({why}): compared with {revision} itself, with everything"
        " that it has and this does not"
    )
    return Base(repository=repository, commit=commit, revision=revision, note=note)


def _not_here(repository: Repository, revision: str) -> str:
    if repository.is_shallow:
        return (
            f"the revision {revision} is not in this clone, which is shallow; fetch it with `git fetch"
            f" --depth=1 origin {revision}`, or clone with the whole history (GitHub: fetch-depth: 0, GitLab:"
            " GIT_DEPTH: 0)"
        )
    remote = f"origin/{revision}"
    if not _OBJECT_ID.fullmatch(revision) and repository.commit(remote) is not None:
        return f"there is no revision {revision} in this clone; did you mean {remote}?"
    return (
        f"there is no revision {revision} in this clone; fetch it with `git fetch origin {revision}`, or name"
        " a commit, branch or tag"
    )
