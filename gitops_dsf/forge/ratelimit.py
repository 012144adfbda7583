"""Rate limits of forges: whether an answer means "later", and how much later."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from dsf_wire.retryafter import MAX_RETRY_AFTER, retry_after

LIMIT_SECONDS: Final = 60.0
"""The wait at a limit whose answer does not say when it ends.

GitHub asks for a minute or more
(docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
"""
_LIMIT_WORDS: Final = (b"rate limit", b"abuse detection")
"""The words that GitHub writes into a 403 that is not a missing permission.

Its secondary limits often have no header that says so.
"""


def asked_wait(status: int, headers: Mapping[str, str], content: bytes, *, now: float) -> float:
    """The seconds that the forge asks to wait before the next request; 0 if it asks for nothing.

    Names of headers are lower case.
    """
    # A 503 without the header is trouble of the server and no limit: the usual pause is enough.
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return retry_after(headers, now=now) or 0.0
    if not _is_limited(status, headers, content):
        return 0.0
    wait = retry_after(headers, now=now)
    reset = headers.get("x-ratelimit-reset", "")
    if wait is None and _is_spent(headers) and reset.isdecimal():
        # GitHub says when an hourly limit ends, and sends no Retry-After.
        wait = min(float(reset[:12]) - now, MAX_RETRY_AFTER)
    # With a clock that differs from ours, the limit may seem to be over. GitHub may ban a client
    # that goes on while it is limited, so the request is not sent again at once.
    if wait is None or wait <= 0:
        return LIMIT_SECONDS
    return wait


def _is_limited(status: int, headers: Mapping[str, str], content: bytes) -> bool:
    """Whether the forge refused because of a limit. GitHub answers 403 for most of its limits."""
    if status != HTTPStatus.FORBIDDEN:
        return status == HTTPStatus.TOO_MANY_REQUESTS
    if _is_spent(headers) or "retry-after" in headers:
        return True
    body = content.lower()
    return any(words in body for words in _LIMIT_WORDS)


def _is_spent(headers: Mapping[str, str]) -> bool:
    return headers.get("x-ratelimit-remaining") == "0"
