"""The items of the AddOnPlacementScores `gitops-dsf-moves`: by them OCM carries out what was admitted."""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.pace import DRAW, PUSH
from gitops_dsf.pacing.ledger import Move, Phase

Items = Mapping[str, Mapping[str, int]]
"""By cluster, then by name of the item: namespace/name of the Placement."""


def items_of(moves: Iterable[Move], refuges: Mapping[str, str]) -> Items:
    """The items that should be published. `refuges` are clusters by namespace/name of the Placement.

    A move has items until OCM has followed: afterwards Steady alone holds the decision, and OCM may return
    to the old cluster if the new one is lost. The target of a move takes the place of the refuge.
    """
    admitted = [each for each in moves if each.phase is Phase.ADMITTED]
    found: dict[str, dict[str, int]] = {}
    for placement, cluster in {**refuges, **{each.placement: each.target for each in admitted}}.items():
        found.setdefault(cluster, {})[placement] = DRAW
    for move in admitted:
        found.setdefault(move.source, {})[move.placement] = PUSH
    return {cluster: dict(sorted(items.items())) for cluster, items in sorted(found.items())}


def moving_in(items: Items, moves: Iterable[Move]) -> frozenset[str]:
    """The Placements that published items push away from the source of their move."""
    return frozenset(
        move.placement for move in moves if items.get(move.source, {}).get(move.placement) == PUSH
    )


def drawn_by(items: Items) -> dict[str, str]:
    """The clusters that published items draw Placements to, by namespace/name: refuges, and targets of moves
    that OCM has not followed.
    """
    return {
        name: cluster
        for cluster, values in sorted(items.items(), reverse=True)
        for name, value in values.items()
        if value == DRAW
    }


def writes(published: Items, wanted: Items) -> list[tuple[str, Mapping[str, int]]]:
    """What to write, in order: a cluster, and all its items.

    First items that push away are taken away. Then items that draw are written and taken away, and at last
    those that push away are written: a Placement that is pushed away and drawn nowhere, or to its refuge,
    would go to another cluster than the move says.
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
        before = now.get(cluster, {}).items()
        write(cluster, {name: value for name, value in before if value > 0 or goal.get(name, 0) < 0})
    for cluster in clusters:
        drawn = {name: value for name, value in wanted.get(cluster, {}).items() if value > 0}
        pushed = {name: value for name, value in now.get(cluster, {}).items() if value < 0}
        write(cluster, drawn | pushed)
    for cluster in clusters:
        write(cluster, wanted.get(cluster, {}))
    return steps
