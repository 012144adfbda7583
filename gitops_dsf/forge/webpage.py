"""The page of a forge that shows a line of a file at a commit."""

from typing import Final
from urllib.parse import quote

from gitops_dsf.forge.address import PUBLIC, ForgeKind, repository_of

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
    repository = repository_of(git_url)
    if repository is None:
        return ""
    known = PUBLIC.get(repository.host, kind)
    if known is None:
        return ""
    return _PAGES[known].format(
        repository=f"{repository.scheme}://{repository.host}{repository.port}/{repository.place}",
        commit=quote(commit, safe=""),
        path=quote(path),
        line=line,
    )
