"""The sentences of reasons why decisions change, the same in texts and in JSON output."""

from collections.abc import Iterable
from typing import assert_never

from gitops_dsf.hub.points import points_range_text
from gitops_dsf.views.preview.reasons import (
    MAX_CHOICE,
    BoundsDecide,
    ClusterDropped,
    ClusterRanked,
    ClusterUnlisted,
    DecisionReason,
    NotDecided,
    PlacementRemoved,
    PointBounds,
    UnknownDecides,
    UnknownScore,
)
from gitops_dsf.wording import choice_text, names_text


def reason_text(reason: DecisionReason) -> str:
    """The sentence of a reason."""
    clauses = [_cause(reason)]
    if reason.planned:
        clauses.append(f"the reconciler planned to move it to {names_text(reason.planned)}")
    for followed in reason.followed:
        clauses.append(f"{followed.application_set} follows {followed.placement} now")
    return "; ".join(clauses)


def _cause(reason: DecisionReason) -> str:
    match reason.cause:
        case PlacementRemoved():
            return "the Placement is removed"
        case NotDecided(message=message):
            return message
        case ClusterUnlisted(cluster=cluster):
            return f"{cluster} is no longer in clusters/"
        case ClusterDropped() as dropped:
            return f"{dropped.cluster}: dropped by {dropped.filter}: {dropped.reason}"
        case ClusterRanked() as ranked:
            return f"{ranked.cluster}: {ranked.explanation}"
        case BoundsDecide() as known:
            points: list[str] = []
            for bounds in known.bounds:
                points.append(f"{bounds.cluster} {_points(bounds)} points")
            return f"{_causes(known.unknown)}; {', '.join(points)}"
        case UnknownDecides() as unknown:
            return _unknown_decides(unknown)
    assert_never(reason.cause)


def _unknown_decides(reason: UnknownDecides) -> str:
    causes = _causes(reason.unknown) or "scores are not known"
    if reason.stays_by_present:
        return (
            f"{causes}, so any of {reason.possible} clusters may be selected; by the present scores"
            " it would stay"
        )
    choice = choice_text(reason.choice, reason.places, max_names=MAX_CHOICE)
    if not choice or not reason.bounds:
        return f"{causes}, so any of {reason.possible} clusters may be selected"
    return f"{causes}; {choice}: {' and '.join(map(_points, reason.bounds))} points"


def _causes(unknown: Iterable[UnknownScore]) -> str:
    return "; ".join(f"{score.resource}: {score.cause}" for score in unknown)


def _points(bounds: PointBounds) -> str:
    return points_range_text(bounds.sums, bounds.weight)
