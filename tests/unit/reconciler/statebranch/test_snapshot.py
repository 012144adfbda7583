"""Rounding makes a snapshot change less often.

It never changes what was fresh when it was observed.
"""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.reconciler.statebranch import rounded_valid_until

NOW = datetime(2026, 6, 1, 12, 20, 0, tzinfo=UTC)
FIRST, LAST = datetime(2020, 1, 1), datetime(2030, 1, 1)  # noqa: DTZ001 - hypothesis adds it
moments = st.datetimes(min_value=FIRST, max_value=LAST, timezones=st.just(UTC))


@given(until=moments, observed=moments)
def test_what_was_fresh_stays_fresh_and_what_was_expired_expired(
    until: datetime, observed: datetime
) -> None:
    rounded = rounded_valid_until(until, observed=observed)
    assert rounded is not None
    assert (rounded > observed) == (until > observed)
    assert abs(rounded - until) <= timedelta(hours=1)
    assert (rounded.minute, rounded.second, rounded.microsecond) == (0, 0, 0)


def test_a_renewal_within_the_hour_changes_nothing() -> None:
    first = rounded_valid_until(NOW + timedelta(minutes=15), observed=NOW)
    assert (
        first
        == rounded_valid_until(NOW + timedelta(minutes=22), observed=NOW + timedelta(minutes=7))
        == datetime(2026, 6, 1, 13, tzinfo=UTC)
    )
    assert rounded_valid_until(None, observed=NOW) is None
