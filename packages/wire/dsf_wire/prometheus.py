"""The HTTP API of Prometheus and of stores that speak it, such as Thanos, Mimir and VictoriaMetrics: how a
query is sent, and what an answer says (https://prometheus.io/docs/prometheus/latest/querying/api/).

The agent, the hub scorer, the backtest and readers of saved answers share this module, so a store that one of
them understands is understood by all. It sends nothing. The samples are left as JSON text, because each
reader wants something else of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from dsf_wire.jsontext import Content, utf8, without_mark

LONGEST_URL: Final = 2000
"""Characters of a URL. A longer query is posted as a form, because some proxies refuse more than 2 kB."""
REFUSES_POST: Final = frozenset({405, 501})
"""What a proxy that lets only GET pass answers to a POST."""
MAX_WARNINGS: Final = 10

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for a body that is not an answer of this API."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A query: a GET without a form, else a POST of the form."""

    url: str
    form: bytes | None = None

    @classmethod
    def of(cls, endpoint: str, parameters: Mapping[str, str], *, posts: bool = True) -> Self:
        """Asks an endpoint. Parameters of its own URL stay there. ``posts``: whether it accepts POST."""
        form = urlencode(parameters)
        parts = urlsplit(endpoint)
        joined = f"{parts.query}&{form}" if parts.query else form
        url = urlunsplit((parts.scheme, parts.netloc, parts.path, joined, ""))
        if not posts or len(url) <= LONGEST_URL:
            return cls(url=url)
        bare = urlunsplit((parts.scheme, parts.netloc, parts.path, parts.query, ""))
        return cls(url=bare, form=form.encode())

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the form."""
        return {} if self.form is None else {"Content-Type": "application/x-www-form-urlencoded"}

    def is_refused_as_post(self, status: int) -> bool:
        """Whether the same query may succeed with GET after this status."""
        return self.form is not None and status in REFUSES_POST


class Data(msgspec.Struct, rename="camel"):
    """The data of an answer. ``result`` is JSON text."""

    result_type: str = ""
    result: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def is_null(self) -> bool:
        """Whether there is no result: some stores write null in place of an empty list."""
        return bytes(memoryview(self.result)[:4]) in {b"", b"null"}


class Document(msgspec.Struct, rename="camel"):
    """An answer, good or not."""

    status: str = ""
    data: Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None
    is_partial: Any = False

    @property
    def failure(self) -> tuple[str, str] | None:
        """The error's type and text; None if the answer is not an error."""
        if self.status != "error" and not self.error_type:
            return None
        return self.error_type or "error", self.error

    @property
    def notes(self) -> list[str]:
        """What the store warns of. VictoriaMetrics sets isPartial if some of its storage did not answer.
        Thanos and Prometheus return a warning instead.
        """
        partial = ["the answer is partial (isPartial)"] if self.is_partial is True else []
        return [*partial, *(self.warnings or []), *(self.infos or [])][:MAX_WARNINGS]


_DOCUMENT: Final = msgspec.json.Decoder(Document)


def decode(body: Content) -> Document:
    """Reads an answer, with or without a byte order mark. Raises one of DECODE_ERRORS."""
    return _DOCUMENT.decode(utf8(without_mark(body)))


def error_of(body: bytes) -> tuple[str, str] | None:
    """The error's type and text, or None if the body is not an error answer of this API."""
    try:
        return decode(body).failure
    except DECODE_ERRORS:
        return None
