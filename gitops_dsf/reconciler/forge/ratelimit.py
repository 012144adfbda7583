"""How long to wait after a forge reported too many requests (docs.github.com/rest, "Rate limits for the REST
API").
"""

import time
from typing import Final

import httpx

from dsf_runtime.calls import retry_after
from dsf_runtime.clock import http_date

DEFAULT_SECONDS: Final = 60.0
"""Used when the answer names no time. GitHub asks for at least a minute."""
MAX_SECONDS: Final = 3600.0
"""Limits are per hour, so a longer time in an answer is wrong."""


def wait_of(response: httpx.Response, message: str) -> float:
    """Seconds to wait; 0 when the answer does not report a rate limit."""
    if response.status_code not in {403, 429}:
        return 0.0
    found = 0.0
    if response.headers.get("retry-after"):
        asked = retry_after(response.headers, now=_now(response))
        found = DEFAULT_SECONDS if asked is None else asked
    elif response.headers.get("x-ratelimit-remaining") == "0":
        reset = response.headers.get("x-ratelimit-reset", "")
        found = float(reset) - _now(response) if reset.isascii() and reset.isdigit() else DEFAULT_SECONDS
    elif response.status_code == 429 or "rate limit" in message.lower():
        found = DEFAULT_SECONDS
    else:
        return 0.0
    return min(max(found, 1.0), MAX_SECONDS)


def _now(response: httpx.Response) -> float:
    """By the forge's clock, because the times in its answers are by that clock."""
    date = http_date(response.headers.get("date"))
    return time.time() if date is None else date
