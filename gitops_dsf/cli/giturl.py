"""The git URL of a fleet repository: whether Argo CD can clone it, and which forge serves it."""

import re
from typing import Final
from urllib.parse import urlsplit

from gitops_dsf.canonicalyaml import scalar
from gitops_dsf.errors import UsageError
from gitops_dsf.urls.git import browsed_branch, git_fault, holds_credentials

# Servers of companies are mostly named after the forge, such as gitlab.example.com. Codeberg is the
# exception among the public ones. Forgejo has the API and the workflows of Gitea.
FORGES: Final = {
    "github": "github",
    "gitlab": "gitlab",
    "gitea": "gitea",
    "forgejo": "gitea",
    "codeberg.org": "gitea",
}
"""The text in the name of a host, and the forge that it points to."""


def check_url(url: str) -> None:
    """Raises UsageError for a URL that Argo CD cannot clone, or that holds credentials."""
    # A URL of a page of the forge is what people copy first. And the template has the URL without
    # quotes, so YAML must read it as it is.
    if git_fault(url) or browsed_branch(url) is not None or url != scalar(url):
        raise UsageError(
            f"{url!r} is not a git URL: write it as Argo CD clones it, such as"
            " https://git.example.com/team/fleet.git or git@git.example.com:team/fleet.git"
        )
    # It refuses hosts such as an IPv6 address without its closing bracket.
    try:
        urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url!r} is not a git URL: {error}") from error
    if holds_credentials(url):
        raise UsageError(
            "the git URL holds credentials, and it would be committed: leave them out and give them"
            " to Argo CD as a repository Secret"
        )


def forge_of(url: str) -> str | None:
    """Returns the forge that serves a URL, if its host says it."""
    # The scheme or the user of ssh come first, and ssh has a colon behind the host.
    host = re.sub(r"^[a-z+]+://|[^/@]*@", "", url).partition("/")[0]
    for part, forge in FORGES.items():
        if part in host:
            return forge
    return None
