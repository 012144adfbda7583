"""The published scores after a change: as they are now, removed, or unknown.

A score stays known where the change does not touch how it is made. Where it does, no value is
guessed: an `UnknownScore` says between which bounds the new score will be, and why it is not known.

Not computed: what a changed query, source or scoring API would return. Only the scorer itself can
tell that, after its first run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub.scores import PublishedScore, Scores
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.views.preview.scorershift import ScoreEffect, ScorerShift, shift_of


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownScore:
    """A score that is not known before the changed scorer has run."""

    low: int
    """The lowest value that OCM can count. It includes 0, because the score may be missing."""
    high: int
    why: str
    exists: bool
    """Whether the AddOnPlacementScore exists already. Its present value then stands in the scores.
    """


UnknownScores = Mapping[str, Mapping[str, UnknownScore]]
"""By name of the AddOnPlacementScore, then by cluster."""


@dataclass(frozen=True, kw_only=True)
class NextScores:
    """Scores after the change. An unknown score has its present value, if it has one."""

    scores: Scores
    unknown: UnknownScores
    changed: frozenset[str]
    """Names of AddOnPlacementScores with a value that differs or is unknown on any cluster."""


def next_scores(base: CheckedFleet | None, head: CheckedFleet, snapshot: Snapshot) -> NextScores:
    """Computes the scores after a change.

    Scores that no scorer of the repository publishes do not change. Without a base, every scorer is
    new.
    """
    base_scorers = {} if base is None else base.scorer_by_resource
    scores: dict[str, Mapping[str, PublishedScore]] = dict(snapshot.scores)
    unknown: dict[str, Mapping[str, UnknownScore]] = {}
    changed: set[str] = set()
    for resource in sorted({*head.scorer_by_resource, *base_scorers}):
        before = base_scorers.get(resource)
        after = head.scorer_by_resource.get(resource)
        shift = shift_of(before, after, base, head)
        if shift.keeps_scores:
            continue
        present = snapshot.scores.get(resource, {})
        kept = dict(present)
        for cluster in shift.left:
            # An agent removes the scores of a scorer that its configuration no longer names.
            kept.pop(cluster, None)
        scores[resource] = kept
        unknown[resource] = _unknown_scores(shift, present)
        if unknown[resource] or kept != present:
            changed.add(resource)
    return NextScores(scores=scores, unknown=unknown, changed=frozenset(changed))


def _unknown_scores(
    shift: ScorerShift, present: Mapping[str, PublishedScore]
) -> dict[str, UnknownScore]:
    """The clusters where a scorer will publish a score that is not known yet, sorted."""
    unknown = {}
    for cluster in sorted(shift.runs):
        why = _why_unknown(shift, cluster, has_score=cluster in present)
        if why:
            unknown[cluster] = _bounded(shift.after, why, exists=cluster in present)
    return unknown


def _why_unknown(shift: ScorerShift, cluster: str, *, has_score: bool) -> str:
    """Why the new score of a cluster is unknown; empty if it stays as it is."""
    if cluster not in shift.ran:
        return "it has not run on this cluster yet"
    if shift.effect is ScoreEffect.UNKNOWN:
        return f"{', '.join(shift.causes)} changed"
    if cluster in shift.other_variant:
        return "source changed"
    # Another range maps a raw score that exists. It gives no score to a cluster that has none.
    if shift.effect is ScoreEffect.RANGE and has_score:
        return "scoreRange changed and the raw score is not known"
    return ""


def _bounded(scorer: EffectiveScorer | None, why: str, *, exists: bool) -> UnknownScore:
    """The unknown score of a scorer, within what its scoreRange can publish."""
    score_range = None if scorer is None else scorer.spec.score_range
    if scorer is None or score_range is None:
        return UnknownScore(low=SCORE_MIN, high=SCORE_MAX, why=why, exists=exists)
    # An agent publishes defaultScore as it is: scoreRange does not map it.
    possible_ends = (
        0,
        scorer.spec.default_score or 0,
        score_range.output_min,
        score_range.output_max,
    )
    return UnknownScore(low=min(possible_ends), high=max(possible_ends), why=why, exists=exists)
