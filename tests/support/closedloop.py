"""A fleet in simulated time in which load moves with the applications.

So every decision changes the next scores. OCM is the simulator, and the moves are those of
`gitops_dsf.pacing`, with items and ledger as on a hub.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.pace import (
    HOLD_WEIGHT,
    MOVES_SCORE,
    PacedRanking,
    PacedTerm,
    Verification,
    VerifiedBy,
)
from gitops_dsf.hub.scores import PublishedScore, score_of
from gitops_dsf.pacing.admit import Situation, admit, move_of
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.items import items_of
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase, remembered
from gitops_dsf.pacing.ledger import VerificationOutcome as MoveOutcome
from gitops_dsf.pacing.progress import advance
from gitops_dsf.pacing.verification import Reading
from gitops_dsf.pacing.verifier import NOT_VERIFIED, Evidence, begun_by
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState, simulate_placement
from tests.unit.simulator.hub import GROUP, exact, hub
from tests.unit.simulator.hub import cluster as managed

TICK: Final = 60
"""Seconds between two looks of the reconciler."""
INTERVAL: Final = 60
"""Seconds between two measurements."""
RANGE: Final = 600
"""A score is the mean of the measurements of so many seconds."""
DELAY: Final = 60
WEIGHT, STEADY = 5, 1
"""As people write them: a stickiness of 20 points."""
STICKINESS: Final = 100 * STEADY / WEIGHT

HOUR: Final = 3600
NO_LIES: Final[Mapping[str, float]] = MappingProxyType({})
NOISE: Final = 3.0
"""Standard deviation of a measurement, in points."""
VERIFICATION: Final = Verification(
    checks=(
        VerifiedBy(
            scorer="success",
            resource="success",
            dimension="success",
            at_least=95,
            for_seconds=300,
            delay=DELAY,
        ),
    ),
    seconds=HOUR / 2,
    hold_seconds=6 * HOUR,
    revision="1",
)
"""The new cluster carries 95 % of its load for five minutes."""


@dataclass(frozen=True, kw_only=True)
class CapacityChange:
    """At `at` seconds the capacity of a cluster changes; 0 loses it."""

    at: int
    cluster: str
    capacity: float


@dataclass(frozen=True, kw_only=True)
class LoopFleet:
    """What a loop starts with.

    Capacity and load are points of the score, which says what is free.
    """

    capacities: Mapping[str, float]
    loads: Mapping[str, int]
    """By application."""
    placed: Mapping[str, str]
    """The cluster of each application."""
    events: Sequence[CapacityChange] = ()
    seconds: int


@dataclass(frozen=True, kw_only=True)
class Moved:
    """OCM changed a decision."""

    at: int
    application: str
    source: str
    target: str


@dataclass(kw_only=True)
class LoopOutcome:
    """What happened in a loop."""

    moves: list[Moved] = field(default_factory=list)
    """Without those from lost clusters."""
    overload: float = 0.0
    """The worst, in points."""
    overload_hours: float = 0.0
    """The overload of all clusters together over the time, in points times hours."""
    returned: int = 0
    """Moves that went back because their checks failed."""
    stopped_at: int | None = None
    """When so many had returned that the fleet stopped."""
    under_way: int = 0
    """The most admitted moves at a time."""
    arriving: int = 0
    """The most admitted moves to one cluster at a time."""
    uneven: list[int] = field(default_factory=list)
    """When a cluster had so little left that an application there would gain more than the
    stickiness.
    """
    free: dict[str, float] = field(default_factory=dict)
    """Points that are free at the end."""

    @property
    def back(self) -> int:
        """Moves within an hour to a cluster that the application had left."""
        found, left = 0, dict[tuple[str, str], int]()
        for each in self.moves:
            before = left.get((each.application, each.target))
            found += before is not None and each.at - before <= HOUR
            left[each.application, each.source] = each.at
        return found

    def settling_time(self, start: int, end: int) -> int:
        """Seconds from the start of a span until no application would gain more than the
        stickiness.
        """
        return max((at + TICK - start for at in self.uneven if start <= at < end), default=0)


class Loop:
    """One run. Without a pace OCM follows the written weights."""

    def __init__(
        self,
        fleet: LoopFleet,
        *,
        pace: Pace | None,
        demand: Callable[[int], int] = lambda load: load,
        exact: bool = False,
        seed: int = 1,
        lies: Mapping[str, float] = NO_LIES,
        verified: Verification | None = None,
    ) -> None:
        """`demand` says what is written for an application of a load.

        With `exact` the scores are those of the moment, without noise. `lies` are the points by
        which the scores of clusters are too high. With `verified` the old copy stays until the
        score `success` of the new cluster passes: what part of its load the cluster can carry, in
        percent.
        """
        self._verified = verified
        self._lies = lies
        self._fleet, self._pace, self._exact = fleet, pace, exact
        self._noise = 0.0 if exact else NOISE
        self._random = random.Random(seed)
        self._capacity = dict(fleet.capacities)
        self._decided = dict(fleet.placed)
        self._copies: dict[str, dict[str, float]] = {
            name: {cluster: float("inf")} for name, cluster in fleet.placed.items()
        }
        """When the copies of an application go, by cluster."""
        self._measured: dict[str, deque[float]] = {}
        self._scores: dict[str, PublishedScore] = {}
        self._items: Mapping[str, Mapping[str, int]] = {}
        self._ledger = Ledger()
        self._starts = defaultdict[tuple[str, str], float](float)
        """When the copy of an application on a cluster is healthy, if it has to start."""
        late, mean = (0.0, 0.0) if exact else (DELAY, float(RANGE))
        self._paced: dict[str, Paced] = {}
        self._state = self._built()
        for name, load in fleet.loads.items():
            term = PacedTerm("free", "free", WEIGHT, demand=demand(load), delay=late, range=mean)
            ranking = PacedRanking((term,), steady=STEADY, verification=verified)
            key = f"ns/{name}"
            self._paced[key] = Paced.of(self._state.placement(key), ranking)
        self.outcome = LoopOutcome()

    def run(self) -> LoopOutcome:
        """Runs to the end."""
        events = sorted(self._fleet.events, key=lambda each: each.at, reverse=True)
        for now in range(0, self._fleet.seconds, TICK):
            while events and events[-1].at <= now:
                self._happen(events.pop())
            self._gone(now)
            if now % INTERVAL == 0:
                self._measure()
            self._see()
            if self._pace is not None:
                self._reconcile(self._pace, now)
            self._decide(now)
            self._record(now)
        return self.outcome

    def _record(self, now: int) -> None:
        used, outcome = self._used(), self.outcome
        outcome.free = {name: size - used[name] for name, size in self._capacity.items() if size}
        outcome.overload = max(outcome.overload, *(-free for free in outcome.free.values()))
        missing = sum(-free for free in outcome.free.values() if free < 0)
        outcome.overload_hours += missing * TICK / HOUR
        # A small cluster may have less to give than others when it is empty.
        low = min(free for name, free in outcome.free.items() if used[name])
        if max(outcome.free.values()) - low > STICKINESS:
            outcome.uneven.append(now)

    def _happen(self, event: CapacityChange) -> None:
        self._capacity[event.cluster] = event.capacity
        if not event.capacity:
            self._measured.pop(event.cluster, None)
            for copies in self._copies.values():
                copies.pop(event.cluster, None)
        self._state = self._built()

    def _gone(self, now: int) -> None:
        """Old copies go."""
        for copies in self._copies.values():
            for cluster in [name for name, until in copies.items() if until <= now]:
                del copies[cluster]

    def _used(self) -> dict[str, float]:
        used = dict.fromkeys(self._capacity, 0.0)
        for name, copies in self._copies.items():
            for cluster in copies:
                used[cluster] += self._fleet.loads[name]
        return used

    def _measure(self) -> None:
        used = self._used()
        for name, capacity in self._capacity.items():
            if not capacity:
                continue
            kept = self._measured.setdefault(
                name, deque(maxlen=1 if self._exact else RANGE // INTERVAL)
            )
            kept.append(capacity - used[name])
            value = sum(kept) / len(kept) + self._random.gauss(0, self._noise)
            value += self._lies.get(name, 0.0)
            self._scores[name] = score_of({"free": max(-100, min(100, round(value)))})

    def _see(self) -> None:
        """Scores, items and decisions as the hub has them."""
        moves = {cluster: score_of(items) for cluster, items in self._items.items()}
        scored = self._state.scoring({"free": dict(self._scores), MOVES_SCORE: moves})
        self._state = scored.deciding(_pages(self._decided))

    def _reconcile(self, pace: Pace, now: int) -> None:
        decided = {f"ns/{name}": frozenset([cluster]) for name, cluster in self._decided.items()}
        moving = {each.placement for each in self._ledger.under_way if each.phase == "Admitted"}
        ledger = advance(
            self._ledger,
            paced=self._paced.keys(),
            decided=decided,
            published=moving,
            finished=self._finished,
            evidence=self._evidence(now),
            pace=pace,
            now=now,
        )
        self._verify(ledger, now)
        kept = remembered(pace, (each.ranking for each in self._paced.values()))
        ledger = ledger.pruned(kept=kept, now=now)
        situation = Situation(
            hub=self._state, paced=self._paced, ledger=ledger, pace=pace, now=_moment(now)
        )
        admitted = admit(situation).moves
        evidence = self._evidence(now)
        self._ledger = ledger.adding(
            begun_by(evidence, move_of(desired, now)) for desired in admitted
        )
        self._items = items_of(self._ledger.under_way, {})
        under_way = [each for each in self._ledger.under_way if each.admitted]
        self.outcome.under_way = max(self.outcome.under_way, len(under_way))
        targets = [each.target for each in under_way]
        self.outcome.arriving = max([self.outcome.arriving, *map(targets.count, targets)])
        self._see()

    def _finished(self, move: LedgerMove) -> bool:
        return move.source not in self._copies[_name(move.placement)]

    def _evidence(self, now: int) -> Evidence:
        """What verified moves are judged by, measured now."""
        if self._verified is None:
            return NOT_VERIFIED
        used = self._used()

        def read(_check: VerifiedBy, cluster: str) -> Reading:
            carried = 100 * self._capacity[cluster] / max(used[cluster], self._capacity[cluster], 1)
            return Reading(value=round(carried), written=now, unbroken=True)

        def old_copies(placement: str) -> Iterable[str]:
            name = _name(placement)
            return [cluster for cluster in self._copies[name] if cluster != self._decided[name]]

        return Evidence(
            verifications=dict.fromkeys(self._paced, self._verified),
            read=read,
            arrived=lambda move: self._starts[_name(move.placement), move.target] <= now,
            can_return=lambda _placement, cluster: self._capacity[cluster] > 0,
            old_copies=old_copies,
        )

    def _verify(self, ledger: Ledger, now: int) -> None:
        """Old copies of moves that passed go, and so do those that came back."""
        if ledger.stopped_since and self.outcome.stopped_at is None:
            self.outcome.stopped_at = now
        self.outcome.returned += sum(
            move.outcome is MoveOutcome.RETURNED and move.phase_since == now
            for move in ledger.moves
        )
        if self._verified is None:
            return
        for move in ledger.under_way:
            name = _name(move.placement)
            may_go = move.passed_at or (move.returning and move.phase is Phase.HANDOVER)
            if may_go and self._copies[name].get(move.source) == float("inf"):
                self._copies[name][move.source] = now + TICK

    def _decide(self, now: int) -> None:
        """One pass of OCM over each Placement.

        They differ in nothing but their names. So those on one cluster get one verdict, unless a
        move of theirs has published items.
        """
        moment = _moment(now)
        chosen: dict[tuple[str, tuple[tuple[str, int], ...]], str] = {}
        for key, item in self._paced.items():
            name = _name(key)
            own = tuple((at, items[key]) for at, items in self._items.items() if key in items)
            situation = (self._decided[name], own)
            if situation not in chosen:
                placement = item.written if self._pace is None else item.placement
                verdict = simulate_placement(placement, state=self._state, now=moment)
                (chosen[situation],) = verdict.chosen
            if chosen[situation] != self._decided[name]:
                self._follow(name, chosen[situation], now)

    def _follow(self, name: str, cluster: str, now: int) -> None:
        """Make before break: the old copy stays until the new one is healthy."""
        source = self._decided[name]
        if self._capacity[source]:
            self.outcome.moves.append(
                Moved(at=now, application=name, source=source, target=cluster)
            )
            starts = now + self._random.choice((60, 120))
            if self._verified is None:
                self._copies[name][source] = starts
            elif cluster not in self._copies[name]:
                self._starts[name, cluster] = starts
        self._copies[name][cluster] = float("inf")
        self._decided[name] = cluster

    def _built(self) -> HubState:
        return hub_of(self._capacity, self._decided)


def hub_of(capacities: Mapping[str, float], placed: Mapping[str, str]) -> HubState:
    """A hub with the rendered Placements of these applications, without scores.

    A cluster without capacity is unreachable.
    """
    state = HubState.build(hub(*_documents(capacities, placed)))
    return state.deciding(_pages(placed))


def _pages(placed: Mapping[str, str]) -> Iterator[PlacementDecision]:
    for name, cluster in placed.items():
        yield decision_of(namespace="ns", placement=name, clusters=[cluster])


def _documents(capacities: Mapping[str, float], names: Iterable[str]) -> Iterator[dict[str, Any]]:
    lost = [{"key": f"{GROUP}/unreachable", "effect": "NoSelect"}]
    for name, capacity in capacities.items():
        yield managed(name, taints=() if capacity else lost)
    for name in names:
        # The weights of a paced Placement.
        policy = exact(
            ("free/free", 1), ("Steady", HOLD_WEIGHT), (f"{MOVES_SCORE}/ns/{name}", HOLD_WEIGHT)
        )
        spec = {"numberOfClusters": 1, "prioritizerPolicy": policy}
        yield {"kind": "Placement", "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def _name(placement: str) -> str:
    """Of the application."""
    return placement.partition("/")[2]


def _moment(now: int) -> datetime:
    return datetime.fromtimestamp(now, UTC)


def herd(*, seconds: int = HOUR) -> LoopFleet:
    """Twenty applications on the worst of four clusters."""
    demand = 5
    loads = {f"app-{number:02}": demand for number in range(20)}
    free = {"c1": 40 + 20 * demand, "c2": 62, "c3": 58, "c4": 55}
    return LoopFleet(
        capacities=free, loads=loads, placed=dict.fromkeys(loads, "c1"), seconds=seconds
    )


def fleet(
    *, clusters: int, applications: int, events: Sequence[CapacityChange], seconds: int
) -> LoopFleet:
    """Clusters of 100 points, which are used by two fifths, evenly."""
    rng = random.Random(7)
    names = [f"c{number:02}" for number in range(clusters)]
    loads = {f"a{number:03}": rng.randint(2, 6) for number in range(applications)}
    placed = {name: names[number % clusters] for number, name in enumerate(loads)}
    return LoopFleet(
        capacities=dict.fromkeys(names, 100.0),
        loads=loads,
        placed=placed,
        events=events,
        seconds=seconds,
    )
