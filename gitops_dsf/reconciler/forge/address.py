"""The name of the fleet repository on a forge, and the address of the forge's API, by the
repository's URL.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.git.url import SCP, is_ssh


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """A repository of a forge."""

    host: str
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"


def address(url: str) -> Address:
    """Reads an https, ssh or scp-like URL. Raises UsageError when it names no owner and repository."""
    scp = SCP.fullmatch(url) if "://" not in url and is_ssh(url) else None
    host, path = (
        (scp["host"], scp["path"]) if scp else ((urlsplit(url).hostname or ""), unquote(urlsplit(url).path))
    )
    parts = path.strip("/").removesuffix(".git").split("/")
    if (
        not host
        or len(parts) != 2
        or not all(re.fullmatch(r"[A-Za-z0-9_.-]+", part) and part.strip(".") for part in parts)
    ):
        msg = (
            f"git.url: {url} does not name a repository as https://HOST/OWNER/REPOSITORY.git does; pull"
            " requests need an owner and a name"
        )
        raise UsageError(msg)
    return Address(host=host.lower(), owner=parts[0], name=parts[1])


def github_api(place: Address, *, url: str) -> str:
    """The address of GitHub's REST API: forgeURL, or by the host that of github.com or of a GitHub
    Enterprise Server. Raises UsageError.
    """
    if not url:
        return (
            "https://api.github.com"
            if place.host in {"github.com", "ssh.github.com"}
            else f"https://{place.host}/api/v3"
        )
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in {"https", "http"}
            and bool(parts.hostname)
            and parts.username is None
            and not parts.query
        )
    except ValueError:
        usable = False
    if not usable:
        msg = (
            "forgeURL: write the address of the forge's API without user and query, such as"
            " https://github.example.com/api/v3"
        )
        raise UsageError(msg)
    return url.rstrip("/")
