"""The HTTP API of Prometheus: the form of a query, and the content of an answer.

Other stores speak it, too, such as Thanos, Mimir and VictoriaMetrics
(https://prometheus.io/docs/prometheus/latest/querying/api/).

The agent, the hub scorer, the backtest and readers of saved answers share this module, so a store
that one of them understands is understood by all. It sends nothing. The samples are left as JSON
text, because each reader needs another form of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from dsf_wire.jsontext import Content, utf8, without_mark
from dsf_wire.text import printable

MAX_URL: Final = 2000
"""Characters of a URL. A longer query is posted as a form, because some proxies refuse more than 2
kB.
"""
REFUSES_POST: Final = frozenset({405, 501})
"""The statuses of a proxy that lets only GET pass, for a POST."""
MAX_WARNINGS: Final = 10

RESERVED: Final = frozenset({"query", "start", "end", "step", "time", "timeout", "limit"})
"""Parameters that are not settings of a source. Most are part of the question. Prometheus cuts off
series at ``limit``, so scores would come and go.
"""
MAX_PARAMETERS: Final = 20
MAX_NAME: Final = 128
MAX_VALUE: Final = 1024
"""Characters of a parameter of a source."""
_ANNOTATIONS: Final = ("PromQL warning:", "PromQL info:")
"""The beginnings of Prometheus' own remarks on a query (util/annotations/annotations.go).

All other warnings are of storage that did not answer, or of results that were cut off.
"""

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions of decoding for a body that is not an answer of this API."""


@dataclass(frozen=True, kw_only=True)
class PrometheusRequest:
    """A query: a GET without a form, else a POST of the form."""

    url: str
    form: bytes | None = None

    @classmethod
    def of(
        cls,
        endpoint: str,
        question: Mapping[str, str],
        *,
        parameters: Mapping[str, str],
        posts: bool = True,
    ) -> Self:
        """Asks an endpoint.

        ``parameters`` of the source, and those of the endpoint's own URL, are always in the URL,
        where proxies that check a tenant read them. ``posts``: whether the endpoint accepts POST.
        """
        # GET where it fits, because some proxies let nothing else pass.
        form = urlencode(question)
        parts = urlsplit(endpoint)
        own = "&".join(filter(None, (parts.query, urlencode(parameters))))
        joined = f"{own}&{form}" if own else form
        url = urlunsplit((parts.scheme, parts.netloc, parts.path, joined, ""))
        if not posts or len(url) <= MAX_URL:
            return cls(url=url)
        bare = urlunsplit((parts.scheme, parts.netloc, parts.path, own, ""))
        return cls(url=bare, form=form.encode())

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the form."""
        return {} if self.form is None else {"Content-Type": "application/x-www-form-urlencoded"}

    def is_refused_as_post(self, status: int) -> bool:
        """Whether the same query may succeed with GET after this status."""
        return self.form is not None and status in REFUSES_POST


def parameter_fault(name: str, value: str) -> str:
    """The reason why a source cannot have this URL parameter; empty if it can."""
    if (
        not name
        or len(name) > MAX_NAME
        or not name.isascii()
        or not name.isprintable()
        or " " in name
    ):
        return f"{printable(repr(name), max_characters=60)} is not the name of a URL parameter"
    if name.lower() in RESERVED:
        return f"the parameter {name} is part of the question, and no setting of the source"
    if not value.isprintable():
        return f"the value of the parameter {name} has a line break, or another control character"
    if len(value) > MAX_VALUE:
        return (
            f"the value of the parameter {name} has {len(value)} characters, more than {MAX_VALUE}"
        )
    return ""


def parameters_fault(parameters: Mapping[str, str]) -> str:
    """The reason why a source cannot have these URL parameters; empty if it can."""
    if len(parameters) > MAX_PARAMETERS:
        return f"there are {len(parameters)} parameters, more than {MAX_PARAMETERS}"
    for name, value in parameters.items():
        fault = parameter_fault(name, value)
        if fault:
            return fault
    return ""


class Data(msgspec.Struct, rename="camel"):
    """The data of an answer. ``result`` is JSON text."""

    result_type: str = ""
    result: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def is_null(self) -> bool:
        """Whether there is no result: some stores write null in place of an empty list."""
        return bytes(memoryview(self.result)[:4]) in {b"", b"null"}


class StatedFailure(NamedTuple):
    """An error that a metric source states in its answer."""

    kind: str
    """errorType, such as `bad_data`; `error` if the answer has none."""
    text: str

    @property
    def line(self) -> str:
        """Formats `bad_data: unknown function`."""
        return f"{self.kind}: {self.text}"


class PrometheusAnswer(msgspec.Struct, rename="camel"):
    """An answer, good or not."""

    status: str = ""
    data: Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None
    # Any, because a store that writes something else here must not make its answer unreadable.
    is_partial: Any = False

    @property
    def failure(self) -> StatedFailure | None:
        """The error that the answer states; None if it is not an error."""
        if self.status != "error" and not self.error_type:
            return None
        return StatedFailure(self.error_type or "error", self.error)

    @property
    def notes(self) -> list[str]:
        """The warnings of the store.

        VictoriaMetrics sets isPartial if some of its storage did not answer. Thanos and Prometheus
        return a warning instead.
        """
        return [*self._warnings, *(self.infos or [])][:MAX_WARNINGS]

    @property
    def _warnings(self) -> list[str]:
        partial = ["the answer is partial (isPartial)"] if self.is_partial is True else []
        return [*partial, *(self.warnings or [])]

    @property
    def lost(self) -> str:
        """The first note that says that data is missing from the answer; empty if there is none."""
        return next((note for note in self._warnings if not note.startswith(_ANNOTATIONS)), "")


# Made once: msgspec prepares the type whenever a Decoder is made.
_DOCUMENT: Final = msgspec.json.Decoder(PrometheusAnswer)


def decode(body: Content) -> PrometheusAnswer:
    """Reads an answer, with or without a byte order mark. Raises one of DECODE_ERRORS."""
    # The samples stay raw, and msgspec does not check the encoding of what stays raw.
    return _DOCUMENT.decode(utf8(without_mark(body)))


def failure_in(body: bytes) -> StatedFailure | None:
    """The error that a body states; None if it is not an error answer of this API."""
    try:
        return decode(body).failure
    except DECODE_ERRORS:
        return None
