"""Which raw scores would make a preview exact, and what a metric store answered.

A store has the raw scores that agents export as `dynamic_score`. They are of use for a scorer
whose raw scores stay and of which other scores are published.
"""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.raw_inputs import raw_causes
from gitops_dsf.views.preview.scorershift import ScoreEffect, shift_of


class RawQuestion(Struct, frozen=True, kw_only=True):
    """A changed scorer whose raw scores are asked for."""

    scorer: str
    resource: str
    """Name of the AddOnPlacementScore after the change."""
    score_name: str
    """The name under which agents export its raw scores now."""
    clusters: frozenset[str]
    """Where it runs before and after the change."""


class RawScorerAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a store has of one scorer."""

    scorer: str
    clusters: int
    """Clusters that were asked for."""
    answered: int
    """Clusters of which it has raw scores."""
    age_seconds: int | None
    """Of the oldest raw score; None without one."""
    anew: bool
    """Whether the store evaluated the changed query, and has not only what agents exported."""


class RawScoreSource(Struct, frozen=True, kw_only=True, rename="camel"):
    """A store that was asked for raw scores."""

    origin: str
    """Its URL, without what may be secret."""
    scorers: tuple[RawScorerAnswer, ...]
    problems: tuple[str, ...]
    """Why it has nothing for some scorers or for all."""


def raw_questions(base: CheckedFleet, head: CheckedFleet) -> Iterator[RawQuestion]:
    """The changed scorers whose next scores follow from the raw scores of now, by name."""
    # Raw scores of two scorers with one score name cannot be told apart.
    names = Counter(scorer.score_name for scorer in base.scorers)
    for resource in sorted(head.scorer_by_resource):
        after = head.scorer_by_resource[resource]
        before = base.scorer_by_name.get(after.name)
        if before is None or before.spec.score_destination != after.spec.score_destination:
            continue
        shift = shift_of(before, after, base, head)
        if shift.effect is ScoreEffect.NONE or raw_causes(before, after):
            continue
        clusters = (shift.ran & shift.runs) - shift.other_variant
        if clusters and names[before.score_name] == 1:
            yield RawQuestion(
                scorer=after.name,
                resource=resource,
                score_name=before.score_name,
                clusters=clusters,
            )
