"""The remote of a clone from which people fetch."""

from collections.abc import Sequence
from typing import NamedTuple

from gitops_dsf.repository.git import Repository


def remotes_of(repository: Repository) -> list[str]:
    """The names of all remotes. Raises RevisionError."""
    return repository.text("remote").split()


def preferred(remotes: Sequence[str]) -> str:
    """The remote to name in a command: origin, or the first one."""
    # `git clone` names it origin, unless people choose another name.
    return "origin" if "origin" in remotes or not remotes else remotes[0]


def remote_of(repository: Repository) -> str:
    """The remote to name in a command. Raises RevisionError."""
    return preferred(remotes_of(repository))


class RemoteBranch(NamedTuple):
    """A branch of a remote."""

    remote: str
    name: str


def remote_branch_of(repository: Repository, revision: str) -> RemoteBranch:
    """The remote and the branch that a revision may mean: `main` may be a clone's origin/main."""
    remotes = remotes_of(repository)
    remote, _, name = revision.partition("/")
    if name and remote in remotes:
        return RemoteBranch(remote, name)
    return RemoteBranch(preferred(remotes), revision)
