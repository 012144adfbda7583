"""Delays between attempts."""

import random

from hypothesis import given
from hypothesis import strategies as st

from dsf_runtime.clock import Backoff


@given(st.integers(1, 10**6), st.integers())
def test_delays_stay_within_their_limits(attempt: int, seed: int) -> None:
    """They double up to the ceiling with a jitter of a fifth, and do not overflow after months."""
    delay = Backoff(first=5, ceiling=300).delay(attempt, rng=random.Random(seed))
    assert 4 <= delay <= 360


def test_delays_double() -> None:
    backoff = Backoff(first=5, ceiling=30, jitter=0)
    assert [backoff.delay(attempt) for attempt in (1, 2, 3, 4, 5)] == [5, 10, 20, 30, 30]
