"""Effects of an opening maintenance window: applications that leave, in waves, or stay.

A drain is a loss with notice. `losses` finds applications without a target, those that tolerate it
and overloads, as it does for a cluster that is lost. The pace decides when each one leaves, and its
target.

It is computed from the present scores and from the state to which the change leads the hub. Other
windows count if they are open when this one begins; those that open or close meanwhile do not.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.maintenance import Maintenance, MaintenanceAction
from gitops_dsf.hub.windows import Period
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.desired import DesiredMove
from gitops_dsf.pacing.waves import AdmittedWave, staying, waves
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.losses import ClusterLosses, Departure, Loss, OverloadedScore
from gitops_dsf.views.preview.paced import PacedMove, is_paced, situation_of
from gitops_dsf.views.preview.pacedchange import MAX_SIMULATED, MAX_WAVES
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.windows import local_time


class DepartureWave(Struct, frozen=True, kw_only=True):
    """Moves that may be under way together."""

    at: str
    """The earliest time when they begin: handovers take no time."""
    moves: tuple[PacedMove, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowEffect:
    """Placements are `namespace/name`, sorted."""

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


class WindowEffects:
    """Computes the effects of several windows, which share one budget of simulated Placements."""

    def __init__(self, transition: Transition) -> None:
        self._transition = transition
        self._head = transition.head
        self._simulations_left = MAX_SIMULATED
        placements = applied(self._head).placements
        self._decided: dict[str, frozenset[str]] = {}
        for key, names in decided(transition.after.decisions.values()).items():
            # Other Placements on the hub are not of this repository, and nothing here moves them.
            if key in placements:
                self._decided[key] = names

    def effect(
        self,
        maintenance: Maintenance,
        clusters: frozenset[str],
        period: Period,
        *,
        is_open: bool,
    ) -> WindowEffect:
        """The effects in this period of the window, from now on if it is open already."""
        on_clusters = self._on(clusters)
        if maintenance.action is MaintenanceAction.CORDON:
            return WindowEffect(stays=tuple(sorted(on_clusters)))
        paced = self._paced(on_clusters)
        if maintenance.action is MaintenanceAction.FREEZE:
            named = self._paced(self._with_names(maintenance.applications or ()))
            return WindowEffect(held=tuple(sorted(paced | named)))
        stays = tuple(sorted(set(on_clusters) - paced))
        # Other windows that are open when this one begins hold moves back, too.
        begin = None if is_open else period.start
        hub = self._transition
        situation = situation_of(self._head, hub.after, hub.ledger, now=hub.now, at=begin)
        if situation is None:
            return WindowEffect(stays=stays)
        return self._drain(maintenance, clusters, period, situation, stays)

    def _drain(
        self,
        maintenance: Maintenance,
        clusters: frozenset[str],
        period: Period,
        situation: Situation,
        stays: tuple[str, ...],
    ) -> WindowEffect:
        leaving = staying(situation)
        max_waves = min(MAX_WAVES, self._simulations_left // max(1, len(leaving)))
        computed = self._computed_waves(situation, leaving, max_waves)
        complete = max_waves > 0 and len(computed) <= max_waves
        # Pairs of Placement and cluster: one may leave two drained clusters, one after the other.
        remaining: set[tuple[str, str]] = set()
        for key in leaving:
            for name in clusters & self._decided_for(key):
                remaining.add((key, name))
        departures = []
        late: set[str] = set()
        for wave in computed[:max_waves]:
            moves = _departures(wave.moves, clusters)
            if wave.at >= period.end:
                # The pace is too slow: they are still there when the window closes.
                for move in moves:
                    late.add(move.placement)
                continue
            for move in moves:
                remaining.discard((move.placement, move.source))
            if moves:
                begin = local_time(wave.at, maintenance.zone)
                departures.append(DepartureWave(at=begin, moves=tuple(map(PacedMove.of, moves))))
        effect = WindowEffect(
            waves=tuple(departures), complete=complete, late=tuple(sorted(late)), stays=stays
        )
        if not complete:
            return effect
        # All waves are known, so what has not left waits for something else than its turn.
        held = {key for key, _ in remaining} - late
        loss = self._loss(clusters, departures, held, situation)
        return replace(
            effect,
            held=tuple(sorted(held)),
            homeless=loss.homeless,
            tolerant=tuple(gone.placement for gone in loss.departures if gone.stays),
            overloads=loss.overloads,
        )

    def _loss(
        self,
        clusters: frozenset[str],
        leaving: Iterable[DepartureWave],
        held: Collection[str],
        situation: Situation,
    ) -> Loss:
        """The drain as the loss that it is: who goes where, who goes nowhere, what overloads."""
        moved: list[Departure] = []
        for wave in leaving:
            moved += map(_departure, wave.moves)
        self._simulations_left -= len(held)
        # Where one would go that a freeze holds: it stays, so it overloads nothing.
        waiting = self._losses.departures(held, clusters, situation.drained or situation.hub)
        return Loss(
            clusters=tuple(sorted(clusters)),
            departures=(*moved, *waiting),
            overloads=tuple(self._losses.overloads(moved)),
        )

    @cached_property
    def _losses(self) -> ClusterLosses:
        """The hub before any window opens, which is the same for all of them."""
        return ClusterLosses(
            self._head,
            self._transition.after,
            now=self._transition.now,
            known=self._transition.known_scores,
        )

    def _computed_waves(
        self, situation: Situation, leaving: Collection[str], max_waves: int
    ) -> list[AdmittedWave]:
        """The waves, one more than wanted at most, which shows whether these are all."""
        if not max_waves:
            return []
        # Between two waves the situation may only wait for a time, which is a step as well.
        following = waves(situation, max_waves=2 * max_waves + 2, measured=False)
        computed = list(islice(following, max_waves + 1))
        self._simulations_left -= len(computed) * len(leaving)
        return computed

    def _on(self, clusters: frozenset[str]) -> list[str]:
        """Placements that have chosen one of these clusters."""
        return [key for key, names in self._decided.items() if not clusters.isdisjoint(names)]

    def _decided_for(self, key: str) -> frozenset[str]:
        return self._decided.get(key, frozenset())

    def _paced(self, keys: Iterable[str]) -> set[str]:
        return {key for key in keys if is_paced(self._head, key)}

    def _with_names(self, names: Collection[str]) -> list[str]:
        """Decided Placements with one of these names, in any namespace."""
        return [key for key in self._decided if key.partition("/")[2] in names]


def _departures(moves: Iterable[DesiredMove], clusters: Collection[str]) -> list[DesiredMove]:
    """The moves that leave one of these clusters because it is drained."""
    return [move for move in moves if move.drains and move.source in clusters]


def _departure(move: PacedMove) -> Departure:
    """A paced move away from a drained cluster, as a loss has it."""
    return Departure(
        placement=move.placement,
        source=(move.source,),
        target=(move.target,),
        stays=(),
        missing=0,
        by="scores",
    )
