"""Addresses on a forge: its API, and its name for the repository.

Both follow from the URL that git clones.
"""

import re
from typing import Final, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

ForgeKind = Literal["GitHub", "GitLab", "Gitea"]
FORGE_KINDS: Final[tuple[ForgeKind, ...]] = get_args(ForgeKind)

PUBLIC: Final[dict[str, ForgeKind]] = {
    "github.com": "GitHub",
    "gitlab.com": "GitLab",
    "gitea.com": "Gitea",
    "codeberg.org": "Gitea",
}
"""Public forges. Codeberg is a Forgejo."""
_SSH_HOSTS: Final = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
"""Hosts that serve ssh on the port of https, for networks that let nothing else out."""
_PATHS: Final[dict[ForgeKind, str]] = {
    "GitHub": "/api/v3",
    "GitLab": "/api/v4",
    "Gitea": "/api/v1",
}
"""The path of the API below the URL of a forge. That of GitHub is of an Enterprise Server."""
_URL: Final = re.compile(
    r"((?P<scheme>https?|ssh)://)?([^@/\s]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][\w.-]*)"
    r"(?(scheme)(?P<port>:[0-9]+)?/|:/?)(?P<place>([\w.-]+/)*[\w.-]+?)(\.git)?/?"
)
"""A URL, or an address as scp has it: git@host:owner/repository.git"""


class ForgeAddress(NamedTuple):
    """A repository on a forge."""

    api: str
    """URL of the API, without a slash at its end."""
    place: str
    """owner/name. On GitLab there may be groups in between."""


def address_of(url: str, *, kind: ForgeKind, api: str = "") -> ForgeAddress:
    """The address of the repository that git clones from this URL.

    `api` is given where it does not follow from the host. Raises ValueError, whose message says
    what to write.
    """
    match = _URL.fullmatch(url)
    host = _host(match) if match is not None else ""
    public = PUBLIC.get(host)
    if public is not None and public != kind and not api:
        raise ValueError(f"{host} is not a {kind}: write forge: {public}")
    api = (api or _api(match, host, kind)).rstrip("/")
    path = match["place"] if match is not None else ""
    # A forge may be in a folder of its host, which is not part of the repository's name.
    folder = urlsplit(api).path.removesuffix(_PATHS[kind]).strip("/")
    if folder:
        path = path.removeprefix(f"{folder}/")
    # GitLab nests groups in groups; the others have one owner.
    slashes = path.count("/")
    if slashes == 0 or (slashes > 1 and kind != "GitLab"):
        raise ValueError(
            f"git.url {url} names no owner and repository: write https://host/owner/repository.git"
        )
    return ForgeAddress(api, path)


class WebAddress(NamedTuple):
    """The address at which people read a repository of a forge in a browser."""

    scheme: str
    host: str
    port: str
    """The port with its colon; empty for the usual one."""
    place: str


def repository_of(url: str) -> WebAddress | None:
    """The page of the repository that git clones from this URL; None for a path.

    A URL of ssh has another port than the pages of its forge, which are at the usual one of https.
    """
    match = _URL.fullmatch(url)
    if match is None:
        return None
    is_web = match["scheme"] in {"http", "https"}
    return WebAddress(
        scheme=match["scheme"] if is_web else "https",
        host=_host(match),
        port=(match["port"] or "") if is_web else "",
        place=match["place"],
    )


def names_same_repository(url: str, other: str) -> bool:
    """Whether two URLs of git mean one repository of a host.

    The scheme, the user, the port of ssh and the ending .git do not matter. It is False for URLs
    without a host.
    """
    first = _URL.fullmatch(url)
    second = _URL.fullmatch(other)
    if first is None or second is None:
        return False
    # All these forges find a repository by its name in any case.
    same_place = first["place"].lower() == second["place"].lower()
    return _host(first) == _host(second) and same_place


def _host(match: re.Match[str]) -> str:
    """The host that a URL means, in lower case."""
    host = match["host"].lower()
    return _SSH_HOSTS.get(host, host)


def _api(match: re.Match[str] | None, host: str, kind: ForgeKind) -> str:
    """The API of a forge, by the URL that git clones."""
    # github.com alone serves its API on a host of its own. Enterprise Servers have it at /api/v3.
    if host == "github.com":
        return "https://api.github.com"
    # The port of ssh is not that of the API.
    if match is not None and match["scheme"] in {"http", "https"}:
        return f"{match['scheme']}://{host}{match['port'] or ''}{_PATHS[kind]}"
    return f"https://{host}{_PATHS[kind]}"
