"""Applications that move back and forth by the records of the journal, and because of which score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.flapping import Leads, Return, cause_of, episodes, moves_back
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import Values, changes, values_at

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
    if moves_back(found) < LEAST:
        return None
    moved = [record for record in records if record.left or record.joined]
    known = dict(zip(changes(records), _after(records), strict=True))
    weights = _weights_of(moved)

    def leads(each: Return) -> tuple[Leads, Leads]:
        left, joined = (_leads(each, known[change], weights) for change in (each.left, each.joined))
        return left, joined

    return Flapping(
        placement=records[-1].placement,
        returns=moves_back(found),
        clusters=tuple(sorted({name for each in found for name in (each.cluster, each.rival) if name})),
        cause=cause_of(found, leads),
    )


def _after(records: Sequence[Record]) -> list[Values]:
    """The scores after each change."""
    return [
        values
        for record, values in zip(records, values_at(records), strict=True)
        if record.left or record.joined
    ]


def _weights_of(records: Sequence[Record]) -> Mapping[str, int]:
    """The weights of the scores, `AddOn/resource/item`, as the last record that tells has them."""
    for record in reversed(records):
        for cluster in record.clusters:
            if cluster.contributions:
                return {
                    term.name: term.weight
                    for term in cluster.contributions
                    if term.name.startswith("AddOn/") and not term.name.startswith(f"AddOn/{MOVES_SCORE}/")
                }
    return {}


def _leads(each: Return, values: Values, weights: Mapping[str, int]) -> Leads:
    found: dict[str, float] = {}
    for name, weight in weights.items():
        lead = values.get((name, each.cluster), 0) - values.get((name, each.rival or ""), 0)
        resource = name.split("/")[1]
        found[resource] = found.get(resource, 0.0) + weight * lead
    return found


def flapping_text(found: Flapping) -> str:
    """`moved back and forth 4 times within a day between eu-1 and eu-2, most of all because of cpu; ...`."""
    between = " and ".join([", ".join(found.clusters[:-1]), found.clusters[-1]])
    text = f"moved back and forth {found.returns} times within a day between {between}"
    if found.cause is not None:
        text += f", most of all because of {found.cause}"
    return f"{text}; gitops-dsf backtest --advise tells which stickiness would hold it"
