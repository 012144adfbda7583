"""Errors of requests to an API server: its error answers, and calls without an answer."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import msgspec

from dsf_runtime.access import Access
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, excerpt, hide
from dsf_wire.retryafter import retry_after


class ApiError(Exception):
    """The server answered with an error status, or did not answer.

    In the second case ``status`` is 0 and ``kind`` says why.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        kind: FailureKind | None = None,
        wait: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after = wait
        """Seconds that the server asked us to wait."""

    def without_traceback(self) -> "ApiError":
        """The same error without its traceback, which would keep the answer in memory."""
        return ApiError(str(self), status=self.status, kind=self.kind, wait=self.retry_after)


def refusal(
    what: str, access: Access, response: httpx.Response, content: bytes | None, *, now: float
) -> ApiError:
    """The error for an error status. ``now``: the server's time."""
    try:
        decoded = msgspec.json.decode(content or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A proxy, or a load balancer whose API server is down, answers with HTML.
        decoded = None
    # A Status object has a message. A proxy may answer with any text.
    message = decoded.get("message") if isinstance(decoded, dict) else bytes(content or b"")
    if not isinstance(message, str | bytes):
        message = ""
    words = excerpt(message) or response.reason_phrase
    status = response.status_code
    # An answer may quote the request, and with it the Authorization header.
    return ApiError(
        f"{what}: {status} {hide(words, access.token)}",
        status=status,
        wait=retry_after(response.headers, now=now),
    )


@contextmanager
def as_api_errors(what: str, access: Access, path: str, *, seconds: float) -> Iterator[None]:
    """Turns a call without an answer into ApiError."""
    try:
        with as_call_faults(url=access.host + path, seconds=seconds):
            yield
    except CallFault as fault:
        msg = f"{what}: the API server does not answer: {hide(str(fault), access.token)}"
        raise ApiError(msg, kind=fault.kind) from fault
