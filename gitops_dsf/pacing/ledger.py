"""The ledger of moves: what was admitted, how far it is, and what ended lately.

The reconciler keeps it in one ConfigMap and writes it with the resourceVersion that it read. A move is
admitted when that write succeeds, so two leaders cannot exceed the pace together, and a new leader goes on
where the last one stopped.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from gitops_dsf.hub.causes import MoveCause
from gitops_dsf.hub.pace import PacedRanking, Term
from gitops_dsf.hub.scores import Score, Scores
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator.prioritizers import MAX_SCORE

MOST_MOVES: Final = 20_000
"""Entries of a ledger: no ConfigMap is larger."""


class Phase(StrEnum):
    """How far a move is."""

    ADMITTED = "Admitted"
    """The items are published, or will be; OCM has not followed yet."""
    WITHDRAWN = "Withdrawn"
    """The items are being taken away, because OCM did not follow."""
    HANDOVER = "Handover"
    """OCM decided for the new cluster; the old copy still runs, or the new one is not healthy yet."""
    ENDED = "Ended"


class Move(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One application leaves a cluster for another. Times are seconds since 1970."""

    placement: str
    """namespace/name."""
    source: str = msgspec.field(name="from")
    """Empty for an application that was placed for the first time."""
    target: str = msgspec.field(name="to")
    since: float
    """When it was admitted, or seen."""
    phase: Phase = Phase.ADMITTED
    phase_since: float = 0.0
    admitted: bool = True
    """False if OCM moved it itself: a cluster was lost, or an application is new."""
    gain: float | None = None
    """Points that an admitted move was to gain."""
    cause: MoveCause | None = None
    """None if it is not known: OCM moved it itself, and its cluster was not lost."""

    @property
    def under_way(self) -> bool:
        """Whether it counts as a move at this time."""
        return self.phase is not Phase.ENDED

    def entered(self, phase: Phase, now: float) -> "Move":
        return replace(self, phase=phase, phase_since=now)

    def not_after(self, now: float) -> "Move":
        """With times in the future as now."""
        if max(self.since, self.phase_since) <= now:
            return self
        return replace(self, since=min(self.since, now), phase_since=min(self.phase_since, now))


