"""A page of a scoring API, and the configuration in it."""

from dataclasses import dataclass

import msgspec

from dsf_runtime.calls import display
from dsf_wire.jsontext import without_mark
from dsf_wire.text import printable
from gitops_dsf.hub.drift import Config, ConfigError, read_config


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFault:
    """A page that was not read: why, as one word for programs and in words for people."""

    reason: str
    message: str
    status: int = 0
    """The HTTP status, if that is why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchedPage:
    """A page that answered 2xx."""

    url: str
    media: str
    """Content-Type in lower case, without parameters; empty when there is none."""
    body: bytes


def read_page(page: FetchedPage) -> Config:
    """The fields that the page sets. Unknown ones are ignored. Raises ConfigError."""
    url = display(page.url)
    body = without_mark(page.body)
    # A status of 200 says nothing: login pages and error pages of proxies have it, too.
    if page.media in {"text/html", "application/xhtml+xml"} or body.lstrip()[:1] == b"<":
        raise ConfigError(
            f"{url} is an HTML page, not JSON: a login page, a proxy's, or another program's"
        )
    if not body.strip():
        raise ConfigError(f"{url} is empty")
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = printable(error, max_characters=120)
        # Many servers send no type, or this one whatever they answer. Another one is a hint.
        if page.media in {"", "application/json"}:
            raise ConfigError(f"{url} is not JSON: {problem}") from error
        media = printable(page.media, max_characters=120)
        raise ConfigError(f"{url} is not JSON ({media}): {problem}") from error
    return read_config(data, where=url)
