"""Whether an answer of a forge means "later", and how much later."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from dsf_wire.retryafter import MAX_RETRY_AFTER, retry_after

LIMIT_SECONDS: Final = 60.0
"""How long to wait at a limit of which the answer does not say when it ends. GitHub asks for a
minute or more (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
"""
_LIMIT_WORDS: Final = (b"rate limit", b"abuse detection")
"""What GitHub writes into a 403 that is no missing permission. Its secondary limits often have no
header that says so.
"""


def asked_wait(status: int, headers: Mapping[str, str], content: bytes, *, now: float) -> float:
    """The seconds that the forge asks to wait before the next request; 0 if it asks for nothing.

    Names of headers are lower case.
    """
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return retry_after(headers, now=now) or 0.0
    spent = headers.get("x-ratelimit-remaining") == "0"
    if status == HTTPStatus.FORBIDDEN:
        said = content.lower()
        limited = spent or "retry-after" in headers or any(words in said for words in _LIMIT_WORDS)
    else:
        limited = status == HTTPStatus.TOO_MANY_REQUESTS
    if not limited:
        return 0.0
    wait = retry_after(headers, now=now)
    reset = headers.get("x-ratelimit-reset", "")
    if wait is None and spent and reset.isdecimal():
        # GitHub says when an hourly limit ends, and sends no Retry-After.
        wait = min(float(reset[:12]) - now, MAX_RETRY_AFTER)
    return wait if wait is not None and wait > 0 else LIMIT_SECONDS
