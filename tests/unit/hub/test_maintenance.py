"""Reading the ConfigMap with maintenance."""

from datetime import UTC, datetime

import msgspec
import pytest

from gitops_dsf.hub.maintenance import read_maintenance
from gitops_dsf.hub.windows import Period, Weekly

WRITTEN = '{"name": "a", "action": "Drain", "clusters": ["c1"], %s}'
SCHEDULE = '"schedule": {"days": ["Sun"], "from": "02:00", "to": "03:00", "zone": "%s"}'
MOMENTS = '"start": "2026-11-24T20:00:00+01:00", "end": "2026-11-24T21:00:00+01:00"'


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN % '"start": "2026-11-24T20:00:00+01:00"',
        WRITTEN % MOMENTS.replace("+01:00", ""),
        WRITTEN % f"{MOMENTS}, {SCHEDULE % 'UTC'}",
        WRITTEN % (SCHEDULE % "Europe/Berln"),
        WRITTEN % (SCHEDULE % "../zone"),
        WRITTEN % (SCHEDULE % "UTC").replace("02:00", "2:00"),
        WRITTEN % f'{MOMENTS}, "more": 1',
        (WRITTEN % MOMENTS).replace("Drain", "Reboot"),
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_maintenance({"maintenance": f"[{text}]"})


@pytest.mark.parametrize("data", [None, {}, {"other": "[]"}])
def test_without_the_key_nothing_is_known(data: object) -> None:
    assert read_maintenance(data) is None


def test_windows_are_read() -> None:
    text = f"[{WRITTEN % MOMENTS}, {WRITTEN % (SCHEDULE % 'UTC')}]"
    one, other = read_maintenance({"maintenance": text}) or ()
    assert one.window == Period(
        datetime(2026, 11, 24, 19, tzinfo=UTC).timestamp(),
        datetime(2026, 11, 24, 20, tzinfo=UTC).timestamp(),
    )
    assert other.window == Weekly(("Sun",), "02:00", "03:00", "UTC")
