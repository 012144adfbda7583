"""How the moves of a ledger go on, by what the hub shows. Pure.

What is not shown changes nothing: a move of a Placement whose decision has not settled stays as it
is.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase

FOLLOW_SECONDS: Final = 60.0
"""A move that OCM has not followed for so long is withdrawn. It follows an item within a second."""
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
    finished: Callable[[LedgerMove], bool],
    refused: Collection[str] = (),
    loss: Callable[[str], MoveCause | None] = lambda _cluster: None,
    now: float,
) -> Ledger:
    """The ledger by what the hub shows.

    `decided` has settled decisions only. `published` are the Placements with items of a move, and
    `refused` the clusters and Placements whose items the hub does not take. `loss` gives the cause
    if a cluster is lost, or None.
    """
    moves: list[LedgerMove] = []
    for move in ledger.moves:
        if not move.under_way:
            moves.append(move)
            continue
        if move.placement not in paced:
            # The Placement is gone, or is not paced any more.
            continue
        if move.placement not in decided:
            moves.append(move)
            continue
        advanced = _next(move, decided[move.placement], published, finished, now)
        if advanced is None:
            continue
        is_refused = any(name in refused for name in (move.placement, move.source, move.target))
        is_published = move.placement in published
        if advanced.phase is Phase.ADMITTED and is_refused and not is_published:
            # OCM cannot follow what is not published, and meanwhile other moves wait.
            advanced = advanced.entered(Phase.WITHDRAWN, now)
        moves.append(advanced)
    seen: dict[str, tuple[str, ...]] = {}
    for key in sorted(paced):
        clusters = decided.get(key, ledger.decided.get(key, ()))
        if clusters:
            seen[key] = tuple(sorted(clusters))
    after = replace(ledger, moves=tuple(moves), decided=seen)
    # Without known decisions (at the first pass ever, or when they had no room in the ConfigMap)
    # every Placement would look as if it had just arrived.
    return after.adding(_unasked(ledger, after, loss, now)) if ledger.decided else after


def _next(
    move: LedgerMove,
    clusters: frozenset[str],
    published: Collection[str],
    finished: Callable[[LedgerMove], bool],
    now: float,
) -> LedgerMove | None:
    """The move as it is now; None if it did not happen."""
    # A Placement that wants one more cluster since then may have the target beside the source.
    followed = move.target in clusters and move.source not in clusters
    if move.phase is Phase.HANDOVER:
        # OCM has decided again when the target is gone.
        has_ended = not followed or finished(move)
        return move.entered(Phase.ENDED, now) if has_ended else move
    if followed:
        return move.entered(Phase.HANDOVER, now)
    if move.phase is Phase.ADMITTED:
        # OCM may have left the source for a third cluster, because it was lost meanwhile.
        is_late = now >= move.phase_since + FOLLOW_SECONDS or move.source not in clusters
        return move.entered(Phase.WITHDRAWN, now) if is_late else move
    if now < move.phase_since + LAST_PASS_SECONDS:
        return move
    # The time counts from when the items are gone.
    return move.entered(Phase.WITHDRAWN, now) if move.placement in published else None


def _unasked(
    before: Ledger, after: Ledger, loss: Callable[[str], MoveCause | None], now: float
) -> Iterator[LedgerMove]:
    """Arrivals that nobody admitted.

    OCM chose for a new application, or for one that lost its cluster.
    """
    expected: defaultdict[str, set[str]] = defaultdict(set)
    for move in before.under_way:
        expected[move.placement].add(move.target)
    for key, clusters in after.decided.items():
        clusters_before = before.decided.get(key, ())
        if clusters == clusters_before:
            continue
        departed = sorted(set(clusters_before) - set(clusters), reverse=True)
        for cluster in clusters:
            if cluster in clusters_before or cluster in expected.get(key, ()):
                continue
            source = departed.pop() if departed else ""
            yield LedgerMove(
                placement=key,
                source=source,
                target=cluster,
                since=now,
                phase=Phase.HANDOVER,
                phase_since=now,
                admitted=False,
                cause=loss(source) if source else None,
            )
