"""Explanations why a cluster is in a decision or not, for a terminal, and what would change it."""

from collections.abc import Sequence
from datetime import datetime

from dsf_wire.text import printable_lines
from gitops_dsf.hub.points import mean_weight, points_needed, points_of, points_text
from gitops_dsf.hub.score_failures import failures_text
from gitops_dsf.hub.times import age_text
from gitops_dsf.journal.record import ClusterReason
from gitops_dsf.show.tables import table
from gitops_dsf.simulator import Explanation
from gitops_dsf.views.scorefailures import ClusterFailure, groups_by_score
from gitops_dsf.wording import plural


def explanation_text(explanation: Explanation | ClusterReason, *, placement: str) -> str:
    """Formats whether a cluster is selected, why, and what each prioritizer adds to its points."""
    if explanation.selected:
        lines = [f"{placement}, cluster {explanation.cluster}: selected"]
    else:
        lines = [f"{placement}, cluster {explanation.cluster}: not selected"]
    if explanation.filter:
        lines.append(f"  dropped by the filter {explanation.filter}: {explanation.reason}")
    else:
        lines.append(f"  {explanation.reason}")
    text = printable_lines(lines)
    if explanation.contributions:
        text += f"\n{_contributions(explanation)}"
    return text


def what_would_flip(explanation: Explanation) -> str:
    """Formats the changes that would flip a decision; empty if its ranking is not known."""
    change, *flips = flip_lines(explanation) or ("",)
    if not change:
        return ""
    return printable_lines(
        ("", f"  what would have to change: {change}", *(f"    {flip}" for flip in flips))
    )


def flip_lines(explanation: Explanation) -> list[str]:
    """The scores that would have to change, and by how much; empty if its ranking is unknown."""
    # Filters come before scores: people would otherwise look for a score that helps.
    if explanation.filter is not None:
        return [
            "the cluster, or what the filter asks for; a better score does not help",
        ]
    if explanation.margin is None and explanation.rank is None:
        return []
    # For example where all eligible clusters are selected: there is none to change places with.
    if explanation.margin is None:
        return ["no score can flip this decision"]
    weight = mean_weight(explanation.contributions)
    needed = plural(points_text(points_needed(explanation.margin, weight)), "point")
    rival = _rival(explanation, weight)
    lines = [f"it must {'lose' if explanation.selected else 'gain'} {needed} against {rival}"]
    if not explanation.flips:
        lines.append("no score of this Placement has a weight, so none can do that")
    nearest = explanation.nearest
    for flip in explanation.flips:
        # The first one may need a value that its scorer never publishes.
        if flip is nearest:
            lines.append(f"{flip}  <- the nearest")
        else:
            lines.append(str(flip))
    return lines


def failures_of_cluster(failures: Sequence[ClusterFailure], *, now: datetime) -> str:
    """Formats why scores of one cluster are not updated; empty if no agent says so.

    A score that stopped still counts until its validUntil, so its line stands beside a value.
    """
    if not failures:
        return ""
    lines = ["", "  scores that are not updated:"]
    for failure in failures:
        age = ""
        if failure.since is not None:
            age = f" for {age_text((now - datetime.fromisoformat(failure.since)).total_seconds())}"
        lines.append(f"    {failure.score}: {failure.reason}{age}: {failure.message}")
    return printable_lines(lines)


def failures_by_reason(failures: Sequence[ClusterFailure]) -> str:
    """Formats why scores are not updated, one line for each score; empty if no agent says so."""
    if not failures:
        return ""
    lines = ["", "scores that are not updated:"]
    for score, groups in groups_by_score(failures).items():
        lines.append(f"  {score}: {failures_text(groups)}")
    return printable_lines(lines)


def _rival(explanation: Explanation, weight: int) -> str:
    """The cluster that it would change places with, and its points."""
    points = points_text(points_of(explanation.rival_points or 0, weight))
    return f"{explanation.rival} ({points})"


def _contributions(explanation: Explanation | ClusterReason) -> str:
    """A table of the prioritizers, with their sum."""
    weight = mean_weight(explanation.contributions)
    rows = []
    for part in explanation.contributions:
        # No entry and a score of 0 both add nothing, but only one of them was measured.
        score = "-" if part.score is None else str(part.score)
        points = points_text(points_of(part.points, weight))
        rows.append([part.name, score, f"x {part.weight}", points, part.note])
    # Points of the parts are rounded, so the total is computed from the exact sum.
    total = points_text(points_of(explanation.points or 0, weight))
    rows.append(["total", "", "", total, ""])
    return table(["prioritizer", "score", "weight", "points", ""], rows, right={1, 2, 3})
