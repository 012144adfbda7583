"""The parts of a URL, and URLs put together from a host and a path.

A text that cannot be parsed has empty parts: a rule decides whether it is valid.
"""

from urllib.parse import SplitResult, urlsplit, urlunsplit


def parts_of(url: str) -> SplitResult:
    """The parts of a URL; all of them empty if it cannot be parsed."""
    try:
        return urlsplit(url)
    except ValueError:
        # For example an IPv6 address without its closing bracket.
        return urlsplit("")


def origin(url: str) -> str:
    """Scheme, host and port of a URL; empty if it has none."""
    parts = parts_of(url)
    # `prometheus:9090` has a scheme for urlsplit, and `//prometheus` a host: both are needed.
    if not parts.scheme or not parts.netloc:
        return ""
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def host_of(url: str) -> str:
    """The host of a URL in lower case; empty if it has none."""
    return parts_of(url).hostname or ""


def path_of(url: str) -> str:
    """The path of a URL; empty if it is not a URL."""
    return parts_of(url).path


def has_path(url: str) -> bool:
    """Whether a URL has a path other than `/`."""
    return path_of(url) not in {"", "/"}


def rooted(path: str) -> str:
    """Adds the leading slash that people leave out. The upstream controller adds it, too."""
    return f"/{path.lstrip('/')}" if path else ""


def join(host: str, path: str) -> str:
    """The URL of a path on a host, which may have a slash at its end."""
    return f"{host.rstrip('/')}/{path.lstrip('/')}" if path else host
