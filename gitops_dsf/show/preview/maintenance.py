"""Maintenance in words: when a window is open, which applications leave, and which stay."""

from collections.abc import Collection, Iterator
from typing import Final

from msgspec import UNSET

from gitops_dsf.hub.maintenance import MaintenanceAction
from gitops_dsf.show.losses import overload_text
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import left_out
from gitops_dsf.show.preview.pace import move_text
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.fields import ChangeKind
from gitops_dsf.views.preview.maintenance import MaintenanceChange
from gitops_dsf.views.preview.windows import WindowView
from gitops_dsf.wording import names_text, plural

MAX_CLUSTERS: Final = 3
"""Clusters of a window that its line names."""
MAX_PLACEMENTS: Final = 5
"""Placements that a sentence names."""


def maintenance_section(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The windows that differ, with what follows from each."""
    windows = comparison.maintenance
    if windows is UNSET:
        return
    yield "\n#### Maintenance\n"
    for window in windows[: limits.rows]:
        sentence = maintenance_text(window)[: 4 * limits.width]
        yield f"- {code(window.name)} {limits.plain(sentence)}"
        lines = list(maintenance_lines(window, max_names=limits.names))
        for line in lines[: limits.rows]:
            yield f"  - {limits.plain(line[: 4 * limits.width])}"
        yield from left_out(lines, "line", limits, prefix="  - ")
    yield from left_out(windows, "window", limits, prefix="- ")


def window_text(window: WindowView) -> str:
    """Formats `Drain of eu-1 from 2026-11-24 20:00 to 2026-11-25 04:00 +01:00`."""
    subjects = (
        names_text(window.clusters or window.applications, max_names=MAX_CLUSTERS) or "no cluster"
    )
    start = minute_text(window.start)
    if _offset(window.start) != _offset(window.end):
        # The clocks change while the window is open.
        start += f" {_offset(window.start)}"
    zone = window.zone or _offset(window.end)
    return f"{window.action} of {subjects} from {start} to {minute_text(window.end)} {zone}"


def minute_text(time: str) -> str:
    """Formats the day and the minute of a time by ISO 8601: `2026-11-24 20:00`."""
    return f"{time[:10]} {time[11:16]}"


def _offset(time: str) -> str:
    """`+01:00`, or `UTC`, of a time by ISO 8601 in seconds."""
    offset = time[19:]
    return "UTC" if offset == "+00:00" else offset


def maintenance_text(window: MaintenanceChange) -> str:
    """Formats what happens in one sentence, without the waves."""
    effect = _effect_text(window)
    if effect:
        return f"{window.change}: {window_text(window)}; {effect}"
    return f"{window.change}: {window_text(window)}"


def maintenance_lines(window: MaintenanceChange, *, max_names: int) -> Iterator[str]:
    """Yields who leaves in which wave, and who does not."""
    first_day = ""
    for wave in window.waves:
        moves = ", ".join(map(move_text, wave.moves))
        day, _, minute = minute_text(wave.at).partition(" ")
        first_day = first_day or day
        yield f"{minute}: {moves}" if day == first_day else f"{day} {minute}: {moves}"
    if not window.complete:
        yield "... and more"
    # Only a drain asks applications to leave, so only then can one be left behind.
    if window.action is not MaintenanceAction.DRAIN:
        return
    if window.late:
        yield f"would not leave before the end: {_names(window.late, max_names)}"
    if window.homeless:
        yield f"with nowhere to go: {_names(window.homeless, max_names)}"
    if window.frozen:
        yield f"held by a freeze: {_names(window.frozen, max_names)}"
    if window.tolerant:
        yield f"tolerating the taint of maintenance: {_names(window.tolerant, max_names)}"
    if window.stays:
        yield f"not paced, so not moved: {_names(window.stays, max_names)}"
    for overload in window.overloads:
        yield overload_text(overload)


def _effect_text(window: MaintenanceChange) -> str:
    """The consequences of a window; empty if a window that is removed was not open."""
    if window.change is ChangeKind.REMOVED:
        return "it ends with the change" if window.state == "open" else ""
    if window.state == "past":
        return "the window is past, so it does nothing"
    # Without data of a hub it is unknown which decisions the clusters are in.
    if window.stays is None:
        return "which applications it concerns is unknown"
    if window.action is MaintenanceAction.CORDON:
        return _cordon_text(window.stays)
    if window.action is MaintenanceAction.FREEZE:
        return _freeze_text(window.held)
    return _drain_text(window)


def _cordon_text(stays: Collection[str]) -> str:
    if not stays:
        return "no application arrives, and none is there"
    if len(stays) == 1:
        return f"no application arrives, and 1 stays: {_names(stays, MAX_PLACEMENTS)}"
    names = _names(stays, MAX_PLACEMENTS)
    return f"no application arrives, and {len(stays)} stay: {names}"


def _freeze_text(held: Collection[str]) -> str:
    if not held:
        return "no paced application is there"
    count = plural(len(held), "paced application")
    return f"no move of {count} begins: {_names(held, MAX_PLACEMENTS)}"


def _drain_text(window: MaintenanceChange) -> str:
    if not window.waves:
        if window.complete:
            return "no application leaves"
        return "how many applications leave was not computed"
    departures = _departures_text(window)
    if window.late:
        return f"{departures}; {len(window.late)} would still be there at the end"
    if window.complete:
        return f"{departures}, the last not before {minute_text(window.waves[-1].at)}"
    return departures


def _departures_text(window: MaintenanceChange) -> str:
    applications = plural(len(window.leaving), "application")
    waves = plural(len(window.waves), "wave")
    if window.complete:
        return f"{applications} would leave in {waves}"
    return f"at least {applications} would leave in {waves}"


def _names(keys: Collection[str], max_names: int) -> str:
    """The names of Placements `namespace/name`."""
    return names_text([key.partition("/")[2] for key in keys], max_names=max_names)
