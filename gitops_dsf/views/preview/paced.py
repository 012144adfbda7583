"""Paced moves of a fleet in waves, as the reconciler would admit them. Pure.

`gitops_dsf.pacing` decides which moves may begin, as it does in the reconciler. Every move is
assumed to succeed. A move changes the scores by the demand that people wrote, so scores that follow
from real load may lead elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Self

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.pace import PACE_ANNOTATION, PacedRanking, Verification, paced_ranking
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.desired import DesiredMove, Paced, desired_move
from gitops_dsf.pacing.fleetstop import acknowledged
from gitops_dsf.pacing.holds import remaining
from gitops_dsf.pacing.ledger import Hold, Ledger, LedgerMove
from gitops_dsf.pacing.maintenance import effect_of, tainted_by, without_drained
from gitops_dsf.pacing.waves import MAX_WAVES, AdmittedWave, waves
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState, Verdict
from gitops_dsf.views.preview.applied import applied


class PacedMove(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """One application leaves a cluster for another."""

    placement: str
    """namespace/name."""
    source: str
    target: str

    @classmethod
    def of(cls, move: DesiredMove | LedgerMove) -> Self:
        return cls(placement=move.placement, source=move.source, target=move.target)


class VerificationTime(Struct, frozen=True, kw_only=True):
    """The time for which a move is verified, in seconds after the new copy is Healthy.

    Both copies stay meanwhile.
    """

    after: float
    """The earliest time when its checks can have passed."""
    until: float
    """The time until which it must be decided."""


class DesiredPacedMove(PacedMove, frozen=True, kw_only=True):
    """A move that the scores ask for."""

    points: float
    """The points of the weighted mean by which the target is better; 0 if the source is drained."""
    verified: VerificationTime | UnsetType = UNSET
    """The time for which it is verified; absent if it is not."""


class PacedWave(Struct, frozen=True, kw_only=True):
    """Moves that may be under way together."""

    moves: tuple[DesiredPacedMove, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PacedWaves:
    """The waves on a hub whose objects stay as they are."""

    undecided: tuple[str, ...] = ()
    """Paced Placements (namespace/name) without a decision, which OCM places at once."""
    under_way: tuple[PacedMove, ...] = ()
    """The moves that are under way on the hub; the waves begin when they are done."""
    waves: tuple[PacedWave, ...] = ()
    complete: bool = True
    """Whether no move follows the last wave."""
    stopped_since: float | None = None
    """The time since when no move begins, because too many returned, in seconds since 1970."""

    @property
    def moves(self) -> Iterator[DesiredPacedMove]:
        """The moves of all waves, in order."""
        for wave in self.waves:
            yield from wave.moves


def paced_placements(fleet: CheckedFleet, state: HubState) -> dict[str, Paced]:
    """The paced Placements of a repository by namespace/name, as they are in the state."""
    by_key = {}
    for key in applied(fleet).placements:
        placement = state.placements.get(_split(key))
        ranking = None if placement is None else paced_ranking(placement)
        if placement is not None and ranking is not None:
            by_key[key] = Paced.of(placement, ranking)
    return by_key


def is_paced(fleet: CheckedFleet, key: str) -> bool:
    """Whether the Placement `namespace/name` is rendered as a paced one."""
    metadata = applied(fleet).placements.get(key, {}).get("metadata", {})
    return PACE_ANNOTATION in (metadata.get("annotations") or {})


def paced_waves(
    fleet: CheckedFleet,
    state: HubState,
    ledger: Ledger,
    *,
    now: datetime,
    max_waves: int = MAX_WAVES,
) -> PacedWaves:
    """The waves that follow by the scores and decisions of `state`; none without spec.pace."""
    situation = situation_of(fleet, state, ledger, now=now)
    if situation is None:
        return PacedWaves()
    # One more wave than wanted shows whether there are more.
    computed = tuple(islice(waves(situation), max_waves + 1))
    return PacedWaves(
        undecided=tuple(key for key in situation.paced if not state.decisions_of.get(_split(key))),
        under_way=tuple(map(PacedMove.of, ledger.under_way)),
        waves=tuple(_paced_wave(wave, situation.paced) for wave in computed[:max_waves]),
        complete=len(computed) <= max_waves,
        # 0 in the ledger of a fleet that is not stopped.
        stopped_since=situation.ledger.stopped_since or None,
    )


def situation_of(
    fleet: CheckedFleet, state: HubState, ledger: Ledger, *, now: datetime, at: float | None = None
) -> Situation | None:
    """The inputs of an admission, with the maintenance windows of now, or of `at` in Unix seconds.

    It is None without spec.pace.
    """
    pace = fleet.repository.spec.pace
    if pace is None:
        return None
    paced = paced_placements(fleet, state)
    ledger = _after_change(ledger, fleet, paced, pace=pace, now=now.timestamp())
    effect = effect_of(
        fleet.maintenance_on_hub,
        clusters={cluster.metadata.name: cluster for cluster in state.clusters},
        placements=paced,
        now=now.timestamp() if at is None else at,
    )
    # The reconciler taints the clusters of an open window. A hub that was read before it opened
    # does not have these taints.
    hub = tainted_by(state, effect)
    return Situation(
        hub=hub,
        paced=paced,
        ledger=ledger,
        pace=pace,
        now=now,
        frozen=effect.frozen,
        drained=without_drained(hub, effect),
        leaving=frozenset(effect.drained),
        pace_time=at,
    )


def _after_change(
    ledger: Ledger, fleet: CheckedFleet, paced: Mapping[str, Paced], *, pace: Pace, now: float
) -> Ledger:
    """The ledger when the repository is applied: it may acknowledge a stop, and end holds."""
    if pace.acknowledged_stop is not None:
        moment = datetime.fromisoformat(pace.acknowledged_stop).timestamp()
        ledger = acknowledged(ledger, moment, now=now)
    holds = remaining_holds(ledger, fleet, paced, now=now)
    return msgspec.structs.replace(ledger, holds=holds)


def remaining_holds(
    ledger: Ledger, fleet: CheckedFleet, paced: Mapping[str, Paced], *, now: float
) -> tuple[Hold, ...]:
    """The holds that stay when the repository is applied."""
    # The digests below read every scorer and cluster, and most ledgers hold nothing.
    if not ledger.holds:
        return ()
    verifications: dict[str, Verification] = {}
    for key, placement in paced.items():
        if placement.ranking.verification is not None:
            verifications[key] = placement.ranking.verification
    return remaining(ledger.holds, verifications, fleet.inventory_digests, now=now)


def desired_paced_move(verdict: Verdict) -> DesiredPacedMove | None:
    """The move of a paced Placement that OCM would make by the written weights, if any."""
    ranking = paced_ranking(verdict.source)
    if ranking is None:
        return None
    paced = Paced.of(verdict.source, ranking)
    desired = desired_move(paced, state=verdict.state, now=verdict.now)
    return None if desired is None else _desired(desired, ranking)


def _paced_wave(wave: AdmittedWave, paced: Mapping[str, Paced]) -> PacedWave:
    return PacedWave(
        moves=tuple(_desired(move, paced[move.placement].ranking) for move in wave.moves)
    )


def _desired(move: DesiredMove, ranking: PacedRanking) -> DesiredPacedMove:
    verification = ranking.verification
    verified: VerificationTime | UnsetType = UNSET
    if verification is not None:
        verified = VerificationTime(after=verification.passes_after, until=verification.seconds)
    return DesiredPacedMove(
        placement=move.placement,
        source=move.source,
        target=move.target,
        points=round(move.points, 1),
        verified=verified,
    )


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
