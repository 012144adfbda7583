"""Derives the URLs of a scoring API from the URL that a person gives."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import SplitResult, urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class TargetError(ValueError):
    """The URL cannot be that of a scoring API."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The URLs of one scoring API. /healthz is on the origin of configURL."""

    config_url: str
    origin: str
    scoring_url: str = ""
    """Given by the caller; empty means the URL in /config."""

    @classmethod
    def parse(cls, url: str, *, scoring_url: str = "") -> Self:
        """Parses the base URL of a scoring API or the URL of its /config page. Raises TargetError, which says
        what to write.
        """
        parts = split_http(url)
        path = parts.path.rstrip("/")
        if not path.endswith("/config"):
            path += "/config"
        if scoring_url:
            split_http(scoring_url)
        origin = origin_of(parts)
        return cls(config_url=origin + path, origin=origin, scoring_url=scoring_url)

    @property
    def health_url(self) -> str:
        return f"{self.origin}/healthz"


def split_http(url: str) -> SplitResult:
    """Splits an absolute http(s) URL. Raises TargetError."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        msg = f"{url!r} is not a URL: {error}"
        raise TargetError(msg) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_fine:
        msg = f"{url!r} is not the URL of a web server; write it as http://host:port or https://host"
        raise TargetError(msg)
    if parts.username is not None or parts.password is not None:
        msg = f"the URL of {parts.hostname} holds a user or password; remove it and pass a token file instead"
        raise TargetError(msg)
    if parts.query or parts.fragment or any(character.isspace() or ord(character) < 33 for character in url):
        msg = f"{url!r} holds white space, a query or a fragment; write scheme, host, port and path only"
        raise TargetError(msg)
    return parts


def origin_of(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.lower()}"
