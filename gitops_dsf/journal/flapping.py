"""Applications that move back and forth, by the records of the journal: how often, because of which score,
and with which stickiness they would not have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Final

from gitops_dsf.hub.flapping import WINDOW_SECONDS, Change, Leads, Return, cause_of, episodes, returns
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import Values, changes, times, values_at
from gitops_dsf.resolve.stickiness import STEADY_POINTS, expressible
from gitops_dsf.simulator.prioritizers import MAX_SCORE, PrioritizerResult
from gitops_dsf.simulator.ranking import rank
from gitops_dsf.simulator.weights import Prioritizer

SPAN_SECONDS: Final = 86_400.0
"""Returns of so long are counted."""
LEAST: Final = 2
"""So many returns are flapping. A single one can be an outage that ended."""
_STEADY: Final = "Steady"


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


def flapping_of(
    records: Sequence[Record], *, now: float, window: float = WINDOW_SECONDS, span: float = SPAN_SECONDS
) -> Flapping | None:
    """Whether a Placement flaps. The records are all of this Placement, in order."""
    found = [
        each
        for episode in episodes(changes(records), window=window)
        for each in episode.returns
        if each.joined.at > now - span
    ]
    if len(found) < LEAST:
        return None
    moved = [record for record in records if record.left or record.joined]
    known = dict(zip(changes(records), _after(records), strict=True))
    weights = _weights(moved)

    def leads(each: Return) -> tuple[Leads, Leads]:
        left, joined = (_leads(each, known[change], weights) for change in (each.left, each.joined))
        return left, joined

    first = found[0].left.at
    return Flapping(
        placement=records[-1].placement,
        returns=len(found),
        clusters=tuple(sorted({name for each in found for name in (each.cluster, each.rival) if name})),
        cause=cause_of(found, leads),
        stickiness=_preventing(
            [
                (at, record, values)
                for at, record, values in zip(times(records), records, values_at(records), strict=True)
                if at >= first and (record.left or record.joined)
            ],
            weights,
            window=window,
        ),
    )


def _after(records: Sequence[Record]) -> list[Values]:
    """The scores after each change."""
    return [
        values
        for record, values in zip(records, values_at(records), strict=True)
        if record.left or record.joined
    ]


def _weights(records: Sequence[Record]) -> Mapping[str, int]:
    """The weights of the prioritizers, by name, as the last record that tells has them."""
    for record in reversed(records):
        for cluster in record.clusters:
            if cluster.terms:
                return {term.name: term.weight for term in cluster.terms}
    return {}


def _leads(each: Return, values: Values, weights: Mapping[str, int]) -> Leads:
    found: dict[str, float] = {}
    for name, weight in _scores(weights).items():
        lead = values.get((name, each.cluster), 0) - values.get((name, each.rival or ""), 0)
        resource = name.split("/")[1]
        found[resource] = found.get(resource, 0.0) + weight * lead
    return found


def _scores(weights: Mapping[str, int]) -> Mapping[str, int]:
    return {name: weight for name, weight in weights.items() if name.startswith("AddOn/")}


def _preventing(
    moments: Sequence[tuple[float, Record, Values]], weights: Mapping[str, int], *, window: float
) -> int | None:
    """Tries stickiness values in order, on the scores that the records tell."""
    scores = _scores(weights)
    total = sum(abs(weight) for weight in scores.values())
    if not total or weights.keys() - scores.keys() - {_STEADY} or moments[0][1].from_ is None:
        return None
    written = weights.get(_STEADY, 0)
    if not _is_told(moments, _replay(moments, scores, steady=written)):
        return None
    divisor = gcd(*scores.values())
    plain = {name: weight // divisor for name, weight in scores.items()}
    for points, found in expressible(list(plain.values())).items():
        if points <= Fraction(STEADY_POINTS * written, total):
            continue
        factored = {name: weight * found.factor for name, weight in plain.items()}
        decided = list(_replay(moments, factored, steady=found.steady))
        if not any(True for _ in returns(list(_changes(moments, decided)), window=window)):
            return points
    return None


def _is_told(moments: Sequence[tuple[float, Record, Values]], decided: Iterable[tuple[str, ...]]) -> bool:
    """Whether the records alone lead to the decisions that OCM made. They do not when a filter decided."""
    return all(record.to == clusters for (_, record, _), clusters in zip(moments, decided, strict=True))


def _replay(
    moments: Sequence[tuple[float, Record, Values]], weights: Mapping[str, int], *, steady: int
) -> Iterator[tuple[str, ...]]:
    """The decisions at these moments with these weights, by the simulator's ranking."""
    held = frozenset(moments[0][1].from_ or ())
    for _, record, values in moments:
        names = sorted({cluster for _, cluster in values} | held | {*record.left, *record.joined})
        results = [
            PrioritizerResult(_term(name, weight), [values.get((name, cluster)) for cluster in names])
            for name, weight in weights.items()
        ]
        if steady:
            own = [MAX_SCORE if cluster in held else 0 for cluster in names]
            results.append(PrioritizerResult(Prioritizer(steady, built_in="Steady"), own))
        ranking = rank(range(len(names)), results, number_of_clusters=record.count)
        held = frozenset(names[place] for place in ranking.selected_clusters)
        yield tuple(sorted(held))


def _term(name: str, weight: int) -> Prioritizer:
    _, resource, score = name.split("/", 2)
    return Prioritizer(weight, resource=resource, score=score)


def _changes(
    moments: Sequence[tuple[float, Record, Values]], decided: Sequence[tuple[str, ...]]
) -> Iterator[Change]:
    before = set(moments[0][1].from_ or ())
    for (at, _, _), clusters in zip(moments, decided, strict=True):
        after = set(clusters)
        if after != before:
            yield Change(at=at, left=tuple(sorted(before - after)), joined=tuple(sorted(after - before)))
        before = after


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
