"""Formats an explanation as text."""

from dsf_wire.text import printable_lines
from gitops_dsf.cli.table import table
from gitops_dsf.journal.record import ClusterReason
from gitops_dsf.simulator import Explanation
from gitops_dsf.wording import plural


def explanation_text(explanation: Explanation | ClusterReason, *, placement: str) -> str:
    """Whether a cluster is selected, why, and what each prioritizer adds to its sum."""
    selected = "selected" if explanation.selected else "not selected"
    dropped = f"dropped by the filter {explanation.filter}: " if explanation.filter else ""
    text = printable_lines(
        (
            f"{placement}, cluster {explanation.cluster}: {selected}",
            f"  {dropped}{explanation.reason}",
        )
    )
    return f"{text}\n{_contributions(explanation)}" if explanation.contributions else text


def _contributions(explanation: Explanation | ClusterReason) -> str:
    rows = [
        [
            part.name,
            "-" if part.score is None else str(part.score),
            f"x {part.weight}",
            str(part.points),
            part.note,
        ]
        for part in explanation.contributions
    ]
    rows.append(["sum", "", "", str(explanation.points), ""])
    return table(["prioritizer", "score", "weight", "points", ""], rows, right={1, 2, 3})


def what_would_flip(explanation: Explanation) -> str:
    """What would have to change for the opposite decision."""
    if explanation.filter is not None:
        return (
            "\n  what would have to change: the cluster, or what the filter asks for; a better score does not"
            " help\n"
        )
    if explanation.margin is None:
        return (
            "\n  what would have to change: no score can flip this decision\n"
            if explanation.rank is not None
            else ""
        )
    points = plural(explanation.margin, "point")
    verb = "lose" if explanation.selected else "gain"
    lines = [
        "",
        (
            f"  what would have to change: it must {verb} {points} against {explanation.rival}"
            f" ({explanation.rival_points})"
        ),
    ]
    if not explanation.flips:
        lines.append("    no score of this Placement has a weight, so none can do that")
    nearest = explanation.nearest
    lines += (f"    {flip}{'  <- the nearest' if flip is nearest else ''}" for flip in explanation.flips)
    return printable_lines(lines)
