"""Until when a Lease stands."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_dsf.hub.programs.leadership import read_lease_claim

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "stands"),
    [
        ({"renewTime": "2026-06-01T11:59:45.000000Z"}, True),
        ({"renewTime": "2026-06-01T11:59:44.999999Z"}, False),
        ({"renewTime": "2026-06-01T11:59:30.000000Z", "leaseDurationSeconds": 30}, True),
        ({"renewTime": "2026-06-01T11:59:50"}, True),
        ({"renewTime": "yesterday"}, False),
        ({"renewTime": None}, False),
        ({}, False),
    ],
)
def test_a_lease_stands_until_its_duration_after_the_last_renewal_is_over(
    spec: dict[str, Any], stands: bool
) -> None:
    assert read_lease_claim({"spec": spec}).is_valid(NOW) is stands


def test_a_lease_that_was_given_up_has_no_holder() -> None:
    leadership = read_lease_claim({"spec": {"holderIdentity": "", "renewTime": NOW.isoformat()}})
    assert (leadership.holder, leadership.is_valid(NOW + timedelta(seconds=15))) == ("", True)
    assert read_lease_claim({}).holder == ""
