"""The items of the AddOnPlacementScores `gitops-dsf-moves`: by them OCM carries out what was admitted."""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.pace import ENTER, LEAVE, REFUGE
from gitops_dsf.pacing.ledger import Move, Phase

Items = Mapping[str, Mapping[str, int]]
"""By cluster, then by name of the item: namespace/name of the Placement."""


def items_of(moves: Iterable[Move], refuges: Mapping[str, str]) -> Items:
    """The items that should be published. `refuges` are clusters by namespace/name of the Placement.

    A move has items until OCM has followed: afterwards Steady alone holds the decision, and OCM may return
    to the old cluster if the new one is lost.
    """
    found: dict[str, dict[str, int]] = {}
    for placement, cluster in refuges.items():
        found.setdefault(cluster, {})[placement] = REFUGE
    for move in moves:
        if move.phase is Phase.ADMITTED:
            found.setdefault(move.target, {})[move.placement] = ENTER
            found.setdefault(move.source, {})[move.placement] = LEAVE
    return {cluster: dict(sorted(items.items())) for cluster, items in sorted(found.items())}


def writes(published: Items, wanted: Items) -> list[tuple[str, Mapping[str, int]]]:
    """What to write, in order: a cluster, and all its items.

    First items that push away are taken away, then those that draw are written, and at last those that push
    away: a Placement that is pushed away and drawn nowhere would go to any cluster.
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
            {name: value for name, value in now.get(cluster, {}).items() if value > 0 or name in goal},
        )
    for cluster in clusters:
        goal = wanted.get(cluster, {})
        kept = {name: value for name, value in now.get(cluster, {}).items() if goal.get(name) == value}
        write(cluster, kept | {name: value for name, value in goal.items() if value > 0})
    for cluster in clusters:
        write(cluster, wanted.get(cluster, {}))
    return steps
