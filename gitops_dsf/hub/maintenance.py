"""Maintenance as the hub has it, in a ConfigMap that is rendered from the fleet repository."""

from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Annotated, Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.hub.names import MAINTENANCE_KEY
from gitops_dsf.hub.objects import LabelSelector
from gitops_dsf.hub.windows import Period, Weekly, Window, is_zone

MAX_WINDOWS: Final = 200
"""Documents of a fleet. The time that it takes to compare them grows with the square."""


class MaintenanceAction(StrEnum):
    """The action while a window is open."""

    DRAIN = "Drain"
    """Paced applications leave the clusters, and none arrives."""
    CORDON = "Cordon"
    """No application arrives on the clusters."""
    FREEZE = "Freeze"
    """No paced move of these clusters or applications begins."""


class Maintenance(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A window, what it is about and what it does."""

    name: str
    action: MaintenanceAction
    clusters: tuple[str, ...] | None = None
    cluster_selector: LabelSelector | None = None
    applications: tuple[str, ...] | None = None
    start: Annotated[datetime, Meta(tz=True)] | None = None
    end: Annotated[datetime, Meta(tz=True)] | None = None
    schedule: Weekly | None = None

    def __post_init__(self) -> None:
        # `validate` says the same, but whoever may write the ConfigMap writes what is read here.
        has_schedule = self.schedule is not None
        has_period = self.start is not None and self.end is not None
        has_half = (self.start is None) != (self.end is None)
        if has_half or has_period == has_schedule:
            raise ValueError("a maintenance has start and end, or a schedule")
        if self.schedule is not None and not is_zone(self.schedule.zone):
            raise ValueError(f"there is no time zone {self.schedule.zone}")

    @property
    def window(self) -> "Window":
        if self.start is not None and self.end is not None:
            return Period(self.start.timestamp(), self.end.timestamp())
        assert self.schedule is not None  # noqa: S101 - __post_init__ says so
        return self.schedule

    @property
    def zone(self) -> tzinfo:
        """The time zone in which people read its times."""
        if self.schedule is not None:
            return ZoneInfo(self.schedule.zone)
        if self.start is None:
            return UTC
        return self.start.tzinfo or UTC


def read_maintenance(data: object) -> tuple[Maintenance, ...] | None:
    """The maintenance in the data of the ConfigMap; None without it. Raises msgspec.DecodeError."""
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(MAINTENANCE_KEY)
    return None if text is None else msgspec.json.decode(text, type=tuple[Maintenance, ...])
