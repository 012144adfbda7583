"""Paced Placements: the ranking that people wrote, and the weights that OCM reads instead.

OCM ranks a paced Placement by its scores with small weights, by Steady with weight 10, and by the
item of the Placement in the AddOnPlacementScores `gitops-dsf-moves` with weight 10. An item of -100
takes from a cluster what Steady gives it, and one of +50 outweighs all scores and is itself
outweighed by Steady with any scores. So no score moves the Placement, and the two items together
do. When its cluster is no longer eligible, OCM chooses the one with +50, or by the scores
(docs/decisions/paced-moves.md).

The ranking that people wrote is in an annotation of the Placement. Guaranteed: an annotation that
cannot be read paces nothing, and moves that may be verified count as verified.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.publishrule import REFRESH_FRACTION
from gitops_dsf.hub import objects
from gitops_dsf.hub.metadata import Metadata

PACE_ANNOTATION: Final = "gitops-dsf.io/pace"
"""Annotation of a Placement: a `PacedRanking` as JSON."""
MOVES_SCORE: Final = "gitops-dsf-moves"
"""Name of the AddOnPlacementScores with the items of moves. Only the reconciler writes them."""
HOLD_WEIGHT: Final = 10
"""Weight of Steady and of the items: the largest that OCM accepts."""
DRAW: Final = 50
"""Value of the item of the cluster that a Placement goes to when it leaves its own.

That cluster is a refuge, or the target of a move. The item moves nothing while Steady counts for
another cluster, also when a dead reconciler left it.
"""
PUSH: Final = -100
"""Value of the item of a cluster that a Placement should leave: it takes what Steady gives."""
HOLD_SPAN: Final = 500
"""The sum of |weight| times span of all scores is below this.

So an item of DRAW (50 x 10 = 500 points) outweighs all scores, and Steady (100 x 10) outweighs both
together. DSF348 refuses weights that break it.
"""
MAX_SPAN: Final = 200
"""The largest difference of a score between two clusters."""
MAX_DEMAND: Final = MAX_SPAN
"""The largest demand that may be written."""
MAX_TERMS: Final = 100
"""Scores that an annotation may name."""
MAX_CHECKS: Final = 10
"""Checks of one verification."""


class PacedTerm(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A score that ranks the clusters, with the weight as written."""

    resource: str
    dimension: str
    weight: Annotated[int, Meta(ge=-10, le=10)]
    demand: Annotated[int, Meta(ge=0, le=MAX_DEMAND)] = 0
    """Points of this score that the application takes where it runs."""
    delay: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds until a measurement after a change is published."""
    range: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds of history that a measurement reads."""


