"""For how long to stay away from a forge that says that it was asked too often (docs.github.com/rest, "Rate
limits for the REST API").
"""

import time
from typing import Final

import httpx

from dsf_runtime.calls import retry_after
from dsf_runtime.clock import http_date

UNSAID_SECONDS: Final = 60.0
"""Where the answer names no time: at least a minute."""
LONGEST_SECONDS: Final = 3600.0
"""Limits are by the hour; what names a later time is wrong about the time."""


def wait_of(response: httpx.Response, said: str) -> float:
    """Seconds; 0 when the answer is no limit."""
    if response.status_code not in {403, 429}:
        return 0.0
    found = 0.0
    if response.headers.get("retry-after"):
        asked = retry_after(response.headers, now=_now(response), most=LONGEST_SECONDS)
        found = UNSAID_SECONDS if asked is None else asked
    elif response.headers.get("x-ratelimit-remaining") == "0":
        reset = response.headers.get("x-ratelimit-reset", "")
        found = float(reset) - _now(response) if reset.isascii() and reset.isdigit() else UNSAID_SECONDS
    elif response.status_code == 429 or "rate limit" in said.lower():
        found = UNSAID_SECONDS
    else:
        return 0.0
    return min(max(found, 1.0), LONGEST_SECONDS)


def _now(response: httpx.Response) -> float:
    """By the forge's clock, because the times in its answers are."""
    told = http_date(response.headers.get("date"))
    return time.time() if told is None else told
