"""Decides again at the moments of recorded moves, with other weights, by the simulator's ranking.

The records hold published scores of these moments alone. What OCM would have done between them is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.flapping import Change
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import Values, times, values_at
from gitops_dsf.simulator.prioritizers import MAX_SCORE, PrioritizerResult
from gitops_dsf.simulator.ranking import rank
from gitops_dsf.simulator.weights import Prioritizer

STEADY: Final = "Steady"
Weights = Mapping[str, int]
"""Of the prioritizers, by name: `AddOn/resource/item` and the built-in ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A recorded move, and the scores that were known then."""

    at: float
    """Unix seconds."""
    record: Record
    values: Values


def moments(records: Sequence[Record]) -> list[Moment]:
    """The moves of one Placement. The records are all of this Placement, in order."""
    return [
        Moment(at=at, record=record, values=values)
        for at, record, values in zip(times(records), records, values_at(records), strict=True)
        if record.left or record.joined
    ]


def weights_of(records: Sequence[Record]) -> Weights:
    """The weights as the last record that tells has them; empty if none does."""
    for record in reversed(records):
        for cluster in record.clusters:
            if cluster.terms:
                return {term.name: term.weight for term in cluster.terms}
    return {}


def scores_of(weights: Weights) -> Weights:
    """The weights of scores alone."""
    return {name: weight for name, weight in weights.items() if name.startswith("AddOn/")}


def undecidable(found: Sequence[Moment], weights: Weights) -> str:
    """Why these moments cannot be decided again; empty if they can. `weights` are those of that time."""
    if not found:
        return ""
    if found[0].record.from_ is None:
        return "the decision before the first move is not known"
    others = sorted(weights.keys() - scores_of(weights).keys() - {STEADY})
    if others:
        return f"it ranks by {others[0]}, which the journal does not have"
    if any(each.record.to != clusters for each, clusters in zip(found, decided(found, weights), strict=True)):
        return "the recorded scores alone do not lead to what OCM decided"
    return ""


def decided(found: Sequence[Moment], weights: Weights) -> Iterator[tuple[str, ...]]:
    """The decisions at these moments with these weights, in order of name. The first one starts from the
    recorded decision before it.
    """
    held = frozenset(found[0].record.from_ or ()) if found else frozenset()
    steady = weights.get(STEADY, 0)
    for each in found:
        names = sorted(
            {cluster for _, cluster in each.values} | held | {*each.record.left, *each.record.joined}
        )
        results = [
            PrioritizerResult(_term(name, weight), [each.values.get((name, cluster)) for cluster in names])
            for name, weight in scores_of(weights).items()
        ]
        if steady:
            own = [MAX_SCORE if cluster in held else 0 for cluster in names]
            results.append(PrioritizerResult(Prioritizer(steady, built_in="Steady"), own))
        ranking = rank(range(len(names)), results, number_of_clusters=each.record.count)
        held = frozenset(names[place] for place in ranking.selected_clusters)
        yield tuple(sorted(held))


def replayed(found: Sequence[Moment], weights: Weights) -> list[Change]:
    """The moves at these moments with these weights."""
    before = set(found[0].record.from_ or ()) if found else set()
    changes = []
    for each, clusters in zip(found, decided(found, weights), strict=True):
        after = set(clusters)
        if after != before:
            changes.append(
                Change(at=each.at, left=tuple(sorted(before - after)), joined=tuple(sorted(after - before)))
            )
        before = after
    return changes


def _term(name: str, weight: int) -> Prioritizer:
    _, resource, score = name.split("/", 2)
    return Prioritizer(weight, resource=resource, score=score)
