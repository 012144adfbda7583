"""What a revision would have decided at the moments of recorded moves."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_dsf.hub.flapping import returns
from gitops_dsf.hub.objects import Placement
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.replay import Weights, moments, replayed, undecidable, weights_of
from gitops_dsf.journal.timeline import by_placement, changes
from gitops_dsf.simulator.weights import PrioritizerError, prioritizers_of
from gitops_dsf.views.preview.hub import typed_placements
from gitops_dsf.views.preview.version import FleetVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class Moves:
    """How often an application moved, and how often it went back to where it had just been."""

    moves: int
    returns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """One Placement."""

    key: str
    """namespace/name."""
    happened: Moves
    would: Moves | None
    """With this revision, at the moments of the moves that happened; None if it cannot be known."""
    unknown: str = ""
    """Why it cannot be known."""


def recorded(
    fleet: FleetVersion,
    records: Iterable[Record],
    *,
    start: float,
    end: float,
    window: float,
    only: Collection[str] | None = None,
) -> Iterator[Recorded]:
    """The Placements of a revision that moved in the span, in order of name."""
    placements = typed_placements(fleet, only)
    for key, each in sorted(by_placement(records).items()):
        if key in placements:
            found = _recorded(placements[key], each, start=start, end=end, window=window)
            if found.happened.moves:
                yield found


def _recorded(
    placement: Placement, records: Sequence[Record], *, start: float, end: float, window: float
) -> Recorded:
    found = [each for each in moments(records) if start <= each.at <= end]
    happened = [each for each in changes(records) if start <= each.at <= end]
    moves = Moves(moves=len(happened), returns=sum(1 for _ in returns(happened, window=window)))
    weights = _weights(placement)
    unknown = undecidable(found, weights_of([each.record for each in found]))
    if not unknown and isinstance(weights, str):
        unknown = weights
    if not unknown and not isinstance(weights, str):
        known = {name for each in found for name, _ in each.values}
        missing = sorted(name for name in weights.keys() - known if name != "Steady")
        if missing:
            unknown = f"it ranks by {missing[0]}, which the journal does not have"
    if unknown or isinstance(weights, str):
        return Recorded(key=placement.key, happened=moves, would=None, unknown=unknown)
    would = replayed(found, weights)
    return Recorded(
        key=placement.key,
        happened=moves,
        would=Moves(moves=len(would), returns=sum(1 for _ in returns(would, window=window))),
    )


def _weights(placement: Placement) -> Weights | str:
    """The weights of a rendered Placement, or why they are not known."""
    try:
        return {each.name: each.weight for each in prioritizers_of(placement)}
    except PrioritizerError as error:
        return str(error)


LIMITS = (
    "between the recorded moves nothing is known: another stickiness or weight may have moved it there, too",
    "published scores are those of the scorers of that time",
)
"""What such a comparison cannot know."""
