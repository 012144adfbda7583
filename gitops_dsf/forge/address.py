"""Where the API of a forge is, and what it calls the repository.

Both follow from the URL that git clones.
"""

import re
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

ForgeKind = Literal["GitHub", "GitLab", "Gitea"]

PUBLIC: Final[dict[str, ForgeKind]] = {
    "github.com": "GitHub",
    "gitlab.com": "GitLab",
    "gitea.com": "Gitea",
    "codeberg.org": "Gitea",
}
"""Public forges. Codeberg is a Forgejo."""

_SSH_HOSTS: Final = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
_PATHS: Final[dict[ForgeKind, str]] = {"GitHub": "/api/v3", "GitLab": "/api/v4", "Gitea": "/api/v1"}
_URL: Final = re.compile(
    r"((?P<scheme>https?|ssh)://)?([^@/\s]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][\w.-]*)"
    r"(?(scheme)(?P<port>:[0-9]+)?/|:/?)(?P<place>([\w.-]+/)*[\w.-]+?)(\.git)?/?"
)


class ForgeAddress(NamedTuple):
    api: str
    place: str
    """owner/name. On GitLab there may be groups in between."""


def address_of(url: str, *, kind: ForgeKind, api: str = "") -> ForgeAddress:
    """The address of the repository that git clones from this URL.

    `api` is given where it does not follow from the host. Raises ValueError, whose message says
    what to write.
    """
    found = _URL.fullmatch(url)
    host = found["host"].lower() if found else ""
    host = _SSH_HOSTS.get(host, host)
    public = PUBLIC.get(host)
    if public is not None and public != kind and not api:
        raise ValueError(f"{host} is not a {kind}: write forge: {public}")
    api = (api or _api(found, host, kind)).rstrip("/")
    place = found["place"] if found else ""
    # A forge may be in a folder of its host, which is not part of the repository's name.
    if folder := urlsplit(api).path.removesuffix(_PATHS[kind]).strip("/"):
        place = place.removeprefix(f"{folder}/")
    owners = place.count("/")
    if owners == 0 or (owners > 1 and kind != "GitLab"):
        msg = (
            f"git.url {url} names no owner and repository: write https://host/owner/repository.git"
        )
        raise ValueError(msg)
    return ForgeAddress(api, place)


def names_same_repository(url: str, other: str) -> bool:
    """Whether two URLs of git mean one repository of a host.

    The scheme, the user, the port of ssh and the ending .git do not matter. False for URLs without
    a host.
    """
    first, second = _URL.fullmatch(url), _URL.fullmatch(other)
    if first is None or second is None:
        return False
    hosts = [
        _SSH_HOSTS.get(found["host"].lower(), found["host"].lower()) for found in (first, second)
    ]
    return hosts[0] == hosts[1] and first["place"].lower() == second["place"].lower()


def _api(found: re.Match[str] | None, host: str, kind: ForgeKind) -> str:
    if host == "github.com":
        return "https://api.github.com"
    # The port of ssh is not that of the API.
    if found is not None and found["scheme"] in {"http", "https"}:
        return f"{found['scheme']}://{host}{found['port'] or ''}{_PATHS[kind]}"
    return f"https://{host}{_PATHS[kind]}"
