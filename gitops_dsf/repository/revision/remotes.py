"""The remote of a clone from which people fetch."""

from gitops_dsf.repository.git import Repository


def remote_of(repository: Repository) -> str:
    """The remote to name in a command: origin, or the first one. Raises RevisionError."""
    # `git clone` names it origin, unless people choose another name.
    remotes = repository.text("remote").split("\n")
    return "origin" if "origin" in remotes else remotes[0] or "origin"


def remote_and_name(repository: Repository, revision: str) -> tuple[str, str]:
    """The remote and the branch that a revision may mean: `main` may be a clone's origin/main."""
    remote, _, name = revision.partition("/")
    if name and remote in repository.text("remote").split("\n"):
        return remote, name
    return remote_of(repository), revision
