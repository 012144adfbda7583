"""The published scores after a change: unchanged, removed, bounded, or unknown.

A score stays known where the change does not touch how it is made. Where only the publishing of its
raw score changes, the present score bounds the new one (`gitops_dsf.resolve.next_score`). Where a
metric store has the raw score, the agent's functions compute the new one from it. Else only the
scorer's next run shows it, and the bounds are those of everything that it can publish.

Not computed: the results of a changed source or scoring API, and those of a changed query that no
store was asked for.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from msgspec import structs

from gitops_dsf.hub.raw_results import NO_RAW_SCORES, RawScores
from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.scores import PublishedScore, Scores
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.next_score import NextScore, ScorerEdit, published_causes, unbounded
from gitops_dsf.views.preview.scorershift import ScoreEffect, ScorerShift, shift_of

UnknownScores = Mapping[str, Mapping[str, NextScore]]
"""Scores that are not known exactly, by name of the AddOnPlacementScore, then by cluster."""


@dataclass(frozen=True, kw_only=True)
class NextScores:
    """Scores after the change."""

    scores: Scores
    """The middle of its bounds stands in for a bounded score.

    Another unknown score has its present value, if it has one.
    """
    unknown: UnknownScores
    changed: frozenset[str]
    """Names of AddOnPlacementScores with a value that differs or is unknown on any cluster."""

    def is_bounded(self, name: str, clusters: Collection[str] | None = None) -> bool:
        """Whether present scores or raw scores bound all unknown scores of this name.

        `clusters` limits the clusters; None stands for all.
        """
        for cluster, score in self.unknown.get(name, {}).items():
            if not score.bounded and (clusters is None or cluster in clusters):
                return False
        return True


def next_scores(
    base: CheckedFleet | None,
    head: CheckedFleet,
    snapshot: Snapshot,
    *,
    now: datetime,
    raw: RawScores = NO_RAW_SCORES,
) -> NextScores:
    """Computes the scores after a change, from raw scores where `raw` has them.

    Scores that no scorer of the repository publishes do not change. Without a base, every scorer is
    new. A score that has expired at `now` counts as 0, and another map does not renew it.
    """
    base_scorers = {} if base is None else base.scorer_by_resource
    scores: dict[str, Mapping[str, PublishedScore]] = dict(snapshot.scores)
    unknown: dict[str, Mapping[str, NextScore]] = {}
    changed: set[str] = set()
    for resource in sorted({*head.scorer_by_resource, *base_scorers}):
        after = head.scorer_by_resource.get(resource)
        before = base_scorers.get(resource)
        if base is not None and after is not None:
            before = base.predecessor_of(after)
        shift = shift_of(before, after, base, head)
        if shift.keeps_scores:
            continue
        present = snapshot.scores.get(resource, {})
        scores[resource], unknown[resource] = _followed(shift, resource, snapshot, now, raw)
        if unknown[resource] or scores[resource] != present:
            changed.add(resource)
    return NextScores(scores=scores, unknown=unknown, changed=frozenset(changed))


def _followed(
    shift: ScorerShift, resource: str, snapshot: Snapshot, now: datetime, raw: RawScores
) -> tuple[dict[str, PublishedScore], dict[str, NextScore]]:
    """The scores of one name by cluster after a change, and what is not known of them."""
    scores = dict(snapshot.scores.get(resource, {}))
    unknown: dict[str, NextScore] = {}
    for cluster in shift.left:
        # An agent removes the scores of a scorer that its configuration no longer names.
        scores.pop(cluster, None)
    after = shift.after
    if after is None:
        return scores, unknown
    before = shift.before
    edit = None if before is None else ScorerEdit(before, after)
    published = snapshot.scores.get(resource if before is None else before.resource_name)
    # A snapshot has only the scores that a Placement of one of the two revisions ranks by.
    is_unread = published is None and snapshot.skipped > 0
    for cluster in sorted(shift.runs):
        cause = _why_unbounded(shift, cluster, is_unread=is_unread)
        # A new scorer. A score of its name may be there already, such as one of another program.
        if edit is None:
            unknown[cluster] = unbounded(after, cause, exists=cluster in scores)
            continue
        present = (published or {}).get(cluster)
        counted = None if present is None or expired(present.valid_until, now) else present
        follows = _by_raw_scores(edit, shift, counted, raw, resource=resource, cluster=cluster)
        # Raw scores come first: they say exactly what bounds only narrow down.
        if follows is None:
            if cause:
                unknown[cluster] = unbounded(after, cause, exists=cluster in scores)
                continue
            if shift.effect is ScoreEffect.NONE:
                continue
            if counted is None:
                missing = edit.next_missing(present, cluster=cluster)
                if missing is not None:
                    unknown[cluster] = missing
                continue
            follows = edit.next_score(counted, cluster=cluster)
        scores[cluster] = _standing_in(follows, counted)
        if not (follows.exact and follows.exists):
            unknown[cluster] = follows
    return scores, unknown


def _by_raw_scores(
    edit: ScorerEdit,
    shift: ScorerShift,
    present: PublishedScore | None,
    raw: RawScores,
    *,
    resource: str,
    cluster: str,
) -> NextScore | None:
    """The next score by raw scores of a store; None if it has none that are of use."""
    if cluster not in shift.ran or cluster in shift.other_variant:
        return None
    causes = dict.fromkeys((*published_causes(edit.before, edit.after), *shift.causes))
    cause = f"{', '.join(causes)} changed"
    reevaluated = raw.reevaluated.get(resource, {}).get(cluster)
    # The result of the new query in a store does not depend on the present score.
    if reevaluated is not None:
        return edit.next_computed(present, reevaluated.results, cluster=cluster, why=cause)
    exported = raw.exported.get(resource, {}).get(cluster)
    # Another map does not renew a score that is missing or has expired.
    if exported is None or present is None:
        return None
    return edit.next_by_results(present, exported.results, cluster=cluster, why=cause)


def _why_unbounded(shift: ScorerShift, cluster: str, *, is_unread: bool) -> str:
    """The reason why a cluster's present score does not bound the new one; empty if it does."""
    if cluster not in shift.ran:
        return "it has not run there yet"
    if shift.effect is ScoreEffect.UNKNOWN:
        return f"{', '.join(shift.causes)} changed"
    if cluster in shift.other_variant:
        return "source changed"
    if is_unread and shift.effect is ScoreEffect.RANGE:
        return "its present scores were not read"
    return ""


def _standing_in(follows: NextScore, present: PublishedScore | None) -> PublishedScore:
    """A score with the numbers that stand in for it, valid for as long as the present one."""
    # The middle of everything that a scorer can publish says less than what it publishes now.
    if present is not None and not follows.bounded:
        return present
    return structs.replace(
        present or PublishedScore(),
        names=tuple(follows.items),
        values=tuple(interval.middle for interval in follows.items.values()),
    )
