"""Paced Placements: what people wrote is an annotation, and what OCM reads holds the decision.

OCM ranks a paced Placement by its scores with small weights, by Steady with weight 10, and by the item of the
Placement in the AddOnPlacementScores `gitops-dsf-moves` with weight 10. So no score moves it; an item of +100
on the cluster to enter and of -100 on the one to leave does, and when a cluster is no longer eligible OCM
chooses another one by the scores (docs/decisions/paced-moves.md).
"""

from math import gcd
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.hub.objects import (
    AddOnCoordinate,
    Placement,
    PrioritizerConfig,
    PrioritizerPolicy,
    ScoreCoordinate,
)

PACE_ANNOTATION: Final = "gitops-dsf.io/pace"
"""On a Placement: a `PacedRanking` as JSON."""
MOVES_SCORE: Final = "gitops-dsf-moves"
"""Name of the AddOnPlacementScores with the items of moves. Only the reconciler writes them."""
HOLD_WEIGHT: Final = 10
"""Weight of Steady and of the items: the largest that OCM accepts."""
ENTER: Final = 100
LEAVE: Final = -100
REFUGE: Final = 50
"""Value of a standing item: it decides where a Placement goes when its cluster is lost, and moves nothing
before.
"""
HOLD_SPAN: Final = 1000
"""The sum of |weight| times span over all scores must be below this, or a score could outweigh Steady."""
REFUGE_SPAN: Final = 400
"""The sum may not exceed this where refuges are planned, or a score could outweigh a refuge."""
MOST_SPAN: Final = 200
"""By how much a score can differ between two clusters."""
MOST_DEMAND: Final = MOST_SPAN
"""The largest demand that may be written."""
MOST_TERMS: Final = 100
"""Scores that an annotation may name."""


class Term(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A score that ranks the clusters, with the weight as written."""

    resource: str
    dimension: str
    weight: Annotated[int, Meta(ge=-10, le=10)]
    demand: Annotated[int, Meta(ge=0, le=MOST_DEMAND)] = 0
    """Points of this score that the application takes where it runs."""
    delay: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds until a measurement after a change is published."""
    range: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds of history that a measurement reads."""


class PacedRanking(Struct, frozen=True, rename="camel", omit_defaults=True):
    """How people ranked the clusters of a paced Placement."""

    terms: Annotated[tuple[Term, ...], Meta(max_length=MOST_TERMS)]
    steady: Annotated[int, Meta(ge=0, le=10)]
    """Weight of Steady that gives the written stickiness; 0 leaves it out."""
    refuges: bool = False
    """Whether refuges are planned: then the scores can differ by `REFUGE_SPAN` at most."""

    @property
    def total_weight(self) -> int:
        """The sum of |weight|."""
        return sum(abs(each.weight) for each in self.terms)

    @property
    def stickiness(self) -> float:
        """Points of the weighted mean of the scores by which another cluster must lead."""
        return 100 * self.steady / max(1, self.total_weight)

    @property
    def load(self) -> float:
        """Points of the weighted mean of the scores that the application takes where it runs."""
        return sum(abs(each.weight) * each.demand for each in self.terms) / max(1, self.total_weight)

    @property
    def pin(self) -> int:
        """The item of a cluster that stays while a move leaves another one: more than the scores can differ.
        It is no more than that, so that a cluster that was lost does not draw the Placement back by it when
        it returns: then Steady counts for another one. With refuges Steady always outweighs both.
        """
        divisor = gcd(*(each.weight for each in self.terms)) or 1
        span = MOST_SPAN * self.total_weight // divisor
        return min(span, REFUGE_SPAN if self.refuges else HOLD_SPAN - 1) // HOLD_WEIGHT + 1

    @property
    def measured_after(self) -> float:
        """Seconds after a change until every score has measured it completely."""
        return max((each.delay + each.range for each in self.terms), default=0.0)


def paced_ranking(item: Placement) -> PacedRanking | None:
    """What people wrote about a paced Placement; None if it is not paced.

    Raises msgspec.DecodeError if the annotation is none of ours.
    """
    text = item.metadata.annotation(PACE_ANNOTATION)
    return msgspec.json.decode(text, type=PacedRanking) if text else None


def as_written(item: Placement, ranking: PacedRanking) -> Placement:
    """The Placement with the weights and the stickiness that people wrote."""
    terms = [
        PrioritizerConfig(
            ScoreCoordinate("AddOn", "", AddOnCoordinate(each.resource, each.dimension)), each.weight
        )
        for each in ranking.terms
    ]
    if ranking.steady:
        terms.append(PrioritizerConfig(ScoreCoordinate("BuiltIn", "Steady"), ranking.steady))
    policy = PrioritizerPolicy("Exact", tuple(terms))
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, prioritizer_policy=policy))