class Ledger(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Moves in order of admission, and the decisions that were seen."""

    moves: Annotated[tuple[Move, ...], Meta(max_length=MOST_MOVES)] = ()
    decided: dict[str, tuple[str, ...]] = {}
    """By namespace/name of the Placement. What differs later, and was not admitted, OCM moved itself."""
    omitted: int = 0
    """Moves that had no room in the ConfigMap. While there are some, nobody can count, so nothing begins."""
    whole_after: float = 0.0
    """When the moves that were left out no longer matter, in seconds since 1970."""

    @property
    def under_way(self) -> Iterator[Move]:
        return (each for each in self.moves if each.under_way)

    def of(self, placement: str) -> Move | None:
        return next((each for each in self.under_way if each.placement == placement), None)

    def last_end(self, placement: str) -> float | None:
        ends = [
            each.phase_since
            for each in self.moves
            if each.placement == placement and each.admitted and not each.under_way
        ]
        return max(ends, default=None)

    def adding(self, moves: Iterable[Move]) -> "Ledger":
        return replace(self, moves=(*self.moves, *moves))

    def not_after(self, now: float) -> "Ledger":
        """With times in the future as now. The hub's clock was wrong when they were written, and what waits
        for such a time would wait until the clock gets there.
        """
        return replace(self, moves=tuple(each.not_after(now) for each in self.moves))

    def pruned(self, *, kept: float, now: float) -> "Ledger":
        """Without moves that nothing depends on. `kept` is how long one matters after it ended."""
        moves = tuple(
            each for each in self.moves if each.under_way or now < each.phase_since + kept
        )
        if self.omitted and now >= self.whole_after:
            return replace(self, moves=moves, omitted=0, whole_after=0.0)
        return replace(self, moves=moves)

    def fitted(self, room: int, *, kept: float) -> "Ledger":
        """The ledger in so many bytes. First the decisions are left out: without them a new leader begins as
        at its first look. Then go the moves that ended first. A move that was admitted and is under way
        always stays: the pace allows only a few. `kept` is how long a move matters after its last change.
        """
        if _size(self) <= room:
            return self
        ledger = replace(self, decided={})
        used = _size(replace(ledger, moves=(), omitted=MOST_MOVES, whole_after=1e12))
        first_to_stay = sorted(
            self.moves,
            key=lambda each: (each.under_way and each.admitted, each.under_way, each.phase_since),
            reverse=True,
        )
        stay, gone = set[int](), list[Move]()
        for each in first_to_stay:
            used += _size(each) + 1
            if used <= room or (each.under_way and each.admitted):
                stay.add(id(each))
            else:
                gone.append(each)
        if not gone:
            return ledger
        return replace(
            ledger,
            moves=tuple(each for each in self.moves if id(each) in stay),
            omitted=self.omitted + len(gone),
            whole_after=max(self.whole_after, *(each.phase_since + kept for each in gone)),
        )


def _size(part: Struct) -> int:
    return len(msgspec.json.encode(part))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shift:
    """What is assumed about one score of one cluster."""

    cluster: str
    resource: str
    dimension: str
    points: float
    """Added to the published score."""
    doubt: float = 0.0
    """How many of these points the published score may show already. Never negative."""


def shifts_of(move: Move, ranking: PacedRanking, *, now: float) -> Iterable[Shift]:
    """What a move changes that may not be measured yet."""
    for term in ranking.terms:
        share = unmeasured(move, term, now=now)
        if term.demand and term.weight and share:
            # Where a lower score is better, an arrival raises the score.
            points = term.demand * share * (1 if term.weight > 0 else -1)
            doubt = term.demand * (share - surely_unmeasured(move, term, now=now))
            for cluster, change in ((move.target, -points), (move.source, points)):
                if cluster:
                    yield Shift(
                        cluster=cluster,
                        resource=term.resource,
                        dimension=term.dimension,
                        points=change,
                        doubt=doubt,
                    )


def unmeasured(move: Move, term: Term, *, now: float) -> float:
    """The largest share of a move that a score may not show yet, between 0 and 1."""
    if move.under_way:
        return 1.0
    elapsed = now - move.phase_since - term.delay
    if elapsed < 0:
        return 1.0
    return max(0.0, 1.0 - elapsed / term.range) if term.range else 0.0


def surely_unmeasured(move: Move, term: Term, *, now: float) -> float:
    """The share of a move that a score cannot show yet, between 0 and 1.

    `term.delay` is the longest time until a measurement is published; it may also be published at once. And
    from the decision on the new copy may run, and the old one may be gone. Between this share and
    `unmeasured`, nobody knows what a score shows.
    """
    if move.phase is Phase.ADMITTED:
        return 1.0
    if move.phase is Phase.WITHDRAWN:
        # It may never happen.
        return 0.0
    elapsed = now - move.since
    if elapsed <= 0:
        return 1.0
    return max(0.0, 1.0 - elapsed / term.range) if term.range else 0.0


def next_measured(ledger: Ledger, rankings: Mapping[str, PacedRanking], *, now: float) -> float:
    """When time alone changes next what is assumed about the scores, in seconds since 1970. Infinite if it
    changes nothing. `rankings` are by namespace/name of the Placement.
    """
    changes = [math.inf]
    for move in ledger.moves:
        ranking = rankings.get(move.placement)
        for term in ranking.terms if ranking is not None and not move.under_way else ():
            begin = move.phase_since + term.delay
            end = begin + term.range
            if term.demand and now < end:
                # While a range measures it little by little, ten looks are enough.
                changes.append(begin if now < begin else min(end, now + term.range / 10))
    return min(changes)


def remembered(pace: Pace, rankings: Iterable[PacedRanking]) -> float:
    """Seconds that a move matters after it ended: for the cooldown, for the time that its cluster settles,
    and until every score has measured it. `spec.pace.settleSeconds` may be shorter than the last one.
    """
    measured = max((each.measured_after for each in rankings), default=0.0)
    return max(pace.cooldown_seconds, pace.settle(measured), measured)


def summed(shifts: Iterable[Shift]) -> Mapping[tuple[str, str, str], int]:
    """The points that are assumed, by resource, dimension and cluster."""
    found: dict[tuple[str, str, str], float] = {}
    for each in shifts:
        key = each.resource, each.dimension, each.cluster
        found[key] = found.get(key, 0.0) + each.points
    return {key: round(points) for key, points in found.items()}


def assume(scores: Scores, shifts: Iterable[Shift]) -> Scores:
    """The scores with the assumed load, within -100 and 100. A cluster without the score stays as it is."""
    found = dict[str, Mapping[str, Score]](scores)
    copied: dict[str, dict[str, Score]] = {}
    for (resource, dimension, cluster), points in summed(shifts).items():
        column = copied.get(resource) or dict(found.get(resource, {}))
        score = column.get(cluster)
        if score is not None and score.get(dimension) is not None:
            column[cluster] = _shifted(score, dimension, points)
            copied[resource] = column
    return found | copied


def _shifted(score: Score, dimension: str, points: int) -> Score:
    values = tuple(
        max(-MAX_SCORE, min(MAX_SCORE, value + points)) if name == dimension else value
        for name, value in score.items()
    )
    return Score(score.valid_until, score.names, values, score.on_hub)


FOLLOW_SECONDS: Final = 60.0
"""OCM follows an item within a second. A move that it has not followed for so long is withdrawn."""
LAST_PASS_SECONDS: Final = 10.0
"""A pass that OCM began before the items were taken away has written its decision by then."""

Decisions = Mapping[str, frozenset[str]]
"""The clusters of complete decisions, by namespace/name of the Placement."""


def advance(
    ledger: Ledger,
    *,
    paced: Collection[str],
    decided: Decisions,
    published: Collection[str],
    finished: Callable[[Move], bool],
    refused: Collection[str] = (),
    loss: Callable[[str], MoveCause | None] = lambda _cluster: None,
    now: float,
) -> Ledger:
    """The ledger by what the hub shows: settled decisions, `published` Placements with items of a move.
    `refused` are the clusters and Placements whose items the hub does not take. `loss` says why a cluster is
    lost, or None.
    """
    moves = []
    for move in ledger.moves:
        if move.under_way and move.placement not in paced:
            continue
        found = move
        if move.under_way and move.placement in decided:
            next_one = _next(move, decided[move.placement], published, finished, now)
            if next_one is None:
                continue
            is_refused = any(name in refused for name in (move.placement, move.source, move.target))
            if next_one.phase is Phase.ADMITTED and is_refused and move.placement not in published:
                # OCM cannot follow what nobody can publish, and meanwhile others wait.
                next_one = next_one.entered(Phase.WITHDRAWN, now)
            found = next_one
        moves.append(found)
    seen = {key: decided.get(key, frozenset(ledger.decided.get(key, ()))) for key in paced}
    advanced = replace(
        ledger,
        moves=tuple(moves),
        decided={
            key: tuple(sorted(clusters)) for key, clusters in sorted(seen.items()) if clusters
        },
    )
    return advanced.adding(_unasked(ledger, advanced, loss, now)) if ledger.decided else advanced


def _next(
    move: Move,
    clusters: frozenset[str],
    published: Collection[str],
    finished: Callable[[Move], bool],
    now: float,
) -> Move | None:
    """The move as it is now; None if it did not happen."""
    followed = move.target in clusters and move.source not in clusters
    if move.phase is Phase.HANDOVER:
        # OCM has decided again when the target is gone.
        return move.entered(Phase.ENDED, now) if not followed or finished(move) else move
    if followed:
        return move.entered(Phase.HANDOVER, now)
    if move.phase is Phase.ADMITTED:
        late = now >= move.phase_since + FOLLOW_SECONDS or move.source not in clusters
        return move.entered(Phase.WITHDRAWN, now) if late else move
    if move.placement in published:
        # Counts from when the items are gone.
        return (
            move.entered(Phase.WITHDRAWN, now)
            if now >= move.phase_since + LAST_PASS_SECONDS
            else move
        )
    return None if now >= move.phase_since + LAST_PASS_SECONDS else move


def _unasked(
    before: Ledger, after: Ledger, loss: Callable[[str], MoveCause | None], now: float
) -> Iterator[Move]:
    """Arrivals that nobody admitted: OCM chose for a new application, or for one that lost its cluster."""
    for key, clusters in after.decided.items():
        known = before.decided.get(key, ())
        expected = {
            each.target for each in before.moves if each.placement == key and each.under_way
        }
        left = sorted(set(known) - set(clusters), reverse=True)
        for cluster in clusters:
            if cluster not in known and cluster not in expected:
                source = left.pop() if left else ""
                yield Move(
                    placement=key,
                    source=source,
                    target=cluster,
                    since=now,
                    phase=Phase.HANDOVER,
                    phase_since=now,
                    admitted=False,
                    cause=loss(source) if source else None,
                )
