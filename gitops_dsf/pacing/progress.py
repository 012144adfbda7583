"""Progress of the moves of a ledger, by what the hub shows. Pure.

Missing information changes nothing: a move of a Placement whose decision has just changed stays as
it is.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.pacing import fleetstop
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase, VerificationOutcome
from gitops_dsf.pacing.verifier import NOT_VERIFIED, Evidence, Failed, Verifier, overtaken
from gitops_dsf.repository.model.reconciler import Pace

FOLLOW_SECONDS: Final = 60.0
"""The time after which a move that OCM has not followed is withdrawn.

OCM follows an item within a second.
"""
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
    evidence: Evidence = NOT_VERIFIED,
    pace: Pace | None = None,
    now: float,
) -> Ledger:
    """The ledger by what the hub shows.

    `decided` has no decision that changed a moment ago. `published` are the Placements with items
    of a move, and `refused` the clusters and Placements whose items the hub does not take. `loss`
    gives the cause if a cluster is lost, or None. `evidence` is what verified moves are judged by.
    """
    verifier = Verifier(evidence, finished=finished, loss=loss, now=now)
    moves: list[LedgerMove] = []
    returned: list[Failed] = []
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
        is_refused = any(name in refused for name in (move.placement, move.source, move.target))
        is_published = move.placement in published
        advanced = _next(
            move,
            decided[move.placement],
            verifier,
            is_published=is_published,
            is_refused=is_refused,
            now=now,
        )
        if isinstance(advanced, Failed):
            returned.append(advanced)
            advanced = advanced.move
        if advanced is None:
            continue
        if advanced.phase is Phase.ADMITTED and is_refused and not is_published:
            # OCM cannot follow what is not published, and meanwhile other moves wait.
            advanced = advanced.entered(Phase.WITHDRAWN, now)
        moves.append(advanced)
    seen: dict[str, tuple[str, ...]] = {}
    for key in sorted(paced):
        clusters = decided.get(key, ledger.decided.get(key, ()))
        if clusters:
            seen[key] = tuple(sorted(clusters))
    # A move back begins in the write that ends the other one. So two leaders cannot complete and
    # return the same move, and none is ended without the one that follows it.
    moves += verifier.moves_back(returned)
    after = replace(ledger, moves=tuple(moves), decided=seen)
    # Without known decisions (at the first pass ever, or when they had no room in the ConfigMap)
    # every Placement would look as if it had just arrived.
    if ledger.decided:
        after = after.adding(map(verifier.begun, _unasked(ledger, after, loss, now)))
    after = after.adding(verifier.adopted(after, decided))
    after = replace(after, holds=verifier.holds(ledger.holds, returned))
    return fleetstop.counted(after, pace or Pace(), new=len(returned), now=now)


def _next(
    move: LedgerMove,
    clusters: frozenset[str],
    verifier: Verifier,
    *,
    is_published: bool,
    is_refused: bool,
    now: float,
) -> LedgerMove | Failed | None:
    """The move as it is now; None if it did not happen."""
    # A Placement that wants one more cluster since then may have the target beside the source.
    followed = move.target in clusters and move.source not in clusters
    if move.phase in {Phase.HANDOVER, Phase.VERIFYING}:
        if not followed:
            # OCM has decided again when the target is gone.
            return overtaken(move, now)
        verification = verifier.verification_of(move)
        if verification is not None and move.phase is Phase.HANDOVER:
            return verifier.handed_over(move, verification)
        if verification is not None and not move.passed_at:
            return verifier.verified(move, verification)
        return move.entered(Phase.ENDED, now) if verifier.finished(move) else move
    if followed:
        return move.entered(Phase.HANDOVER, now)
    if move.phase is Phase.ADMITTED:
        # OCM may have left the source for a third cluster, because it was lost meanwhile.
        is_late = now >= move.phase_since + FOLLOW_SECONDS or move.source not in clusters
        return move.entered(Phase.WITHDRAWN, now) if is_late else move
    if now < move.phase_since + LAST_PASS_SECONDS:
        return move
    if is_published:
        # The time counts from when the items are gone.
        return move.entered(Phase.WITHDRAWN, now)
    if move.returning and move.source in clusters:
        return _tried_again(move, verifier, is_refused=is_refused, now=now)
    return None


def _tried_again(
    move: LedgerMove, verifier: Verifier, *, is_refused: bool, now: float
) -> LedgerMove:
    """A move back that OCM did not follow: the application still is where it does worse."""
    if not verifier.can_return(move.placement, move.target):
        return replace(move.entered(Phase.ENDED, now), outcome=VerificationOutcome.FAILED)
    return move if is_refused else move.entered(Phase.ADMITTED, now)


def _unasked(
    before: Ledger, after: Ledger, loss: Callable[[str], MoveCause | None], now: float
) -> Iterator[LedgerMove]:
    """Arrivals that were not admitted.

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
