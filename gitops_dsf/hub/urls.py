"""URLs of scoring APIs and metric sources, and the paths that count where a host is named without one."""

from typing import Final
from urllib.parse import urlsplit, urlunsplit

QUERY_PATH: Final = "/api/v1/query_range"
SCORING_PATH: Final = "/scoring"


def origin(url: str) -> str:
    """Scheme, host and port of a URL; empty when it has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc, "", "", "")) if parts.scheme and parts.netloc else ""


def has_path(url: str) -> bool:
    """Whether a host URL carries a path of its own."""
    return path_of(url) not in {"", "/"}


def path_of(url: str) -> str:
    """The path of a URL; empty when it is not one."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def rooted(path: str) -> str:
    """A path with its leading slash; people leave it out, and upstream adds it."""
    return f"/{path.lstrip('/')}" if path else ""


def join(host: str, path: str) -> str:
    """Host URL and path as one URL."""
    return f"{host.rstrip('/')}/{path.lstrip('/')}" if path else host
