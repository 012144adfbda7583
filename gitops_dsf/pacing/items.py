"""The items of `gitops-dsf-moves`, which draw OCM to a cluster or push it away from one. Pure.

Each cluster has one such AddOnPlacementScore, and each paced Placement ranks by the item of its own
name with a large weight. DRAW makes a cluster the best one, PUSH the worst.
"""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.moves.causes import Cause
from gitops_dsf.hub.pace import DRAW, PUSH
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.pacing.ledger import LedgerMove, Phase

MoveItems = Mapping[str, Mapping[str, int]]
"""Items by cluster, then by their name: namespace/name of the Placement."""


def items_of(moves: Iterable[LedgerMove], refuges: Mapping[str, str]) -> MoveItems:
    """The items that should be published.

    `refuges` are clusters by namespace/name of the Placement. A move has items until OCM has
    followed: afterwards Steady alone holds the decision, and OCM may return to the old cluster if
    the new one is lost. The target of a move takes the place of the refuge. So does the old cluster
    of a verified move until its checks have passed: a copy still runs there.
    """
    moves = tuple(moves)
    admitted = [move for move in moves if move.phase is Phase.ADMITTED]
    drawn_to = dict(refuges)
    for move in moves:
        if _has_way_back(move):
            drawn_to[move.placement] = move.source
    for move in admitted:
        drawn_to[move.placement] = move.target
    items: dict[str, dict[str, int]] = {}
    for placement, cluster in drawn_to.items():
        items.setdefault(cluster, {})[placement] = DRAW
    for move in admitted:
        items.setdefault(move.source, {})[move.placement] = PUSH
    # Sorted, so that equal items make equal objects, and nothing is written without need.
    return {cluster: dict(sorted(values.items())) for cluster, values in sorted(items.items())}


def _has_way_back(move: LedgerMove) -> bool:
    """Whether OCM should go to the old cluster again if the new one is lost."""
    if not move.verified or move.passed_at or move.phase not in {Phase.HANDOVER, Phase.VERIFYING}:
        return False
    # OCM could not decide for a cluster that it left itself, or that is drained.
    return move.admitted and (move.cause is None or move.cause.cause is not Cause.DRAIN)


def drawing(
    column: Mapping[str, PublishedScore], refuges: Mapping[str, str]
) -> dict[str, PublishedScore]:
    """Published items with those of more refuges (clusters by namespace/name of the Placement)."""
    by_cluster: dict[str, list[str]] = {}
    for placement, cluster in sorted(refuges.items()):
        by_cluster.setdefault(cluster, []).append(placement)
    after = dict(column)
    for cluster, placements in by_cluster.items():
        values = dict(after[cluster].items()) if cluster in after else {}
        values |= dict.fromkeys(placements, DRAW)
        after[cluster] = PublishedScore(names=tuple(values), values=tuple(values.values()))
    return after


def items_in(column: Mapping[str, PublishedScore]) -> MoveItems:
    """The published items, by the scores of that name."""
    items: dict[str, dict[str, int]] = {}
    for cluster, score in column.items():
        values = dict(score.items())
        if values:
            items[cluster] = values
    return items


def moving_in(items: MoveItems, moves: Iterable[LedgerMove]) -> frozenset[str]:
    """The Placements that published items push away from the source of their move."""
    return frozenset(
        move.placement for move in moves if items.get(move.source, {}).get(move.placement) == PUSH
    )


def drawn_by(items: MoveItems) -> dict[str, str]:
    """The clusters that items draw to, by namespace/name of the Placement.

    These are refuges, and targets of moves that OCM has not followed.
    """
    clusters: dict[str, str] = {}
    # If two clusters draw the same Placement, the first name wins.
    for cluster, values in sorted(items.items(), reverse=True):
        for name, value in values.items():
            if value == DRAW:
                clusters[name] = cluster
    return clusters
