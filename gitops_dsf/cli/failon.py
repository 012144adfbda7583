"""Reasons why `diff --fail-on` refuses a change. An unknown effect counts as if it happened."""

from collections.abc import Collection, Iterator, Sequence

from msgspec import UNSET

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.show.losses import overload_text
from gitops_dsf.show.preview.pace import paced_change_text
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove
from gitops_dsf.views.preview.scorers import rescored
from gitops_dsf.wording import names_text, plural


def refusals(
    preview: Preview,
    base: CheckedFleet | None,
    head: CheckedFleet | None,
    effects: Collection[str],
) -> Iterator[str]:
    """The reasons in words.

    `effects` are those that are refused: move, eviction, rescore, homeless and overload.
    None if nothing could be compared: then the errors of the repository are the reason.
    """
    comparison = preview.comparison
    # Errors of the head have an exit code of their own, which needs no option.
    if comparison is None or head is None:
        return
    if comparison.moves is None and not {"move", "eviction"}.isdisjoint(effects):
        yield f"which applications move is unknown: {preview.hub.missing}"
    if comparison.moves is None and not {"homeless", "overload"}.isdisjoint(effects):
        yield f"what the loss of a cluster would do is unknown: {preview.hub.missing}"
    leaving = [move for move in comparison.moves or () if _may_leave(move)]
    # Arrivals alone are none: an application that gets its first cluster leaves nothing.
    if "move" in effects and leaving:
        yield f"{plural(len(leaving), 'decision')} would or may move: {_names(leaving)}"
    evicted = [move for move in leaving if _may_be_evicted(move)]
    if "eviction" in effects and evicted:
        yield (
            f"{plural(len(evicted), 'decision')} would or may lose a cluster without another:"
            f" {_names(evicted)}"
        )
    if "move" in effects:
        yield from _later_moves(comparison)
    if "rescore" in effects:
        yield from _rescored(comparison, base, head)
    yield from _worse_losses(comparison, effects)


def _may_leave(move: DecisionMove) -> bool:
    # An unknown target may be any cluster, or none.
    return move.target == UNKNOWN or bool(move.origin)


def _may_be_evicted(move: DecisionMove) -> bool:
    """Whether it may leave more clusters than it moves to."""
    return move.target == UNKNOWN or len(move.target) < len(move.origin)


def _names(moves: Sequence[DecisionMove]) -> str:
    return names_text([move.application for move in moves])


def _later_moves(comparison: Comparison) -> Iterator[str]:
    """Moves that the reconciler admits later, by the pace or for maintenance."""
    paced = comparison.paced
    # Moves that wait in the queue without this change are not refused: the base makes them, too.
    if paced is not UNSET and paced.count > paced.without_change:
        yield f"paced: {paced_change_text(paced)}"
    for window in comparison.maintenance or ():
        if window.leaving:
            count = plural(len(window.leaving), "application")
            yield f"maintenance {window.name}: {count} would leave"


def _worse_losses(comparison: Comparison, effects: Collection[str]) -> Iterator[str]:
    """Losses that the change makes worse when a cluster is drained or lost."""
    for window in comparison.maintenance or ():
        # A drain is a loss with notice.
        if "homeless" in effects and window.homeless:
            count = plural(len(window.homeless), "application")
            yield (
                f"maintenance {window.name}: {count} would have nowhere to go:"
                f" {names_text(window.homeless)}"
            )
        if "overload" in effects:
            for overload in window.overloads:
                yield f"maintenance {window.name}: {overload_text(overload)}"
    for change in comparison.losses or ():
        if "homeless" in effects and change.homeless:
            yield (
                f"if {change.cluster} were lost,"
                f" {plural(len(change.homeless), 'application')} would"
                f" have nowhere to go: {names_text(change.homeless)}"
            )
        if "overload" in effects:
            for overload in change.overloads:
                yield f"if {change.cluster} were lost, {overload_text(overload)}"


def _rescored(
    comparison: Comparison, base: CheckedFleet | None, head: CheckedFleet
) -> Iterator[str]:
    scorers = []
    # A cluster that several scorers rescore counts once: the effect is on the cluster.
    clusters: set[str] = set()
    for name, touched in rescored(comparison.scorers, base, head).items():
        if touched:
            scorers.append(name)
            clusters |= touched
    if clusters:
        count = plural(len(clusters), "cluster")
        yield f"scores of {count} would change: {names_text(scorers)}"
