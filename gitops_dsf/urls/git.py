"""URLs of git repositories: which ones git can clone, and what is wrong with the others.

A URL is only read, never asked. git runs programs for some URLs, so a URL is checked here before
git gets it.
"""

import re
from typing import Final

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.urls.parts import _parts

_MISLEADS_GIT: Final = re.compile(r"[\w+.-]+::|(?:[^/]*://)?(?:[^/@]*@)?-|[^/:]*:-")


_BROWSED: Final = re.compile(
    r"(https?://[^/\s]+/[^/\s]+/\S+?)/(?:-/)?(?:tree|blob|src/branch)/(\S+?)/?"
)


def misleads_git(url: str) -> bool:
    """Whether git would start a remote helper (`ext::`), or ssh take an option (`ssh://-oProxyCommand=`)."""
    return _MISLEADS_GIT.match(url) is not None


PUSHABLE: Final = re.compile(r"(https?|ssh|file)://\S*/\S+|([\w.-]+@)?[A-Za-z0-9][\w.-]*:(?!//)\S+")


CLONABLE: Final = re.compile(rf"{PUSHABLE.pattern}|/\S+")
"""Git URLs, also as ssh writes them, and absolute paths."""


GIT_URLS: Final = "https://host/owner/repository.git, ssh://git@host/owner/repository.git or git@host:owner/repository.git"


_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<link>[^()\s]+)\)|<(?P<bracketed>[^<>\s]+)>")
"""A URL as Markdown writes it."""


_DRIVE: Final = re.compile(r"[A-Za-z]:(?:\\|/(?!/))")
"""How a path on Windows begins. ssh would take the letter for a host."""


def fault_of_form(url: str) -> Mistake | None:
    """A form that no URL of a repository has, whether it is one of git, Helm or OCI."""
    if link := _LINK.fullmatch(url):
        target = link["link"] or link["bracketed"]
        return Mistake("this is a Markdown link, not a URL", f"write {target}")
    if _DRIVE.match(url):
        message = "this is a folder on Windows, which no server can reach"
        return Mistake(message, f"write {GIT_URLS}")
    if "\\" in url:
        slashes = url.replace("\\", "/")
        return Mistake("a URL has no backslash", f"write {slashes}")
    if misleads_git(url):
        message = "git would start a program for this URL, or take it for an option"
        return Mistake(message, f"write {GIT_URLS}")
    return None


def git_fault(url: str) -> Mistake | None:
    """What is wrong with the URL of a git repository; None if git can clone it."""
    if fault := fault_of_form(url):
        return fault
    if CLONABLE.fullmatch(url):
        return None
    return Mistake("Argo CD cannot clone this URL", f"write {GIT_URLS}")


def holds_credentials(url: str) -> bool:
    """Whether a URL of a repository has a password or a token in it.

    A user alone is none for ssh. For http it may be a token. Only Azure DevOps offers URLs with a
    user, which is the organisation and the first part of the path:
    https://ORGANISATION@dev.azure.com/ORGANISATION/...
    """
    parts = _parts(url)
    if parts.password is not None:
        return True
    if parts.username is None or parts.scheme not in {"http", "https"}:
        return False
    return parts.hostname != "dev.azure.com" or not parts.path.startswith(f"/{parts.username}/")


def browsed_branch(url: str) -> tuple[str, str]:
    """The URL to clone, and the branch (perhaps with a path), of a forge's page of a folder; else empty."""
    found = _BROWSED.fullmatch(url)
    if found is None or url.rstrip("/").endswith(".git"):
        return "", ""
    return f"{found[1].removesuffix('.git')}.git", found[2]
