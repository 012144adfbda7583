"""The parts of a URL, and putting a URL together from a host and a path.

A text that cannot be parsed has empty parts: whether it is valid is the business of a rule.
"""

from urllib.parse import SplitResult, urlsplit, urlunsplit


def origin(url: str) -> str:
    """Scheme, host and port of a URL; empty if it has none."""
    parts = _parts(url)
    return (
        urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        if parts.scheme and parts.netloc
        else ""
    )


def host_of(url: str) -> str:
    """The host of a URL in lower case; empty if it has none."""
    return _parts(url).hostname or ""


def has_path(url: str) -> bool:
    return path_of(url) not in {"", "/"}


def path_of(url: str) -> str:
    """The path of a URL; empty if it is not a URL."""
    return _parts(url).path


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def rooted(path: str) -> str:
    """Adds the leading slash that people leave out. The upstream controller adds it, too."""
    return f"/{path.lstrip('/')}" if path else ""


def join(host: str, path: str) -> str:
    return f"{host.rstrip('/')}/{path.lstrip('/')}" if path else host
