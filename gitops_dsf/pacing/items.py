"""The items of the AddOnPlacementScores `gitops-dsf-moves`: by them OCM carries out what was admitted."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from gitops_dsf.hub.pace import ENTER, LEAVE, REFUGE, PacedRanking
from gitops_dsf.pacing.ledger import Move, Phase

Items = Mapping[str, Mapping[str, int]]
"""By cluster, then by name of the item: namespace/name of the Placement."""
NO_ITEMS: Final[Items] = {}


def items_of(moves: Iterable[Move], refuges: Mapping[str, str], pins: Items = NO_ITEMS) -> Items:
    """The items that should be published. `refuges` are clusters by namespace/name of the Placement.

    A move has items until OCM has followed: afterwards Steady alone holds the decision, and OCM may return
    to the old cluster if the new one is lost.
    """
    found: dict[str, dict[str, int]] = {}
    for placement, cluster in refuges.items():
        found.setdefault(cluster, {})[placement] = REFUGE
    for cluster, items in pins.items():
        found.setdefault(cluster, {}).update(items)
    for move in moves:
        if move.phase is Phase.ADMITTED:
            found.setdefault(move.target, {})[move.placement] = ENTER
            found.setdefault(move.source, {})[move.placement] = LEAVE
    return {cluster: dict(sorted(items.items())) for cluster, items in sorted(found.items())}


def pins_of(
    moves: Iterable[Move],
    decided: Mapping[str, Collection[str]],
    rankings: Mapping[str, PacedRanking],
) -> Items:
    """Items for the clusters that a Placement keeps in a move. `decided` are its clusters, `rankings` what
    people wrote, by namespace/name.

    Without them, a Placement of several clusters could leave another one than the move says while only one of
    the two items of the move is there. So they stay until a move that is withdrawn is over.
    """
    found: dict[str, dict[str, int]] = {}
    for move in moves:
        if move.phase in (Phase.ADMITTED, Phase.WITHDRAWN) and move.placement in rankings:
            for cluster in {*decided.get(move.placement, ())} - {move.source, move.target}:
                found.setdefault(cluster, {})[move.placement] = rankings[move.placement].pin
    return found


def moving_in(items: Items, moves: Iterable[Move]) -> frozenset[str]:
    """The Placements whose move is carried out by published items, whole or in part."""
    return frozenset(
        move.placement
        for move in moves
        if items.get(move.target, {}).get(move.placement) == ENTER
        or items.get(move.source, {}).get(move.placement) == LEAVE
    )


def refuges_in(items: Items) -> dict[str, str]:
    """The refuges among published items: clusters by namespace/name of the Placement."""
    return {
        name: cluster
        for cluster, values in sorted(items.items(), reverse=True)
        for name, value in values.items()
        if value == REFUGE
    }


def writes(published: Items, wanted: Items, pins: Items = NO_ITEMS) -> list[tuple[str, Mapping[str, int]]]:
    """What to write, in order: a cluster, and all its items. `pins` are among those that are wanted.

    First items that push away are taken away. Then pins are written, then items that draw, and at last those
    that push away: a Placement that is pushed away and drawn nowhere would go to any cluster.
    """
    now = {cluster: dict(items) for cluster, items in published.items()}
    steps: list[tuple[str, Mapping[str, int]]] = []

    def write(cluster: str, items: Mapping[str, int]) -> None:
        if now.get(cluster, {}) != items:
            now[cluster] = dict(items)
            steps.append((cluster, dict(sorted(items.items()))))

    clusters = sorted(published.keys() | wanted.keys())
    for cluster in clusters:
        goal = wanted.get(cluster, {})
        write(
            cluster,
            {
                name: value
                for name, value in now.get(cluster, {}).items()
                if value > 0 or goal.get(name, 0) < 0
            },
        )
    for cluster in clusters:
        write(cluster, {**now.get(cluster, {}), **pins.get(cluster, {})})
    for cluster in clusters:
        goal = wanted.get(cluster, {})
        kept = {name: value for name, value in now.get(cluster, {}).items() if goal.get(name) == value}
        write(cluster, kept | {name: value for name, value in goal.items() if value > 0})
    for cluster in clusters:
        write(cluster, wanted.get(cluster, {}))
    return steps
