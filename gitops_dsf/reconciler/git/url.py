"""The URL of the fleet repository, in the forms that git accepts: https, http, ssh, scp-like host:path, and
file. `spec.git.url` was checked with gitops-dsf.yaml.
"""

import re

from gitops_dsf.errors import UsageError


def is_http(url: str) -> bool:
    """Whether git uses HTTP for it."""
    return url.startswith(("https://", "http://"))


def is_ssh(url: str) -> bool:
    """Whether git uses ssh for it."""
    return url.startswith("ssh://") or ("://" not in url and ":" in url)


def checked(url: str) -> str:
    """Returns the URL. Raises UsageError when it holds a password. The message does not repeat the URL."""
    if re.match(r"https?://[^/]*@|ssh://[^/@]*:[^/@]*@", url):
        msg = (
            "git.url holds a user or a password; write the URL without them, and put them into the Secret"
            " that reconciler.gitSecret names"
        )
        raise UsageError(msg)
    return url
