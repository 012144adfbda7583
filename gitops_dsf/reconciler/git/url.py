"""The URL of the fleet repository, in the forms that git accepts: https, http, ssh, scp-like host:path, and
file.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from gitops_dsf.errors import UsageError
from gitops_dsf.hub.urls import misleads_git

SCP: Final = re.compile(r"(?:(?P<user>[\w.-]+)@)?(?P<host>[A-Za-z0-9][\w.-]*):(?P<path>(?!//)[^\s]+)")
_SCHEMES: Final = ("https", "http", "ssh", "file")


def is_http(url: str) -> bool:
    """Whether git uses HTTP for it."""
    return url.startswith(("https://", "http://"))


def is_ssh(url: str) -> bool:
    """Whether git uses ssh for it."""
    return url.startswith("ssh://") or ("://" not in url and SCP.fullmatch(url) is not None)


def checked(url: str) -> str:
    """Returns the URL. Raises UsageError when git would not accept it, or when it holds a password. The
    message never repeats the URL.
    """
    if is_ssh(url) and not url.startswith("ssh://") and not misleads_git(url):
        return url
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in _SCHEMES
            and bool(parts.path.strip("/"))
            and (parts.scheme == "file" or bool(parts.hostname))
            and (parts.port is None or parts.port > 0)
            and not misleads_git(url)
        )
        secret = parts.password is not None or (parts.username is not None and parts.scheme != "ssh")
    except ValueError:
        usable, secret = False, False
    if secret:
        msg = (
            "git.url holds a user or a password; write the URL without them, and put them into the Secret"
            " that reconciler.gitSecret names"
        )
        raise UsageError(msg)
    if not usable or re.search(r"[\s\x00-\x1f]", url):
        msg = (
            "git.url: write https://host/owner/repository.git, ssh://git@host/owner/repository.git, or"
            " git@host:owner/repository.git"
        )
        raise UsageError(msg)
    return url
