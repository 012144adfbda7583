"""Turns failed HTTP calls and error statuses into CallErrors and Reasons."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from dsf_agent.errors import CallError, Reason
from dsf_runtime import calls
from dsf_runtime.calls import CallFault, FailureKind, display, excerpt

_KIND_REASONS: Final = {FailureKind.UNKNOWN_HOST: Reason.UNREACHABLE, FailureKind.CERTIFICATE: Reason.TLS}
"""Other kinds have reasons with the same name."""


@contextmanager
def as_call_errors(*, url: str, seconds: float) -> Iterator[None]:
    """Turns exceptions of httpx and asyncio inside the block into CallError."""
    try:
        with calls.as_call_faults(url=url, seconds=seconds):
            yield
    except CallFault as fault:
        raise CallError(str(fault), reason=kind_reason(fault.kind)) from fault


def kind_reason(kind: FailureKind) -> Reason:
    """The reason for a call without an answer."""
    return _KIND_REASONS.get(kind) or Reason(kind.value)


_STATUS_REASONS: Final = {
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.NOT_FOUND,
    409: Reason.CONFLICT,
    413: Reason.TOO_LARGE,
    429: Reason.THROTTLED,
}


def status_reason(status: int) -> Reason:
    """The reason for a status that is not 2xx."""
    if 300 <= status < 400:
        return Reason.REDIRECTED
    if status >= 500:
        return Reason.SERVER_ERROR
    return _STATUS_REASONS.get(status, Reason.HTTP_ERROR)


def status_text(*, url: str, status: int, headers: Mapping[str, str], body: bytes | bytearray) -> str:
    """The message for an error status: the address, the status, and the peer's text or the target of a
    redirect.
    """
    if 300 <= status < 400:
        target = display(headers.get("location", "")) or "nowhere"
        return (
            f"{display(url)} answered {status} and points to {target}; redirects are not followed, write that"
            " URL in the scorer"
        )
    words = excerpt(body)
    return f"{display(url)} answered {status}" + (f": {words}" if words else "")
