"""Rankings of Placements: the scores by which they rank clusters, and the makers of these.

Pure. Steady is left out: it is the stickiness, and says nothing about a cluster.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Literal, NamedTuple

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import MOVES_SCORE, written
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.simulator.prioritizers import PrioritizerError, prioritizers_of


class RankingNumber(NamedTuple):
    """One number that ranks clusters."""

    name: str
    """`AddOn/resource/item`, or the name of a prioritizer of OCM."""
    origin: Literal["Scorer", "AddOn", "OCM"]
    """The maker of the score: a scorer of the fleet, another add-on, or OCM itself."""


def rankings(
    placements: Iterable[Placement], external: Container[ScoreKey]
) -> Mapping[str, tuple[RankingNumber, ...]]:
    """The rankings of each Placement, by its key. `external` are the scores of other add-ons.

    A Placement that names no prioritizer ranks by Balance, as OCM does.
    """
    by_placement: dict[str, tuple[RankingNumber, ...]] = {}
    for placement in placements:
        ranked: list[RankingNumber] = []
        try:
            # A paced Placement has other weights, and one more score that ranks nothing.
            prioritizers = prioritizers_of(written(placement))
        except PrioritizerError:
            # OCM refuses the Placement, and its view says so.
            continue
        for prioritizer in prioritizers:
            if prioritizer.built_in is not None:
                if prioritizer.built_in != "Steady":
                    ranked.append(RankingNumber(prioritizer.built_in, "OCM"))
            elif prioritizer.resource != MOVES_SCORE:
                is_external = (prioritizer.resource, prioritizer.score) in external
                ranked.append(RankingNumber(prioritizer.name, "AddOn" if is_external else "Scorer"))
        by_placement[placement.key] = tuple(ranked)
    return by_placement
