"""The sentences of notes about Placements, which texts and JSON output have alike."""

from typing import assert_never

from gitops_dsf.views.status.joborders import OrderNote, OrderProblem
from gitops_dsf.views.status.placements import (
    NextUnknown,
    NothingDecided,
    PlacementNote,
    TooFewClusters,
)


def placement_note_text(note: PlacementNote) -> str:
    """The reason why a Placement selects too few clusters, or why its next decision is unknown."""
    match note:
        case NextUnknown(cause=cause):
            return f"what OCM would decide is not known: {cause}"
        case NothingDecided(outcome=outcome, reason=""):
            return str(outcome)
        case NothingDecided(outcome=outcome, reason=reason):
            return f"{outcome}: {reason}"
        case TooFewClusters(message=message):
            return message
    assert_never(note)


def order_note_text(note: OrderNote) -> str:
    """The reason why the list of a MultiKueueConfig is not in the order of the scores."""
    match note.problem:
        case OrderProblem.UNREAD:
            return "the MultiKueueConfigs could not be read"
        case OrderProblem.NOT_WRITTEN:
            return "the reconciler has not written it yet"
        case OrderProblem.FOREIGN:
            return "it belongs to another program, so its clusters are not ordered"
        case OrderProblem.FOR_ANOTHER:
            return f"it is ordered by Placement {note.ordered_for or 'of an unknown name'}"
        case OrderProblem.EDITED:
            return "somebody else changed the list, and the reconciler will restore it"
    assert_never(note.problem)
