"""What a pipeline can refuse in a preview: moves, evictions and new scores."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from enum import StrEnum

from gitops_dsf.views.preview.build import Preview
from gitops_dsf.wording import names_text, plural

_NAMED = 5


class Refused(StrEnum):
    """An effect of a change that a pipeline refuses."""

    MOVE = "move"
    """An application leaves a cluster, or may do so."""
    EVICTION = "eviction"
    """An application leaves a cluster and gets no other, or may do so."""
    RESCORE = "rescore"
    """Scores of a cluster change, or a cluster gains or loses a scorer."""


def failures(preview: Preview, refused: AbstractSet[Refused]) -> Iterator[str]:
    """Why the change is refused, in words. What is not known counts as if it happened."""
    found = preview.comparison
    if found is None:
        return
    moves = found.moves
    if moves is None and not refused <= {Refused.RESCORE}:
        yield f"which applications move is unknown: {preview.evidence.missing}"
    leaving = [move for move in moves or () if move.unknown or move.origin]
    evicted = [move for move in leaving if move.unknown or len(move.target) < len(move.origin)]
    if Refused.MOVE in refused and leaving:
        names = names_text([move.application for move in leaving], most=_NAMED)
        yield f"{plural(len(leaving), 'decision')} would or may move: {names}"
    if Refused.EVICTION in refused and evicted:
        names = names_text([move.application for move in evicted], most=_NAMED)
        yield f"{plural(len(evicted), 'decision')} would or may lose a cluster without another: {names}"
    rescored = [change for change in found.scorers if change.rescored]
    if Refused.RESCORE in refused and rescored:
        clusters = {cluster for change in rescored for cluster in change.rescored}
        names = names_text([change.name for change in rescored], most=_NAMED)
        yield f"scores of {plural(len(clusters), 'cluster')} would change: {names}"
