"""Finds the commit with which a change is compared."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.repository.git import SHORT, Repository, RevisionError, git_command, git_message
from gitops_dsf.repository.revision.remotes import remote_branch_of, remote_of

REF_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
"""Names of branches and tags that a command may show without quotes."""

_OBJECT_ID: Final = re.compile(r"[0-9a-f]{7,64}")
_WHOLE_IDS: Final = (40, 64)
"""Digits of a commit in SHA-1 and SHA-256. Servers take no fewer."""
_WHOLE_HISTORY: Final = (
    "clone with the whole history (GitHub: fetch-depth: 0, GitLab: GIT_DEPTH: 0)"
)


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
        """The name for people, such as `main (3f2a1c9d0e)`."""
        short = self.commit[:SHORT]
        return short if self.commit.startswith(self.revision) else f"{self.revision} ({short})"


def find_base(repository: Repository, revision: str, *, head: str = "HEAD") -> Base:
    """The merge base of a revision and the head, as pull requests use.

    So later commits of the other branch do not count as part of the change. If the two have no
    common history, returns the revision itself.

    Raises RevisionError when the revision is not in this clone, or a shallow clone lacks the
    history in which the merge base may be.
    """
    # An unset variable in a pipeline is an empty argument.
    if not revision:
        raise RevisionError(
            "the revision to compare with is empty; name a commit, branch or tag, and look whether"
            " its variable is set"
        )
    commit, own = repository.commits([revision, head])
    if commit is None:
        raise RevisionError(_not_here(repository, revision))
    if own is None:
        # A branch without commits has nothing in common with the revision.
        return Base(repository=repository, commit=commit, revision=revision)
    bases = _merge_bases(repository, commit, own)
    # If one side has all of the other, nothing that a clone lacks is newer.
    is_whole = commit in bases or own in bases
    if not is_whole and repository.is_shallow and _may_be_newer(repository, commit, own, bases):
        raise RevisionError(
            f"this clone is shallow, and may lack the commit where {revision} and {head} part; run"
            f" `{git_command(repository.directory)} fetch --unshallow {remote_of(repository)}`, or"
            f" {_WHOLE_HISTORY}"
        )
    if not bases:
        note = (
            f"no merge base of {revision} and {head} (they have no common history): compared with"
            f" {revision} itself, with everything that it has and this does not"
        )
        return Base(repository=repository, commit=commit, revision=revision, note=note)
    note = ""
    if bases[0] != commit:
        note = f"compared with the merge base {bases[0][:SHORT]} of {revision} and {head}"
    return Base(repository=repository, commit=bases[0], revision=revision, note=note)


def _merge_bases(repository: Repository, commit: str, head: str) -> Sequence[str]:
    """All merge bases. The first is the one that `git merge-base` names without --all.

    Raises RevisionError.
    """
    if commit == head:
        return (commit,)
    completed = repository.attempt("merge-base", "--all", "--end-of-options", commit, head)
    # Git exits with 1 if there is no merge base.
    if completed.returncode not in {0, 1}:
        reason = git_message(completed)
        raise RevisionError(reason)
    return completed.stdout.decode().split()


def _may_be_newer(repository: Repository, commit: str, head: str, bases: Sequence[str]) -> bool:
    """Whether a merge base newer than these may be in the history that a shallow clone lacks.

    `git merge-base` takes the commits where the history was cut for the first ones. It is right if
    none of these can be reached from a side, except through what it found.
    """
    cuts = repository.directory / repository.text("rev-parse", "--git-path", "shallow")
    try:
        first_commits = cuts.read_text("ascii").split()
    except OSError as error:
        raise RevisionError(f"{cuts} cannot be read: {error.strerror}") from error
    reached = repository.text("rev-list", commit, head, "--not", *bases).split()
    return not set(first_commits).isdisjoint(reached)


def _not_here(repository: Repository, revision: str) -> str:
    """The message for a revision that is not in this clone, with what to do about it."""
    clone = "this clone, which is shallow" if repository.is_shallow else "this clone"
    if not REF_NAME.fullmatch(revision):
        return f"the revision {revision} is not in {clone}; name a commit, branch or tag"
    branch = remote_branch_of(repository, revision)
    # The clone of a pipeline often has the branch of the remote only.
    remote_branch = f"{branch.remote}/{branch.name}"
    is_id = _OBJECT_ID.fullmatch(revision) is not None
    if not is_id and remote_branch != revision and repository.commit(remote_branch) is not None:
        return f"the revision {revision} is not in {clone}; did you mean {remote_branch}?"
    unshallow = " --unshallow" if repository.is_shallow else ""
    fetch = f"{git_command(repository.directory)} fetch{unshallow} {branch.remote}"
    alternative = _WHOLE_HISTORY if repository.is_shallow else "name a commit, branch or tag"
    if is_id and len(revision) in _WHOLE_IDS:
        command = f"{fetch} {revision}"
        return f"the revision {revision} is not in {clone}; run `{command}`, or {alternative}"
    if is_id:
        return (
            f"the revision {revision} is not in {clone}; run `{fetch}`, or write all"
            f" {_WHOLE_IDS[0]} digits of a commit, or {alternative}"
        )
    # A clone of one branch does not store other branches when it fetches them, unless a refspec
    # names the destination.
    command = f"{fetch} {branch.name}:refs/remotes/{remote_branch}"
    if remote_branch == revision:
        return f"the revision {revision} is not in {clone}; run `{command}`, or {alternative}"
    return (
        f"the revision {revision} is not in {clone}; run `{command}`, and name {remote_branch}, or"
        f" {alternative}"
    )
