"""The pages of a forge that show a file: a line of it at a commit, or what a branch has now."""

from typing import Final
from urllib.parse import quote

from gitops_dsf.forge.address import PUBLIC, ForgeKind, repository_of

_BRANCHES: Final[dict[ForgeKind, str]] = {
    "GitHub": "{repository}/blob/{branch}/{path}",
    "GitLab": "{repository}/-/blob/{branch}/{path}",
    "Gitea": "{repository}/src/branch/{branch}/{path}",
}
_PAGES: Final[dict[ForgeKind, str]] = {
    "GitHub": "{repository}/blob/{commit}/{path}#L{line}",
    "GitLab": "{repository}/-/blob/{commit}/{path}#L{line}",
    "Gitea": "{repository}/src/commit/{commit}/{path}#L{line}",
}


def file_page(git_url: str, *, kind: ForgeKind | None, commit: str, path: str, line: int) -> str:
    """The URL of the page; empty if it does not follow from the URL that git clones.

    `kind` is the forge that the settings name, None without one. That of a public forge is known by
    its host.
    """
    found = _repository(git_url, kind)
    if found is None:
        return ""
    known, repository = found
    return _PAGES[known].format(
        repository=repository, commit=quote(commit, safe=""), path=quote(path), line=line
    )


def branch_page(git_url: str, *, kind: ForgeKind | None, branch: str, path: str) -> str:
    """The URL of the page with a file of a branch as it is now; empty as for `file_page`."""
    found = _repository(git_url, kind)
    if found is None:
        return ""
    known, repository = found
    return _BRANCHES[known].format(repository=repository, branch=quote(branch), path=quote(path))


def _repository(git_url: str, kind: ForgeKind | None) -> tuple[ForgeKind, str] | None:
    """The forge, and the URL of the repository's page; None if they do not follow from the URL."""
    address = repository_of(git_url)
    if address is None:
        return None
    known = PUBLIC.get(address.host, kind)
    if known is None:
        return None
    return known, f"{address.scheme}://{address.host}{address.port}/{address.place}"
