"""Maintenance that a change adds, alters or removes, and its effects."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec

from gitops_dsf.hub.maintenance import Maintenance
from gitops_dsf.hub.windows import next_period
from gitops_dsf.pacing.maintenance import clusters_of
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.fields import ChangeKind
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.losses import OverloadedScore
from gitops_dsf.views.preview.paced import PacedMove
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.windoweffects import DepartureWave, WindowEffect, WindowEffects
from gitops_dsf.views.preview.windows import WindowView, window_view

WindowPhase = Literal["open", "later", "past"]


class MaintenanceChange(WindowView, frozen=True, kw_only=True):
    """A maintenance that a change adds, alters or removes. Placements are `namespace/name`."""

    # If it is removed or past, only the window is computed.
    change: ChangeKind
    state: WindowPhase
    waves: tuple[DepartureWave, ...] = ()
    """The waves of a drain, up to the end of the window."""
    complete: bool = True
    """Whether these are all that leave."""
    late: tuple[str, ...] = ()
    """Paced Placements that would not leave before the end."""
    held: tuple[str, ...] = ()
    """Paced Placements that wait: frozen, or on a drained cluster and without another one."""
    homeless: tuple[str, ...] = ()
    """The applications of `held` without a target."""
    tolerant: tuple[str, ...] = ()
    """The applications of `held` that tolerate the taint of maintenance."""
    overloads: tuple[OverloadedScore, ...] = ()
    """Clusters that would be asked for more than they have left."""
    stays: tuple[str, ...] | None = ()
    """Other Placements on the clusters, which stay there; None if nothing is known of the hub."""

    @property
    def frozen(self) -> tuple[str, ...]:
        """The applications of `held` that a freeze holds."""
        others = {*self.homeless, *self.tolerant}
        return tuple(key for key in self.held if key not in others)

    @property
    def moves(self) -> Iterator[PacedMove]:
        """The moves of all waves, in order."""
        for wave in self.waves:
            yield from wave.moves

    @property
    def leaving(self) -> frozenset[str]:
        """The Placements of all waves. One that leaves two clusters counts once."""
        return frozenset(move.placement for move in self.moves)


def maintenance_changes(
    base: CheckedFleet | None, head: CheckedFleet, *, now: datetime, transition: Transition | None
) -> Iterator[MaintenanceChange]:
    """The maintenance that differs, by name. Without a transition nothing is known of the hub."""
    before = {} if base is None else _by_name(base)
    after = _by_name(head)
    differing: list[str] = []
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            differing.append(name)
    # Before the hub is simulated, which most changes need not wait for.
    if not differing:
        return
    # Without a hub the inventory alone says which clusters a selector selects.
    state = hub_state(head, None) if transition is None else transition.after
    clusters = {cluster.metadata.name: cluster for cluster in state.clusters}
    effects = None if transition is None else WindowEffects(transition)
    for name in differing:
        new = after.get(name)
        maintenance = new or before[name]
        concerned = clusters_of(maintenance, clusters)
        period = next_period(maintenance.window, now.timestamp())
        window_state: WindowPhase = "past"
        if period is not None:
            window_state = "open" if period.start <= now.timestamp() else "later"
        effect = WindowEffect()
        if new is not None and period is not None:
            effect = WindowEffect(stays=None)
            if effects is not None:
                is_open = window_state == "open"
                effect = effects.effect(new, frozenset(concerned), period, is_open=is_open)
        yield MaintenanceChange(
            **msgspec.structs.asdict(window_view(maintenance, concerned, now.timestamp())),
            change=ChangeKind.of(before.get(name), new),
            state=window_state,
            waves=effect.waves,
            complete=effect.complete,
            late=effect.late,
            held=effect.held,
            homeless=effect.homeless,
            tolerant=effect.tolerant,
            overloads=effect.overloads,
            stays=effect.stays,
        )


def _by_name(fleet: CheckedFleet) -> dict[str, Maintenance]:
    return {maintenance.name: maintenance for maintenance in fleet.maintenance_on_hub}
