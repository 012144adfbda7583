"""URLs of scoring APIs and metric sources, and the default paths of hosts that are named without one."""

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

QUERY_PATH: Final = "/api/v1/query_range"
INSTANT_PATH: Final = "/api/v1/query"
SCORING_PATH: Final = "/scoring"
RECEIVER_PORT: Final = 9090
RECEIVER_ORIGIN: Final = f"http://127.0.0.1:{RECEIVER_PORT}"
"""Where the agent reaches the receiver for OpenTelemetry metrics, which runs in its pod."""
_MISLEADS_GIT: Final = re.compile(r"[\w+.-]+::|(?:[^/]*://)?(?:[^/@]*@)?-|[^/:]*:-")
_BROWSED: Final = re.compile(r"(https?://[^/\s]+/[^/\s]+/\S+?)/(?:-/)?(?:tree|blob|src/branch)/(\S+?)/?")


def origin(url: str) -> str:
    """Scheme, host and port of a URL; empty if it has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc, "", "", "")) if parts.scheme and parts.netloc else ""


def host_of(url: str) -> str:
    """The host of a URL in lower case; empty if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def has_path(url: str) -> bool:
    """Whether a host URL has a path."""
    return path_of(url) not in {"", "/"}


def path_of(url: str) -> str:
    """The path of a URL; empty if it is not a URL."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def instant(url: str) -> str:
    """The URL, or path, of the instant query beside a range query. Others stay as they are."""
    return url.removesuffix("_range") if url.endswith("/query_range") else url


def rooted(path: str) -> str:
    """Adds the leading slash that people leave out. The upstream controller adds it, too."""
    return f"/{path.lstrip('/')}" if path else ""


def join(host: str, path: str) -> str:
    """Joins host URL and path."""
    return f"{host.rstrip('/')}/{path.lstrip('/')}" if path else host


def misleads_git(url: str) -> bool:
    """Whether git would start a remote helper for it (`ext::`, `fd::`), or it has a user, host or path that
    ssh would take for an option (`ssh://-oProxyCommand=...`).
    """
    return _MISLEADS_GIT.match(url) is not None


def browsed_branch(url: str) -> tuple[str, str]:
    """The URL that git clones, and the branch (perhaps with a path), of a forge's page of a folder, such as
    https://host/owner/repository/tree/main. Both are empty for any other URL.
    """
    found = _BROWSED.fullmatch(url)
    if found is None or url.rstrip("/").endswith(".git"):
        return "", ""
    return f"{found[1].removesuffix('.git')}.git", found[2]
