"""How long to stay away, by the forge's own clock."""

import httpx
import pytest

from gitops_dsf.reconciler.forge import wait_of

DATE = "Sat, 21 Nov 2026 08:00:00 GMT"
AT = 1795248000


@pytest.mark.parametrize(
    ("status", "headers", "said", "wait"),
    [
        (200, {"retry-after": "5"}, "", 0),
        (403, {}, "Resource not accessible by personal access token", 0),
        (403, {"x-ratelimit-remaining": "17"}, "no", 0),
        (403, {"retry-after": "45"}, "You have exceeded a secondary rate limit", 45),
        (429, {"retry-after": "Sat, 21 Nov 2026 08:02:00 GMT"}, "", 120),
        (
            403,
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(AT + 600)},
            "API rate limit exceeded",
            600,
        ),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(AT - 5)}, "", 1),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(AT + 999_999)}, "", 3600),
        (403, {}, "You have exceeded a secondary rate limit", 60),
        (429, {}, "", 60),
        (429, {"retry-after": "soon"}, "", 60),
    ],
)
def test_waits(status: int, headers: dict[str, str], said: str, wait: float) -> None:
    assert wait_of(httpx.Response(status, headers={"date": DATE, **headers}), said) == wait
