"""Maintenance windows as people read them: clusters, applications, and when they open next."""

from collections.abc import Collection
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from gitops_dsf.hub.maintenance import Maintenance, MaintenanceAction
from gitops_dsf.hub.windows import Period, next_period, open_period
from gitops_dsf.pacing.maintenance import clusters_of
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import HubState


class WindowView(Struct, frozen=True, kw_only=True):
    """A maintenance, and when its window is open next."""

    name: str
    action: MaintenanceAction
    clusters: tuple[str, ...]
    applications: tuple[str, ...]
    """Instead of clusters, for Freeze."""
    start: str
    """The start in the time zone that people wrote."""
    end: str
    zone: str | None
    """The name of the zone of a weekly window."""


def open_windows(fleet: CheckedFleet, state: HubState, now: datetime) -> tuple[WindowView, ...]:
    """The maintenance whose window is open now."""
    # Clusters are selected by the labels of the hub, as the reconciler selects them.
    clusters = {cluster.metadata.name: cluster for cluster in state.clusters}
    seconds = now.timestamp()
    views: list[WindowView] = []
    for maintenance in fleet.maintenance_on_hub:
        if open_period(maintenance.window, seconds) is not None:
            views.append(window_view(maintenance, clusters_of(maintenance, clusters), seconds))
    return tuple(views)


def window_view(maintenance: Maintenance, clusters: Collection[str], now: float) -> WindowView:
    """The period that is open or opens next; of a window that is past, the last one.

    `now` is in Unix seconds.
    """
    period = next_period(maintenance.window, now) or _last_period(maintenance, now)
    return WindowView(
        name=maintenance.name,
        action=maintenance.action,
        clusters=tuple(sorted(clusters)),
        applications=maintenance.applications or (),
        start=local_time(period.start, maintenance.zone),
        end=local_time(period.end, maintenance.zone),
        zone=None if maintenance.schedule is None else maintenance.schedule.zone,
    )


def local_time(seconds: float, zone: tzinfo) -> str:
    """Unix seconds in a time zone, such as `2026-11-24T20:00:00+01:00`."""
    # Whole seconds, as people write them: isoformat would add microseconds.
    return datetime.fromtimestamp(int(seconds), UTC).astimezone(zone).isoformat()


def _last_period(maintenance: Maintenance, now: float) -> Period:
    """The period of a window that is past. A weekly window always has a next one."""
    window = maintenance.window
    return window if isinstance(window, Period) else Period(now, now)
