"""Helpers for tests of scorers.

They call a scoring API without a server, and write sample series in one line.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dsf_scorer.app import Message, ScorerApp
from dsf_wire.scoring import ScoringResult

__all__ = ["Reply", "ask", "exchange", "send", "series"]


class _ScoringResults(msgspec.Struct):
    results: list[ScoringResult]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The answer of the scoring API."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def results(self) -> list[ScoringResult]:
        """The results.

        Raises AssertionError with the text of the answer if its status is not 200.
        """
        if self.status != 200:
            raise AssertionError(
                f"expected scores, got {self.status}: {self.body.decode(errors='replace')}"
            )
        return msgspec.json.decode(self.body, type=_ScoringResults).results

    @property
    def scores(self) -> list[float]:
        return [result.score for result in self.results]

    @property
    def error(self) -> str:
        """The reason of a refusal; empty if there is none."""
        decoded = msgspec.json.decode(self.body)
        if not isinstance(decoded, dict):
            return ""
        return str(decoded.get("error", ""))


def series(
    values: Sequence[float], *, end: float = 1_700_000_000.0, step: float = 60.0, **labels: str
) -> dict[str, Any]:
    """Returns one series as Prometheus writes it.

    Its newest sample is at ``end`` (seconds since 1970).
    """
    start = end - step * (len(values) - 1)
    return {
        "metric": labels,
        "values": [[start + step * index, _text(value)] for index, value in enumerate(values)],
    }


def _text(value: float) -> str:
    # As Prometheus writes them.
    names = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
    text = repr(float(value))
    return names.get(text, text)


def ask(
    app: ScorerApp,
    data: Sequence[Mapping[str, Any]] = (),
    *,
    arguments: Mapping[str, Any] | None = None,
    token: str = "",
) -> Reply:
    """Sends one scoring request through the whole application. Call it where no event loop runs."""
    body: dict[str, Any] = {"data": list(data)}
    if arguments is not None:
        body["arguments"] = dict(arguments)
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    return send(app, "POST", app.path, body=msgspec.json.encode(body), headers=headers)


def send(
    app: ScorerApp,
    method: str,
    path: str,
    *,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    root_path: str = "",
) -> Reply:
    """Sends one HTTP request with any body through the whole application."""
    return asyncio.run(exchange(app, method, path, body=body, headers=headers, root_path=root_path))


async def exchange(
    app: ScorerApp,
    method: str,
    path: str,
    *,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    root_path: str = "",
) -> Reply:
    """Like ``send``, for tests that run in an event loop."""
    sent: list[Message] = []
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        # An ASGI server says so when the client closes the connection after its answer.
        if not incoming:
            return {"type": "http.disconnect"}
        return incoming.pop(0)

    async def collect(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "root_path": root_path,
        "query_string": b"",
        # Servers hand on names in lower case, as ASGI asks for.
        "headers": [
            (key.lower().encode("latin-1"), value.encode("latin-1"))
            for key, value in (headers or {}).items()
        ],
    }
    await app(scope, receive, collect)
    start = next(message for message in sent if message["type"] == "http.response.start")
    return Reply(
        status=start["status"],
        headers={key.decode("latin-1"): value.decode("latin-1") for key, value in start["headers"]},
        body=b"".join(
            message.get("body", b"") for message in sent if message["type"] == "http.response.body"
        ),
    )
