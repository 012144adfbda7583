"""The cause of a change of a decision, by the state of the hub just after it. Pure.

It is a judgement, not a measurement: OCM does not say why it decides. Causes that were observed (an
admitted move, a lost cluster, an edit) come before those that are only computed.
"""

from collections.abc import Collection

from gitops_dsf.hub.moves.causes import Cause, MoveCause, by_edit, by_pace, loss_of
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.journal.record import Record, ScoreChange
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.simulator import Outcome, Verdict, explain
from gitops_dsf.simulator.explain import mean_scores
from gitops_dsf.wording import prioritizer_text


def cause_of(
    record: Record,
    *,
    verdict: Verdict,
    by_scores: Verdict,
    after: Collection[str],
    admitted: LedgerMove | None,
    edit: str | None,
) -> MoveCause | None:
    """The cause of a changed decision; None for a Placement's first record, which is not a move.

    `verdict` is that of the simulator with the decision before as the current one, and `by_scores`
    the same by the written weights. `admitted` is the move of the ledger that led to it. `edit` is
    the commit of a change of the Placement just before (empty if the commit is not known), and None
    without one.
    """
    if record.kind == "Start":
        return None
    # The reconciler admitted it and wrote down why, which is known for certain.
    if admitted is not None:
        return admitted.cause or by_pace(admitted.gain or 0.0)
    # A lost cluster leaves whatever its scores are.
    for name in record.left:
        position = verdict.state.positions.get(name)
        lost = loss_of(name, None if position is None else verdict.state.clusters[position])
        if lost is not None:
            return lost
    # Before eligibility: an edit of the Placement is often what made a cluster ineligible.
    if edit is not None:
        return by_edit(edit)
    for name in record.left:
        if verdict.scores is not None and name not in verdict.scores:
            return MoveCause(Cause.INELIGIBLE, f"{name}: {explain(verdict, name).reason}")
    # OCM filled places that were free, and moved nothing.
    wanted = verdict.source.spec.number_of_clusters
    if not record.left and (wanted is None or record.before < wanted):
        return MoveCause(Cause.ELIGIBLE, ", ".join(record.joined))
    # Scores came and went while no reconciler looked.
    if record.kind == "Later":
        return MoveCause(Cause.UNKNOWN)
    # Where the simulator decides otherwise, the scores do not explain what happened.
    if verdict.outcome is not Outcome.SCHEDULED or verdict.chosen != set(after):
        return MoveCause(Cause.UNKNOWN)
    return MoveCause(Cause.SCORE, _by_scores(record, by_scores))


def scores_of_people(record: Record) -> tuple[ScoreChange, ...]:
    """The changed scores, without items of moves, which earlier versions recorded among them."""
    return tuple(
        score for score in record.scores if not score.name.startswith(f"AddOn/{MOVES_SCORE}/")
    )


def largest_change(record: Record) -> ScoreChange | None:
    """The largest change of a score of a cluster that left or joined.

    None if no values before are known.
    """
    moved = {*record.left, *record.joined}
    largest: ScoreChange | None = None
    for score in scores_of_people(record):
        if score.cluster not in moved or score.before is None:
            continue
        if largest is None or _difference(score) > _difference(largest):
            largest = score
    return largest


def _by_scores(record: Record, verdict: Verdict) -> str:
    """The largest change of a score of a cluster that moved.

    If there is none, by how much the new cluster leads.
    """
    change = largest_change(record)
    if change is not None:
        after = "none" if change.after is None else str(change.after)
        return f"{prioritizer_text(change.name)} of {change.cluster} {change.before} -> {after}"
    # No score of these clusters changed, or those before are not known: only the lead can be named.
    means = mean_scores(verdict)
    best = max(record.joined, key=lambda name: means.get(name, 0.0), default=None)
    worst = min(record.left, key=lambda name: means.get(name, 0.0), default=None)
    if best is None or worst is None or not {best, worst} <= means.keys():
        return ""
    return f"{best} leads {worst} by {means[best] - means[worst]:.1f} points"


def _difference(score: ScoreChange) -> int:
    """The change of a score. One that is absent counts as 0, as OCM counts it."""
    return abs((score.after or 0) - (score.before or 0))
