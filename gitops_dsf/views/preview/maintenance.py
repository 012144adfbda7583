"""What maintenance that a change adds, alters or removes does: who leaves, when, whereto; who stays."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Final, Literal

import msgspec
from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.maintenance import Maintenance, MaintenanceAction
from gitops_dsf.hub.windows import Period, next_period, open_period
from gitops_dsf.pacing.maintenance import clusters_of
from gitops_dsf.pacing.waves import staying, waves
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import HubState
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fields import ChangeKind
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.paced import (
    MOST_SIMULATED,
    PREVIEWED_WAVES,
    PacedMove,
    is_paced,
    move_text,
    situation_of,
)
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.wording import names_text, plural

NAMED: Final = 3
"""Clusters of a window that its line names."""


class WindowView(Struct, frozen=True, kw_only=True):
    """A maintenance, and when its window is open next."""

    name: str
    action: MaintenanceAction
    clusters: tuple[str, ...]
    applications: tuple[str, ...]
    """Instead of clusters, for Freeze."""
    start: str
    """In the time zone that people wrote."""
    end: str
    zone: str | None
    """The name of the zone of a weekly window."""


class DepartureWave(Struct, frozen=True, kw_only=True):
    """Moves that may be under way together."""

    at: str
    """When they begin at the earliest: handovers take no time."""
    moves: tuple[PacedMove, ...]


class MaintenanceChange(WindowView, frozen=True, kw_only=True):
    """A maintenance that a change adds, alters or removes. Placements are `namespace/name`. What follows is
    computed from the present scores, and from where the change leads to; it is empty for one that is removed.
    """

    change: ChangeKind
    state: Literal["open", "later", "past"]
    waves: tuple[DepartureWave, ...] = ()
    """Those of a drain, up to the end of the window."""
    complete: bool = True
    """Whether these are all that leave."""
    late: tuple[str, ...] = ()
    """Paced Placements that would not leave before the end."""
    held: tuple[str, ...] = ()
    """Paced Placements that wait: frozen, or on a drained cluster and without another one."""
    stays: tuple[str, ...] | None = ()
    """Other Placements on the clusters, which stay there; None if nothing is known of the hub."""

    @property
    def count(self) -> int:
        return sum(len(wave.moves) for wave in self.waves)


def maintenance_changes(
    base: CheckedFleet | None, head: CheckedFleet, *, now: datetime, transition: Transition | None
) -> Iterator[MaintenanceChange]:
    """The maintenance that differs, by name. Without a transition nothing is known of the hub."""
    before = {item.name: item for item in (base.maintenance_on_hub if base is not None else ())}
    after = {item.name: item for item in head.maintenance_on_hub}
    differing = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    if not differing:
        return
    opening = None if transition is None else _Opening(transition)
    state = hub_state(head, None) if transition is None else transition.after
    clusters = {item.metadata.name: item for item in state.clusters}
    at = now.timestamp()
    for name in differing:
        new = after.get(name)
        item = new or before[name]
        period = next_period(item.window, at)
        found = MaintenanceChange(
            **msgspec.structs.asdict(window_view(item, clusters_of(item, clusters), at)),
            change=ChangeKind.of(before.get(name), new),
            state="past" if period is None else "open" if period.start <= at else "later",
        )
        if new is None or period is None:
            yield found
        elif opening is None:
            yield msgspec.structs.replace(found, stays=None)
        else:
            yield opening.followed(found, new, period)


def open_windows(fleet: CheckedFleet, state: HubState, now: datetime) -> tuple[WindowView, ...]:
    by_name, at = {each.metadata.name: each for each in state.clusters}, now.timestamp()
    return tuple(
        window_view(item, clusters_of(item, by_name), at)
        for item in fleet.maintenance_on_hub
        if open_period(item.window, at) is not None
    )


def window_view(item: Maintenance, clusters: Collection[str], now: float) -> WindowView:
    """The period that is open or opens next; of a window that is past, the last one."""
    over = item.window if isinstance(item.window, Period) else Period(now, now)
    period = next_period(item.window, now) or over
    return WindowView(
        name=item.name,
        action=item.action,
        clusters=tuple(sorted(clusters)),
        applications=item.applications or (),
        start=_local(period.start, item.zone),
        end=_local(period.end, item.zone),
        zone=None if item.schedule is None else item.schedule.zone,
    )


class _Opening:
    """Computes what follows when windows open. All of them together simulate about so many Placements."""

    def __init__(self, transition: Transition) -> None:
        self._transition, self._head = transition, transition.head
        self._left = MOST_SIMULATED
        found = decided(transition.after.decisions.values())
        self._decided = {
            key: names for key, names in found.items() if key in applied(self._head).placements
        }

    def followed(
        self, found: MaintenanceChange, item: Maintenance, period: Period
    ) -> MaintenanceChange:
        """The change with what follows when this window opens, or now if it is open."""
        clusters = frozenset(found.clusters)
        on = sorted(key for key, names in self._decided.items() if not clusters.isdisjoint(names))
        if item.action is MaintenanceAction.CORDON:
            return msgspec.structs.replace(found, stays=tuple(on))
        paced = {key for key in on if is_paced(self._head, key)}
        if item.action is MaintenanceAction.FREEZE:
            named = {
                key for key in self._decided if key.partition("/")[2] in (item.applications or ())
            }
            held = paced | {key for key in named if is_paced(self._head, key)}
            return msgspec.structs.replace(found, held=tuple(sorted(held)))
        stays = tuple(key for key in on if key not in paced)
        return self._drained(msgspec.structs.replace(found, stays=stays), item, period)

    def _drained(
        self, found: MaintenanceChange, item: Maintenance, period: Period
    ) -> MaintenanceChange:
        clusters = frozenset(found.clusters)
        at = period.start if found.state == "later" else None
        hub = self._transition
        situation = situation_of(self._head, hub.after, hub.ledger, now=hub.now, at=at)
        if situation is None:
            return found
        leaving = staying(situation)
        most = min(PREVIEWED_WAVES, self._left // max(1, len(leaving)))
        found_waves = waves(situation, most=2 * most + 2, measured=False)
        simulated = list(islice(found_waves, most + 1)) if most else []
        self._left -= len(simulated) * len(leaving)
        complete = most > 0 and len(simulated) <= most
        there = {key: clusters & names for key, names in self._decided.items() if key in leaving}
        left = {(key, name) for key, names in there.items() for name in names}
        listed, late = [], set[str]()
        for wave in simulated[:most]:
            moves = [
                desired for desired in wave.moves if desired.drains and desired.source in clusters
            ]
            if wave.at >= period.end:
                late |= {desired.placement for desired in moves}
                continue
            left -= {(desired.placement, desired.source) for desired in moves}
            if moves:
                shown = tuple(map(PacedMove.of, moves))
                listed.append(DepartureWave(at=_local(wave.at, item.zone), moves=shown))
        rest = {key for key, _ in left}
        return msgspec.structs.replace(
            found,
            waves=tuple(listed),
            complete=complete,
            late=tuple(sorted(late)),
            held=tuple(sorted(rest - late)) if complete else (),
        )


def window_text(found: WindowView) -> str:
    """`Drain of eu-1 from 2026-11-24T20:00:00+01:00 to 2026-11-25T04:00:00+01:00`."""
    subjects = names_text(found.clusters or found.applications, most=NAMED) or "no cluster"
    zone = f" ({found.zone})" if found.zone else ""
    return f"{found.action} of {subjects} from {found.start} to {found.end}{zone}"


def maintenance_text(found: MaintenanceChange) -> str:
    """What happens, in one sentence, without the waves."""
    said = _said(found)
    return f"{found.change}: {window_text(found)}" + (f"; {said}" if said else "")


def maintenance_lines(found: MaintenanceChange, *, names: int) -> Iterator[str]:
    """Who leaves in which wave, and who does not."""
    day = found.waves[0].at[:10] if found.waves else ""
    for wave in found.waves:
        when = wave.at[11:16] if wave.at[:10] == day else wave.at[:16].replace("T", " ")
        yield f"{when}: {', '.join(map(move_text, wave.moves))}"
    if not found.complete:
        yield "... and more"
    others: Mapping[str, tuple[str, ...]] = {
        "would not leave before the end": found.late,
        "stay, because no other cluster takes them or a freeze holds them": found.held,
        "stay, because they are not paced": found.stays or (),
    }
    if found.action is MaintenanceAction.DRAIN:
        for words, keys in others.items():
            if keys:
                yield f"{words}: {_names(keys, most=names)}"


def _said(found: MaintenanceChange) -> str:
    if found.change is ChangeKind.REMOVED:
        return "it ends with the change" if found.state == "open" else ""
    if found.state == "past":
        return "the window is past, so it does nothing"
    if found.stays is None:
        return "who is concerned is unknown"
    if found.action is MaintenanceAction.CORDON:
        here = plural(len(found.stays), "application")
        names = f": {_names(found.stays)}" if found.stays else ""
        return (
            f"nothing new arrives, and {here} {'stays' if len(found.stays) == 1 else 'stay'}{names}"
        )
    if found.action is MaintenanceAction.FREEZE:
        if not found.held:
            return "no paced application is there"
        return f"no move begins of {plural(len(found.held), 'paced application')}: {_names(found.held)}"
    least = "" if found.complete else "at least "
    if not found.count:
        return (
            "no application leaves"
            if found.complete
            else "how many applications leave was not computed"
        )
    moves, waves = plural(found.count, "application"), plural(len(found.waves), "wave")
    words = f"{least}{moves} would leave in {waves}"
    if found.complete and not found.late:
        words += f", the last at {found.waves[-1].at} at the earliest"
    if found.late:
        words += (
            f", and the drain would not be done before the end: {len(found.late)} would be left"
        )
    return words


def _names(keys: Collection[str], *, most: int = 5) -> str:
    return names_text((key.partition("/")[2] for key in keys), most=most)


def _local(seconds: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).astimezone(zone).isoformat()