class VerifiedBy(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A score that must be good on the new cluster before the old copy is deleted."""

    scorer: str
    """Name of the DynamicScorer, for people."""
    resource: str
    dimension: str
    at_least: Annotated[int, Meta(ge=SCORE_MIN, le=SCORE_MAX)] | None = None
    """The lowest score that holds."""
    no_worse_than: Annotated[int, Meta(ge=0, le=MAX_SPAN)] | None = None
    """The number of points by which the score may be below that of the old copy before the move."""
    for_seconds: Annotated[float, Meta(ge=0)] = 0.0
    """The time for which it must hold without a break."""
    delay: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds until a measurement after a change is published."""
    range: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds of history that a measurement reads."""
    lifetime: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds for which a score is valid after it was written.

    A score says until when it is valid, and not when it was measured: so the time of the write is
    known.
    """

    def __post_init__(self) -> None:
        # Whoever may write Placements can write the annotation, so it is checked once more.
        if (self.at_least is None) == (self.no_worse_than is None):
            raise ValueError("a check has exactly one of atLeast and noWorseThan")

    @property
    def measured_after(self) -> float:
        """Seconds after an arrival until a score has measured nothing but the new copy."""
        return self.delay + self.range

    @property
    def refresh_seconds(self) -> float:
        """The longest time after which an agent writes an unchanged score again, in seconds.

        Until then it is unknown whether the score has measured the new copy.
        """
        return self.lifetime * REFRESH_FRACTION

    @property
    def decided_after(self) -> float:
        """Seconds after an arrival until a score passes that is good all the time, at most."""
        return self.measured_after + max(self.for_seconds, self.refresh_seconds)


class Verification(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The scores that must be good after a move. Until this is decided, both copies stay."""

    checks: Annotated[tuple[VerifiedBy, ...], Meta(min_length=1, max_length=MAX_CHECKS)]
    seconds: Annotated[float, Meta(gt=0)]
    """Seconds after the new copy is Healthy until which the checks must be decided."""
    on_unknown: Literal["Hold", "Return", "Complete"] = "Hold"
    """The action when a score is missing or too old at the end of `seconds`."""
    hold_seconds: Annotated[float, Meta(ge=0)]
    """Seconds for which an application that went back does not go to that cluster again."""
    revision: str
    """Changes with the application and with the scorers that rank or verify it."""

    @property
    def passes_after(self) -> float:
        """Seconds after the new copy is Healthy until the checks can have passed.

        At most `seconds`, when they must be decided.
        """
        # All checks must hold, so the slowest one decides when they can have passed.
        slowest = max(check.measured_after + check.for_seconds for check in self.checks)
        return min(self.seconds, slowest)


class PacedRanking(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The ranking of the clusters of a paced Placement, as people wrote it."""

    terms: Annotated[tuple[PacedTerm, ...], Meta(max_length=MAX_TERMS)]
    steady: Annotated[int, Meta(ge=0, le=10)]
    """Weight of Steady that gives the written stickiness; 0 leaves it out."""
    refuges: bool = False
    """Whether refuges are planned."""
    verification: Verification | None = None
    """The checks after each move; None if moves are not verified."""

    @property
    def total_weight(self) -> int:
        """Dividing a weighted sum by it gives points (`gitops_dsf.hub.points`); never 0."""
        return total_weight(self.terms)

    @property
    def stickiness(self) -> float:
        """Points of the weighted mean of the scores by which another cluster must lead."""
        # Steady gives 100 points to the cluster of the decision, and 0 to others (OCM 1.2.1).
        return 100 * self.steady / self.total_weight

    @property
    def load(self) -> float:
        """Points of the weighted mean of the scores that the application takes where it runs."""
        return sum(abs(term.weight) * term.demand for term in self.terms) / self.total_weight

    @property
    def measured_after(self) -> float:
        """Seconds after a change until every score has measured it completely."""
        return measured_after(self.terms)


def total_weight(terms: Iterable[PacedTerm]) -> int:
    """Dividing a weighted sum of scores by it gives points (`gitops_dsf.hub.points`); never 0."""
    # A score with a negative weight compares clusters as much as one with a positive weight.
    return sum(abs(term.weight) for term in terms) or 1


def measured_after(terms: Iterable[PacedTerm]) -> float:
    """Seconds after a change until every score has measured it completely."""
    # The slowest score counts: until then another one may pull in the wrong direction.
    return max((term.delay + term.range for term in terms), default=0.0)


def paced_ranking(placement: objects.Placement) -> PacedRanking | None:
    """The ranking that people wrote; None if the Placement is not paced.

    Raises msgspec.DecodeError if the annotation does not have our format.
    """
    text = placement.metadata.annotation(PACE_ANNOTATION)
    return msgspec.json.decode(text, type=PacedRanking) if text else None


def verification_of(placement: objects.Placement) -> Verification | None:
    """The checks after a move; None if the moves of the Placement are not verified.

    It is also None for an annotation that cannot be read: the reconciler paces no such Placement.
    """
    try:
        ranking = paced_ranking(placement)
    except msgspec.DecodeError:
        return None
    return None if ranking is None else ranking.verification


class _MaybeVerified(Struct, frozen=True):
    verification: msgspec.Raw = msgspec.Raw(b"null")


def is_verified(metadata: Metadata) -> bool:
    """Whether the moves of the Placement with this metadata are verified.

    It is True as well if the annotation has a verification that cannot be read, or is not JSON:
    then it is unknown, and an old copy must stay.
    """
    text = metadata.annotation(PACE_ANNOTATION)
    if not text:
        return False
    try:
        content = msgspec.json.decode(text, type=_MaybeVerified)
    except msgspec.DecodeError:
        return True
    return bytes(content.verification) != b"null"


def as_written(placement: objects.Placement, ranking: PacedRanking) -> objects.Placement:
    """The Placement with the weights and the stickiness that people wrote."""
    prioritizers: list[objects.PrioritizerConfig] = []
    for term in ranking.terms:
        add_on = objects.AddOnCoordinate(term.resource, term.dimension)
        coordinate = objects.ScoreCoordinate("AddOn", "", add_on)
        prioritizers.append(objects.PrioritizerConfig(coordinate, term.weight))
    # With weight 0 OCM would not run the prioritizer, and people wrote none.
    if ranking.steady:
        coordinate = objects.ScoreCoordinate("BuiltIn", "Steady")
        prioritizers.append(objects.PrioritizerConfig(coordinate, ranking.steady))
    # Additive would add Balance and Steady, which people did not write.
    policy = objects.PrioritizerPolicy("Exact", tuple(prioritizers))
    spec = msgspec.structs.replace(placement.spec, prioritizer_policy=policy)
    return msgspec.structs.replace(placement, spec=spec)


def written(placement: objects.Placement) -> objects.Placement:
    """The Placement with what people wrote.

    It is the same object if it is not paced, or if its annotation cannot be read.

    Ask this Placement for everything that people read about scores. Ask the one that is on the hub
    for what OCM decides: there the items of moves count, which are not scores.
    """
    try:
        ranking = paced_ranking(placement)
    except msgspec.DecodeError:
        return placement
    return placement if ranking is None else as_written(placement, ranking)
