"""The pages of a forge that show a file: a line of it at a commit, or what a branch has now."""

from typing import Final, NamedTuple
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
    home = _repository_page(git_url, kind)
    if home is None:
        return ""
    # A commit is one segment of the path; a path has several, whose slashes stay.
    return _PAGES[home.kind].format(
        repository=home.url, commit=quote(commit, safe=""), path=quote(path), line=line
    )


def branch_page(git_url: str, *, kind: ForgeKind | None, branch: str, path: str) -> str:
    """The URL of the page with a file of a branch as it is now; empty as for `file_page`."""
    home = _repository_page(git_url, kind)
    if home is None:
        return ""
    # Forges take the slashes of a branch as they are.
    return _BRANCHES[home.kind].format(repository=home.url, branch=quote(branch), path=quote(path))


class _RepositoryPage(NamedTuple):
    """The forge of a repository, and the URL of the repository's page."""

    kind: ForgeKind
    url: str


def _repository_page(git_url: str, kind: ForgeKind | None) -> _RepositoryPage | None:
    """The page of the repository that git clones; None if it does not follow from the URL."""
    address = repository_of(git_url)
    if address is None:
        return None
    forge = PUBLIC.get(address.host, kind)
    if forge is None:
        return None
    url = f"{address.scheme}://{address.host}{address.port}/{address.place}"
    return _RepositoryPage(forge, url)
