"""How the moves of a ledger go on, by what the hub shows. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from gitops_dsf.hub.causes import MoveCause
from gitops_dsf.pacing.ledger import Ledger, Move, Phase

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
