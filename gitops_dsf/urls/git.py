"""URLs of git repositories: those that git can clone, and the mistakes in others.

A URL is only read, and no request is made. git starts programs for some URLs, so a URL is judged
here before git gets it.
"""

import re
from typing import Final, NamedTuple

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.urls.parts import host_of, parts_of

PUSHABLE: Final = re.compile(r"(https?|ssh|file)://\S*/\S+|([\w.-]+@)?[A-Za-z0-9][\w.-]*:(?!//)\S+")
"""Git URLs, also as ssh writes them."""
CLONABLE: Final = re.compile(rf"{PUSHABLE.pattern}|/\S+")
"""The same, and absolute paths."""
GIT_URLS: Final = (
    "https://host/owner/repository.git, ssh://git@host/owner/repository.git or"
    " git@host:owner/repository.git"
)
"""The forms of a URL that people can write, for hints."""
_MISLEADS_GIT: Final = re.compile(r"[\w+.-]+::|(?:[^/]*://)?(?:[^/@]*@)?-|[^/:]*:-")
"""A remote helper, or a host or path that begins like an option of ssh."""
_BROWSED: Final = re.compile(
    r"(https?://[^/\s]+/[^/\s]+/\S+?)/(?:-/)?(?:tree|blob|src/branch)/(\S+?)/?"
)
"""A page of a folder or file at GitHub (tree, blob), GitLab (-/tree) or Gitea (src/branch)."""
_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<link>[^()\s]+)\)|<(?P<bracketed>[^<>\s]+)>")
"""A URL as Markdown writes it."""
_DRIVE: Final = re.compile(r"[A-Za-z]:(?:\\|/(?!/))")
"""The beginning of a path on Windows. ssh would take the letter for a host."""


def misleads_git(url: str) -> bool:
    """Whether git or ssh would take a URL for something else than an address.

    git starts a program for `ext::COMMAND`, and ssh reads an option in `ssh://-oProxyCommand=`.
    """
    return _MISLEADS_GIT.match(url) is not None


def fault_of_form(url: str) -> Mistake | None:
    """A form that no URL of a repository has, whether it is one of git, Helm or OCI."""
    if link := _LINK.fullmatch(url):
        target = link["link"] or link["bracketed"]
        return Mistake("this is a Markdown link, not a URL", f"write {target}")
    # Before the backslash, which most such paths have, too.
    if _DRIVE.match(url):
        return Mistake(
            "this is a folder on Windows, which no server can reach", f"write {GIT_URLS}"
        )
    if "\\" in url:
        slashes = url.replace("\\", "/")
        return Mistake("a URL has no backslash", f"write {slashes}")
    if misleads_git(url):
        return Mistake(
            "git would start a program for this URL, or take it for an option", f"write {GIT_URLS}"
        )
    return None


def git_fault(url: str) -> Mistake | None:
    """The mistake in the URL of a git repository; None if git can clone it."""
    if fault := fault_of_form(url):
        return fault
    if CLONABLE.fullmatch(url):
        return None
    return Mistake("Argo CD cannot clone this URL", f"write {GIT_URLS}")


def holds_credentials(url: str) -> bool:
    """Whether a URL of a repository has a password or a token in it.

    For ssh, a user alone is not a credential. For http it may be a token. Only Azure DevOps offers
    URLs with a user, which is the organisation and the first part of the path:
    https://ORGANISATION@dev.azure.com/ORGANISATION/...
    """
    parts = parts_of(url)
    if parts.password is not None:
        return True
    if parts.username is None or parts.scheme not in {"http", "https"}:
        return False
    return parts.hostname != "dev.azure.com" or not parts.path.startswith(f"/{parts.username}/")


def host_of_repository(url: str) -> str:
    """The host of a repository in lower case, also as ssh writes it; empty for a local path."""
    host = host_of(url)
    # Otherwise it may be an address as ssh writes it, which urlsplit takes for a path.
    if host or "://" in url:
        return host
    address, colon, _ = url.partition(":")
    # As git reads it: a slash before the colon makes it a path.
    if not colon or "/" in address:
        return ""
    return address.rpartition("@")[2].lower()


class BrowsedBranch(NamedTuple):
    """The branch and the path that a page of a forge shows."""

    clone_url: str
    branch: str


def browsed_branch(url: str) -> BrowsedBranch | None:
    """The branch that a forge's page shows; None if the URL is not that of a branch's page.

    The branch may be followed by a path: the URL does not show where the branch ends.
    """
    page = _BROWSED.fullmatch(url)
    if page is None or url.rstrip("/").endswith(".git"):
        return None
    return BrowsedBranch(clone_url=f"{page[1].removesuffix('.git')}.git", branch=page[2])
