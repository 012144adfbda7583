"""The part of HTTP over ASGI that four routes need: reading a body of limited size, and sending a response.

A web framework would add routing, middleware and three more packages to the image of every scorer.
Specification: https://asgi.readthedocs.io/en/latest/specs/www.html
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dsf_scorer.errors import RefusedError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON = "application/json"


class ClientGone(Exception):  # noqa: N818 - an event, not a fault
    """The client disconnected before its request was complete."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """A complete response."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        headers = {
            "content-type": self.content_type,
            "content-length": str(len(self.body)),
            "cache-control": "no-store",
            **self.headers,
        }
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": encoded})
        await send({"type": "http.response.body", "body": self.body})


def error(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """An error response with its reason as ``{"error": "..."}``."""
    return Response(status=status, body=msgspec.json.encode({"error": message}), headers=headers or {})


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header with this lower-case name."""
    return next((value for key, value in scope["headers"] if key == name), None)


def path_of(scope: Scope) -> tuple[str, str]:
    """(mount prefix, path below it). Servers differ in whether ``path`` includes ``root_path``; both are
    handled.
    """
    prefix = str(scope.get("root_path", "")).rstrip("/")
    path = str(scope["path"])
    if prefix and (path == prefix or path.startswith(f"{prefix}/")):
        path = path[len(prefix) :] or "/"
    return prefix, path


async def read_body(scope: Scope, receive: Receive, *, limit: int, seconds: float) -> bytearray:
    """Reads the whole body. Raises RefusedError (413, 408) or ClientGone."""
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body += message.get("body", b"")
                if len(body) > limit:
                    raise _too_large(limit)
                if not message.get("more_body", False):
                    return body
    except TimeoutError:
        msg = f"the request did not arrive within {seconds:g} s"
        raise RefusedError(msg, status=408, headers={"connection": "close"}) from None


def _too_large(limit: int) -> RefusedError:
    msg = (
        f"the request is larger than {limit} bytes; ask for fewer series or points, or raise"
        " SCORER_MAX_BODY_BYTES"
    )
    return RefusedError(msg, status=413, headers={"connection": "close"})
