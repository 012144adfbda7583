"""Applications that move back and forth, by the records of the journal: how often, because of which score,
and with which stickiness they would not have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Final

from gitops_dsf.hub.flapping import Leads, Return, cause_of, episodes, returns
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.replay import (
    STEADY,
    Moment,
    Weights,
    moments,
    replayed,
    scores_of,
    undecidable,
    weights_of,
)
from gitops_dsf.journal.timeline import Values, changes, values_at
from gitops_dsf.resolve.stickiness import STEADY_POINTS, expressible

SPAN_SECONDS: Final = 86_400.0
"""Returns of so long are counted."""
LEAST: Final = 2
"""So many returns are flapping. A single one can be an outage that ended."""


@dataclass(frozen=True, kw_only=True)
class Flapping:
    """A Placement that goes back to clusters that it had just left."""

    placement: str
    """namespace/name."""
    returns: int
    """Within the last day."""
    clusters: tuple[str, ...]
    """In order of name."""
    cause: str | None
    """Name of the AddOnPlacementScore with the largest swing; None if no score changed, or none is known."""
    stickiness: int | None
    """The least stickiness in points with which no cluster would have been chosen again; None if there is
    none, or the records do not tell.
    """


def flapping_of(records: Sequence[Record], *, now: float) -> Flapping | None:
    """Whether a Placement flaps. The records are all of this name, in order. Those of an earlier Placement of
    this name, which was deleted, do not count.
    """
    records = [record for record in records if record.uid == records[-1].uid]
    found = [
        each
        for episode in episodes(changes(records))
        for each in episode.returns
        if each.joined.at > now - SPAN_SECONDS
    ]
    if len(found) < LEAST:
        return None
    moved = [record for record in records if record.left or record.joined]
    known = dict(zip(changes(records), _after(records), strict=True))
    weights = weights_of(moved)

    def leads(each: Return) -> tuple[Leads, Leads]:
        left, joined = (_leads(each, known[change], weights) for change in (each.left, each.joined))
        return left, joined

    first = found[0].left.at
    return Flapping(
        placement=records[-1].placement,
        returns=len(found),
        clusters=tuple(sorted({name for each in found for name in (each.cluster, each.rival) if name})),
        cause=cause_of(found, leads),
        stickiness=_preventing([each for each in moments(records) if each.at >= first], weights),
    )


def _after(records: Sequence[Record]) -> list[Values]:
    """The scores after each change."""
    return [
        values
        for record, values in zip(records, values_at(records), strict=True)
        if record.left or record.joined
    ]


def _leads(each: Return, values: Values, weights: Weights) -> Leads:
    found: dict[str, float] = {}
    for name, weight in scores_of(weights).items():
        lead = values.get((name, each.cluster), 0) - values.get((name, each.rival or ""), 0)
        resource = name.split("/")[1]
        found[resource] = found.get(resource, 0.0) + weight * lead
    return found


def _preventing(moments: Sequence[Moment], weights: Weights) -> int | None:
    """Tries stickiness values in order, on the scores that the records tell."""
    scores = scores_of(weights)
    total = sum(abs(weight) for weight in scores.values())
    if not total or undecidable(moments, weights):
        return None
    divisor = gcd(*scores.values())
    plain = {name: weight // divisor for name, weight in scores.items()}
    for points, found in expressible(list(plain.values())).items():
        if points <= Fraction(STEADY_POINTS * weights.get(STEADY, 0), total):
            continue
        tried = {name: weight * found.factor for name, weight in plain.items()} | {STEADY: found.steady}
        if not any(True for _ in returns(replayed(moments, tried))):
            return points
    return None


def flapping_text(found: Flapping) -> str:
    """`moved back and forth 4 times within a day between eu-1 and eu-2; stickiness 12 would have prevented
    it`.
    """
    between = " and ".join([", ".join(found.clusters[:-1]), found.clusters[-1]])
    text = f"moved back and forth {found.returns} times within a day between {between}"
    if found.cause is not None:
        text += f", most of all because of {found.cause}"
    if found.stickiness is not None:
        text += f"; stickiness {found.stickiness} would have prevented it"
    return text
