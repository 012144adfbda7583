"""Verdicts on each Placement before and after a change, and the certain part of the second.

A Placement that the change cannot affect is not simulated again: in a fleet of thousands of
Placements a change of one scorer then costs only the Placements that rank by it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import asks_for_scores, required_scores, resources_read
from gitops_dsf.simulator import Outcome, Verdict, simulate
from gitops_dsf.simulator.certainty import Certainty, certainty
from gitops_dsf.views.preview.nextscores import NextScores, UnknownScores
from gitops_dsf.views.preview.transition import Transition


@dataclass(frozen=True, kw_only=True)
class VerdictPair:
    """One Placement before and after a change."""

    placement: str
    """The Placement as `namespace/name`."""
    before: Verdict | None
    """None if the base does not have the Placement."""
    after: Verdict | None
    """None if the head does not have the Placement."""
    running: frozenset[str] = frozenset()
    """Clusters that the hub has decided on already for a Placement that the base does not have: it
    was applied by others, and is adopted.
    """
    touched: bool = True
    """Whether the change can affect it."""
    unknown: UnknownScores = field(default_factory=dict)
    """Unknown scores with a weight; empty if there are none."""
    certainty: Certainty | None = None
    """The certain part in spite of unknown scores; None if everything is certain."""

    @property
    def is_decided(self) -> bool:
        """Whether the decision after the change is known."""
        return self.certainty is None or self.certainty.decided


def verdict_pairs(transition: Transition) -> Iterator[VerdictPair]:
    """Simulates every Placement of both sides, in order of name."""
    before_by_key = transition.decided_base.verdicts
    after_by_key: dict[str, Placement] = {}
    for (namespace, name), placement_after in transition.head_state.placements.items():
        after_by_key[f"{namespace}/{name}"] = placement_after
    other_surroundings = _has_other_surroundings(transition)
    on_hub = decided(transition.snapshot.decisions)
    for key in sorted({*before_by_key, *after_by_key}):
        before = before_by_key.get(key)
        placement = after_by_key.get(key)
        # Argo CD deletes what the head does not render, and with the Placement goes its decision.
        if placement is None:
            yield VerdictPair(placement=key, before=before, after=None)
        elif (
            before is not None
            and not other_surroundings
            and not _is_touched(placement, transition.scores, before)
        ):
            yield VerdictPair(placement=key, before=before, after=before, touched=False)
        else:
            after = simulate(transition.head_state, key, transition.now)
            pair = _pair(key, before, after, placement, transition.scores)
            running = on_hub.get(key) if before is None else None
            yield pair if running is None else replace(pair, running=running)


def _has_other_surroundings(transition: Transition) -> bool:
    """Whether clusters, sets or bindings differ. Then every Placement is simulated again."""
    before = transition.base_state
    after = transition.head_state
    return (
        before is None
        or before.clusters != after.clusters
        or before.sets != after.sets
        or before.bindings != after.bindings
    )


def _is_touched(placement: Placement, scores: NextScores, before: Verdict) -> bool:
    """Whether the Placement itself changes, or a score that it reads."""
    source = before.source
    if source.spec != placement.spec:
        return True
    # An annotation holds the pace, and OCM obeys the one that disables scheduling.
    if source.metadata.annotations != placement.metadata.annotations:
        return True
    # A CEL expression may read a score that the Placement does not rank by.
    if asks_for_scores(placement) and scores.changed:
        return True
    return any(result.prioritizer.resource in scores.changed for result in before.prioritizers)


def _pair(
    key: str, before: Verdict | None, after: Verdict, placement: Placement, scores: NextScores
) -> VerdictPair:
    certain = None
    if _waits_for_scores(placement, after, scores.unknown):
        # The predicate depends on an unknown score, so it is unknown whether a cluster passes.
        certain = Certainty(certain=frozenset(), possible=frozenset(after.candidates))
    elif after.outcome is Outcome.SCHEDULED:
        certain = certainty(after, scores.unknown)
    unknown: UnknownScores = {} if certain is None else scores.unknown
    return VerdictPair(
        placement=key, before=before, after=after, unknown=unknown, certainty=certain
    )


def _waits_for_scores(placement: Placement, verdict: Verdict, unknown: UnknownScores) -> bool:
    """Whether a predicate reads a score of a candidate that is unknown yet.

    `onMissingScore: Exclude` asks whether the score exists. Another expression may compare values.
    """
    if not asks_for_scores(placement):
        return False
    compares_values = required_scores(placement) is None
    resources = resources_read(placement)
    candidates = frozenset(verdict.candidates)
    for resource in unknown if resources is None else resources:
        for cluster, cell in unknown.get(resource, {}).items():
            if cluster in candidates and (compares_values or not cell.exists):
                return True
    return False
